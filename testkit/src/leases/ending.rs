//! Cases of how a lease ends: by its time, or given back.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use windlass_ports::LeaseErrorKind;

use super::checks::{Elapsed, Two, done, held_by, is_free, is_held, refused, take};
use super::{Checked, LeasesFixture};
use crate::store::{ensure, run};

/// A lease that is not renewed is over when its time is, and not before; then another may have it.
pub fn a_lease_ends_when_its_time_is_over(at: &dyn LeasesFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let ttl_ms = two.short();
        let mut elapsed = Elapsed::begin();
        let lease = take(&*two.one, "n", "ours", ttl_ms).await?;
        elapsed.pass(at, ttl_ms * 3 / 4).await;
        let taken = two.other.acquire("n", "theirs", ttl_ms).await;
        if elapsed.at_most() < ttl_ms {
            let what = "another taking a lease before its time is over";
            held_by(taken, &lease, what)?;
        }
        two.end(at, ttl_ms).await;
        is_free(&two, "n", "since its time is over").await?;
        let theirs = take(&*two.other, "n", "theirs", two.long()).await?;
        ensure!(
            theirs.epoch > lease.epoch,
            "the lease after one that ended has the epoch {} after {}",
            theirs.epoch,
            lease.epoch
        );
        is_held(&two, &theirs, "after another's lease ended").await?;
        Ok(())
    })
}

/// A lease that is given back is free at once, and is not renewed.
pub fn a_released_lease_is_free_at_once(at: &dyn LeasesFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        for renewed in [false, true] {
            let lease = take(&*two.one, "n", "ours", two.long()).await?;
            if renewed {
                done(two.one.renew(&lease).await, "renewing")?;
            }
            // Any object takes it back.
            done(two.other.release(&lease).await, "releasing")?;
            is_free(&two, "n", "since it was released").await?;
            let again = two.one.renew(&lease).await;
            let what = "renewing a lease that was released";
            refused(again, &LeaseErrorKind::Lost, what)?;
            is_free(&two, "n", "since it was released").await?;
            let theirs = take(&*two.other, "n", "theirs", two.long()).await?;
            done(two.other.release(&theirs).await, "releasing")?;
        }
        Ok(())
    })
}

/// Giving back a lease that is over changes nothing: not what another has since, nor what the same
/// holder has.
pub fn releasing_a_stale_lease_changes_nothing(at: &dyn LeasesFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let first = take(&*two.one, "n", "ours", two.long()).await?;
        done(two.one.release(&first).await, "releasing")?;
        done(two.one.release(&first).await, "releasing once more")?;
        let second = take(&*two.other, "n", "theirs", two.long()).await?;
        for leases in [&two.one, &two.other] {
            done(leases.release(&first).await, "releasing a stale lease")?;
            is_held(&two, &second, "after a stale lease was released").await?;
        }
        done(two.other.renew(&second).await, "renewing beside a stale one")?;
        done(two.other.release(&second).await, "releasing")?;
        let third = take(&*two.one, "n", "ours", two.long()).await?;
        for stale in [&first, &second] {
            done(two.one.release(stale).await, "releasing a stale lease")?;
            is_held(&two, &third, "after a stale lease was released").await?;
        }
        done(two.one.renew(&third).await, "renewing beside stale ones")
    })
}
