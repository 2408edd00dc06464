//! The leases: one map behind one lock, and the clock that it is handed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{Epoch, Timestamp};
use windlass_ports::sync::{Mutex, MutexGuard};
use windlass_ports::{
    Clock, Lease, LeaseCapabilities, LeaseError, LeaseErrorKind, LeaseStatus, Leases,
};

const LEAST_MS: u64 = 1;
const MOST_MS: u64 = 24 * 60 * 60 * 1000;
const NAME_BYTES: usize = 256;
/// The most names that are held at the same time.
const MOST_HELD: usize = 65_536;

/// Leases in memory, by a clock. Clones grant the same leases, as nodes of one process do.
///
/// They go with the last clone. A lease that is over is gone: renewing it is `Lost`.
#[derive(Clone)]
pub struct MemoryLeases {
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<LeaseTable>>,
}

#[derive(Default)]
struct LeaseTable {
    /// The epoch that was granted last, of whatever name.
    epoch: u64,
    held: BTreeMap<String, HeldLease>,
}

struct HeldLease {
    holder: String,
    epoch: Epoch,
    until: Timestamp,
}

impl MemoryLeases {
    /// Leases that live by this clock, of which none is held.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Arc::default() }
    }

    /// Returns the state, without an expired lease of this name, and the time.
    ///
    /// No panic can leave the state half changed, so a poisoned lock is as good as any.
    fn at(&self, name: &str) -> (MutexGuard<'_, LeaseTable>, Timestamp) {
        let mut state = self.state.lock();
        let now = self.clock.now();
        let over = |held: &HeldLease| held.until <= now;
        if state.held.get(name).is_some_and(over) {
            state.held.remove(name);
        }
        (state, now)
    }
}

impl HeldLease {
    fn to_status(&self, now: Timestamp) -> LeaseStatus {
        LeaseStatus {
            holder: self.holder.clone(),
            epoch: self.epoch,
            remaining_ms: self.until.since_ms(now),
        }
    }
}

#[async_trait]
impl Leases for MemoryLeases {
    fn capabilities(&self) -> LeaseCapabilities {
        LeaseCapabilities {
            min_ttl_ms: LEAST_MS,
            max_ttl_ms: MOST_MS,
            name_bytes: NAME_BYTES,
            slack_ms: 0,
        }
    }

    async fn acquire(&self, name: &str, holder: &str, ttl_ms: u64) -> Result<Lease, LeaseError> {
        admit(name, holder, ttl_ms)?;
        let (mut state, now) = self.at(name);
        let others = state.held.get(name).filter(|held| held.holder != holder);
        if let Some(held) = others {
            let holding = held.to_status(now);
            let context =
                format!("{holder} cannot have the lease {name:?}: it is held by {holding}");
            return Err(LeaseError::new(LeaseErrorKind::Held(holding), context));
        }
        if state.held.len() >= MOST_HELD {
            state.held.retain(|_, held| held.until > now);
        }
        if state.held.len() >= MOST_HELD && !state.held.contains_key(name) {
            let context = format!(
                "{holder} cannot have the lease {name:?}: {MOST_HELD} are held in this process; \
                 release some, or wait until they end"
            );
            return Err(LeaseError::new(LeaseErrorKind::Unavailable, context));
        }
        state.epoch = state.epoch.saturating_add(1);
        let epoch = Epoch(state.epoch);
        let held = HeldLease { holder: holder.to_owned(), epoch, until: now.plus_ms(ttl_ms) };
        state.held.insert(name.to_owned(), held);
        Ok(Lease { name: name.to_owned(), holder: holder.to_owned(), epoch, ttl_ms })
    }

    async fn renew(&self, lease: &Lease) -> Result<(), LeaseError> {
        let (mut state, now) = self.at(&lease.name);
        let held = state.held.get_mut(&lease.name);
        let Some(held) = held.filter(|held| held.epoch == lease.epoch) else {
            let context = format!(
                "the lease {:?} of {} with epoch {} is over: stop what it allowed, and take it anew",
                lease.name, lease.holder, lease.epoch
            );
            return Err(LeaseError::new(LeaseErrorKind::Lost, context));
        };
        held.until = now.plus_ms(lease.ttl_ms);
        Ok(())
    }

    async fn release(&self, lease: &Lease) -> Result<(), LeaseError> {
        let (mut state, _) = self.at(&lease.name);
        let held = state.held.get(&lease.name);
        if held.is_some_and(|held| held.epoch == lease.epoch) {
            state.held.remove(&lease.name);
        }
        Ok(())
    }

    async fn holder(&self, name: &str) -> Result<Option<LeaseStatus>, LeaseError> {
        let (state, now) = self.at(name);
        Ok(state.held.get(name).map(|held| held.to_status(now)))
    }
}

/// Holds what is asked for to what may be.
fn admit(name: &str, holder: &str, ttl_ms: u64) -> Result<(), LeaseError> {
    let invalid = |what: String| Err(LeaseError::new(LeaseErrorKind::Invalid, what));
    if !(LEAST_MS..=MOST_MS).contains(&ttl_ms) {
        return invalid(format!(
            "a lease of {ttl_ms} ms: one lasts for {LEAST_MS} to {MOST_MS} ms"
        ));
    }
    for (what, text) in [("name", name), ("holder", holder)] {
        if !(1..=NAME_BYTES).contains(&text.len()) || text.chars().any(char::is_control) {
            return invalid(format!(
                "the {what} {text:?} of a lease: it has 1 to {NAME_BYTES} bytes and no control \
                 characters"
            ));
        }
    }
    Ok(())
}

impl fmt::Debug for MemoryLeases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        f.debug_struct("MemoryLeases").field("held", &state.held.len()).finish_non_exhaustive()
    }
}
