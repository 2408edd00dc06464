//! What the cases share: how an answer is held to what it must be, and how much time has passed.

use std::sync::Arc;
use std::time::Instant;

use windlass_ports::{Lease, LeaseCapabilities, LeaseError, LeaseErrorKind, LeaseStatus, Leases};

use super::{Checked, LeasesFixture, Violation};
use crate::store::ensure;

/// The longest time that these cases take a lease for, in milliseconds: longer than any case runs.
const LONG_MS: u64 = 600_000;
/// The shortest, where a store takes one that is shorter still.
const SHORT_MS: u64 = 500;

/// Two independent objects at one place.
pub(super) struct Two {
    pub(super) one: Arc<dyn Leases>,
    pub(super) other: Arc<dyn Leases>,
    pub(super) declared: LeaseCapabilities,
}

impl Two {
    pub(super) async fn open(at: &dyn LeasesFixture) -> Result<Self, Violation> {
        let (one, other) = (at.open().await, at.open().await);
        let declared = one.capabilities();
        let LeaseCapabilities { min_ttl_ms: least_ms, max_ttl_ms: most_ms, name_bytes, slack_ms } =
            declared;
        ensure!(
            other.capabilities() == declared,
            "two objects at one place declare {declared:?} and {:?}",
            other.capabilities()
        );
        ensure!(
            least_ms > 0 && least_ms <= 10_000 && most_ms >= 30_000 && slack_ms <= 10_000,
            "a node needs leases of 10 to 30 seconds that end within 10 more: {declared:?}"
        );
        ensure!(
            name_bytes >= 64,
            "a name may have {name_bytes} bytes, and that of a session has up to 64"
        );
        Ok(Self { one, other, declared })
    }

    /// A time that does not end within a case, in milliseconds.
    pub(super) fn long(&self) -> u64 {
        self.declared.max_ttl_ms.min(LONG_MS)
    }

    /// A time whose end a case waits for, in milliseconds.
    pub(super) fn short(&self) -> u64 {
        self.declared.min_ttl_ms.max(SHORT_MS)
    }

    /// Lets a lease of so many milliseconds end.
    pub(super) async fn end(&self, at: &dyn LeasesFixture, ttl_ms: u64) {
        at.pass(ttl_ms + self.declared.slack_ms + 1).await;
    }
}

/// How much of the time of the leases' clock has passed since it was made.
pub(super) struct Elapsed {
    begun: Instant,
    passed: u64,
}

impl Elapsed {
    pub(super) fn begin() -> Self {
        Self { begun: Instant::now(), passed: 0 }
    }

    /// Lets time pass.
    pub(super) async fn pass(&mut self, at: &dyn LeasesFixture, ms: u64) {
        at.pass(ms).await;
        self.passed += ms;
    }

    /// Milliseconds at most, rounded up.
    pub(super) fn at_most(&self) -> u64 {
        let real = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.passed.max(real.saturating_add(1))
    }
}

/// Takes a lease, which must be granted.
pub(super) async fn take(
    leases: &dyn Leases,
    name: &str,
    holder: &str,
    ttl_ms: u64,
) -> Result<Lease, Violation> {
    let what = format!("{holder:?} taking {name:?} for {ttl_ms} ms");
    let lease = done(leases.acquire(name, holder, ttl_ms).await, &what)?;
    ensure!(
        lease.name == name && lease.holder == holder && lease.ttl_ms == ttl_ms,
        "{what} was granted {lease:?}"
    );
    Ok(lease)
}

/// Takes the value of what must succeed.
pub(super) fn done<T>(result: Result<T, LeaseError>, what: &str) -> Result<T, Violation> {
    result.map_err(|error| Violation::new(format!("{what} failed with {:?}: {error}", error.kind)))
}

/// Holds a refusal to saying that another holds the name, and who.
pub(super) fn held_by(result: Result<Lease, LeaseError>, by: &Lease, what: &str) -> Checked {
    let Err(error) = result else {
        return Err(Violation::new(format!("{what} succeeded while {:?} holds it", by.holder)));
    };
    let LeaseErrorKind::Held(holding) = &error.kind else {
        return Err(Violation::new(format!(
            "{what} must be refused as Held and was as {:?}: {error}",
            error.kind
        )));
    };
    ensure!(
        holding.holder == by.holder && holding.epoch == by.epoch && !error.context.is_empty(),
        "{what} is refused since {holding:?} holds it, and {by:?} does"
    );
    Ok(())
}

/// Holds a refusal to its kind.
pub(super) fn refused<T>(
    result: Result<T, LeaseError>,
    kind: &LeaseErrorKind,
    what: &str,
) -> Checked {
    let Err(error) = result else {
        let words = format!("{what} succeeded and must be refused as {kind:?}");
        return Err(Violation::new(words));
    };
    ensure!(
        error.kind == *kind && !error.context.is_empty(),
        "{what} must be refused as {kind:?} with words, and was as {:?}: {error}",
        error.kind
    );
    Ok(())
}

/// Holds both objects to telling who holds a name.
pub(super) async fn is_held(
    two: &Two,
    lease: &Lease,
    when: &str,
) -> Result<LeaseStatus, Violation> {
    let mut told = None;
    for leases in [&two.one, &two.other] {
        let holding = done(leases.holder(&lease.name).await, "asking who holds")?;
        let Some(holding) = holding else {
            return Err(Violation::new(format!("nobody holds {lease:?} {when}")));
        };
        ensure!(
            holding.holder == lease.holder && holding.epoch == lease.epoch,
            "{holding:?} is told of {lease:?} {when}"
        );
        ensure!(
            holding.remaining_ms <= lease.ttl_ms + two.declared.slack_ms,
            "{holding:?} is told of {lease:?} {when}: that is longer than it can last"
        );
        told = Some(holding);
    }
    told.ok_or_else(|| Violation::new("nobody was asked"))
}

/// Holds both objects to telling that nobody holds a name.
pub(super) async fn is_free(two: &Two, name: &str, when: &str) -> Checked {
    for leases in [&two.one, &two.other] {
        let holding = done(leases.holder(name).await, "asking who holds")?;
        ensure!(holding.is_none(), "{holding:?} is told of {name:?}, which is free {when}");
    }
    Ok(())
}
