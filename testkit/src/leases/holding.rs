//! Cases of renewing.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use windlass_ports::LeaseErrorKind;

use super::checks::{Elapsed, Two, done, held_by, is_free, is_held, refused, take};
use super::{Checked, LeasesFixture};
use crate::store::{ensure, run};

/// A lease that is renewed lasts for its time from then on, with the same epoch: beyond the end that it
/// had, and not for longer than its time.
pub fn renewing_keeps_a_lease(at: &dyn LeasesFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let (ttl_ms, slack_ms) = (two.short(), two.declared.slack_ms);
        let mut elapsed = Elapsed::begin();
        let lease = take(&*two.one, "n", "ours", ttl_ms).await?;
        // Each renewal is in time only as far as the machine is.
        for round in 1..=4 {
            elapsed.pass(at, ttl_ms * 2 / 3).await;
            let since = Elapsed::begin();
            let renewed = two.one.renew(&lease).await;
            if elapsed.at_most() >= ttl_ms {
                return ended(renewed);
            }
            done(renewed, &format!("renewing in time, for the {round}. time,"))?;
            let holding = done(two.other.holder("n").await, "asking who holds")?;
            let left = ttl_ms.saturating_sub(since.at_most());
            if left > 0 {
                ensure!(
                    holding.as_ref().is_some_and(|holding| {
                        holding.epoch == lease.epoch
                            && holding.holder == lease.holder
                            && (left..=ttl_ms + slack_ms).contains(&holding.remaining_ms)
                    }),
                    "renewed for {ttl_ms} ms, {lease:?} is told as {holding:?}"
                );
                let taken = two.other.acquire("n", "theirs", ttl_ms).await;
                if since.at_most() < ttl_ms {
                    held_by(taken, &lease, "taking what was renewed")?;
                }
            }
            elapsed = since;
        }
        two.end(at, ttl_ms).await;
        is_free(&two, "n", "since the time from its renewal is over").await
    })
}

/// What a renewal that came too late, on a machine that stood still, may answer.
fn ended(renewed: Result<(), windlass_ports::LeaseError>) -> Checked {
    match renewed {
        Ok(()) => Ok(()),
        late => refused(late, &LeaseErrorKind::Lost, "renewing too late"),
    }
}

/// A lease whose time is over, and that nobody else has had since, is renewed or lost, and which of
/// both is true.
pub fn a_lease_that_is_over_is_renewed_or_lost(at: &dyn LeasesFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let ttl_ms = two.short();
        let lease = take(&*two.one, "n", "ours", ttl_ms).await?;
        two.end(at, ttl_ms).await;
        is_free(&two, "n", "since its time is over").await?;
        let since = Elapsed::begin();
        match two.one.renew(&lease).await {
            Ok(()) => {
                let taken = two.other.acquire("n", "theirs", two.long()).await;
                if since.at_most() < ttl_ms {
                    held_by(taken, &lease, "taking what was renewed after its end")?;
                }
                Ok(())
            }
            lost => {
                refused(lost, &LeaseErrorKind::Lost, "renewing what is over")?;
                is_free(&two, "n", "since it was lost").await?;
                let theirs = take(&*two.other, "n", "theirs", two.long()).await?;
                is_held(&two, &theirs, "after another's lease was lost").await?;
                Ok(())
            }
        }
    })
}

/// A lease whose time is over is lost once another has had it: while it has it, when it gave it back,
/// and when that ended too.
pub fn renewing_after_another_had_it_is_lost(at: &dyn LeasesFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let lost = &LeaseErrorKind::Lost;
        for ends in [false, true] {
            let lease = take(&*two.one, "n", "ours", two.short()).await?;
            two.end(at, lease.ttl_ms).await;
            let ttl_ms = if ends { two.short() } else { two.long() };
            let theirs = take(&*two.other, "n", "theirs", ttl_ms).await?;
            let what = "renewing what another has";
            refused(two.one.renew(&lease).await, lost, what)?;
            if ends {
                two.end(at, ttl_ms).await;
            } else {
                is_held(&two, &theirs, "after a stale lease was refused").await?;
                done(two.other.release(&theirs).await, "releasing")?;
            }
            let what = "renewing what another has had";
            refused(two.one.renew(&lease).await, lost, what)?;
            is_free(&two, "n", "after a stale lease was refused").await?;
        }
        Ok(())
    })
}
