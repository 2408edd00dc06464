//! Cases of taking a lease: one has it, and its epoch is larger than all before.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use tokio::task::JoinSet;
use windlass_core::Epoch;
use windlass_ports::LeaseErrorKind;

use super::checks::{Two, done, held_by, is_free, is_held, refused, take};
use super::{Checked, LeasesFixture, Violation};
use crate::store::{ensure, run, run_in_parallel};

/// While one holds a name, nobody else takes it, through whichever object; all are told who holds it,
/// and for how long.
pub fn a_lease_is_held_by_one(at: &dyn LeasesFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        is_free(&two, "n", "before anybody took it").await?;
        let ttl_ms = two.long();
        let lease = take(&*two.one, "n", "ours", ttl_ms).await?;
        let holding = is_held(&two, &lease, "once it was taken").await?;
        ensure!(
            holding.remaining_ms > 0,
            "a lease that was just taken for {ttl_ms} ms has nothing left"
        );
        for (leases, who) in [(&two.one, "theirs"), (&two.other, "theirs"), (&two.other, "our")] {
            let taken = leases.acquire("n", who, ttl_ms).await;
            held_by(taken, &lease, &format!("{who:?} taking \"n\""))?;
        }
        is_held(&two, &lease, "after others were refused").await?;
        done(two.one.renew(&lease).await, "renewing what is held")?;
        Ok(())
    })
}

/// Of many who take a free name at the same time, one gets it, and the others are told who.
pub fn of_many_at_once_one_holds_it(at: &dyn LeasesFixture) -> Checked {
    run_in_parallel(async {
        let two = Two::open(at).await?;
        let ttl_ms = two.long();
        let mut latest = Epoch(0);
        for round in 0..8 {
            let mut racers = JoinSet::new();
            for racer in 0..8 {
                let leases = if racer % 2 == 0 { &two.one } else { &two.other };
                let leases = leases.clone();
                racers.spawn(async move {
                    let holder = format!("racer {racer}");
                    leases.acquire("n", &holder, ttl_ms).await
                });
            }
            let (mut won, mut refusals) = (Vec::new(), Vec::new());
            while let Some(ended) = racers.join_next().await {
                let died = |error| Violation::new(format!("a racer died: {error}"));
                match ended.map_err(died)? {
                    Ok(lease) => won.push(lease),
                    Err(error) => refusals.push(error),
                }
            }
            let [lease] = won.as_slice() else {
                let all = won.len();
                return Err(Violation::new(format!(
                    "in round {round}, {all} of 8 who took a name at once got it"
                )));
            };
            for refusal in refusals {
                held_by(Err(refusal), lease, "taking what another won")?;
            }
            ensure!(
                lease.epoch > latest,
                "in round {round}, the epoch {} is not larger than {latest}",
                lease.epoch
            );
            latest = lease.epoch;
            done(two.one.release(lease).await, "releasing")?;
        }
        Ok(())
    })
}

/// Names that are easily mixed up, or hard to spell.
const NAMES: [&str; 14] =
    ["n", "N", "n ", " n", "n.n", "n/n", "n*", "n>", "%", "_", "'\"\\", "ä", "a\u{308}", "漢🦀"];

/// Each name has a holder of its own.
pub fn names_are_apart(at: &dyn LeasesFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let mut leases = Vec::new();
        for (number, name) in NAMES.into_iter().enumerate() {
            is_free(&two, name, "while others are held").await?;
            let holder = format!("{name} {number}");
            leases.push(take(&*two.one, name, &holder, two.long()).await?);
        }
        for lease in &leases {
            is_held(&two, lease, "beside others").await?;
        }
        for lease in leases {
            done(two.other.release(&lease).await, "releasing")?;
            is_free(&two, &lease.name, "once it was released").await?;
        }
        Ok(())
    })
}

/// Who holds a name may take it again: with a larger epoch, for a time from now on; and what it had
/// before is over.
pub fn the_same_holder_takes_it_anew(at: &dyn LeasesFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let before = take(&*two.one, "n", "ours", two.short()).await?;
        let lease = take(&*two.other, "n", "ours", two.long()).await?;
        ensure!(
            lease.epoch > before.epoch,
            "taken anew, a name has the epoch {} after {}",
            lease.epoch,
            before.epoch
        );
        let holding = is_held(&two, &lease, "once it was taken anew").await?;
        ensure!(
            holding.remaining_ms > two.short() + two.declared.slack_ms,
            "taken anew for {} ms, a name is held as {holding:?}",
            two.long()
        );
        let renewed = two.one.renew(&before).await;
        let what = "renewing what the same holder took anew";
        refused(renewed, &LeaseErrorKind::Lost, what)?;
        done(two.one.release(&before).await, "releasing what is over")?;
        is_held(&two, &lease, "after the lease before was released").await?;
        done(two.one.renew(&lease).await, "renewing what was taken anew")
    })
}

/// Each lease of a name has a larger epoch than all before it: of whichever holder, through whichever
/// object, after a release, after an end, and when all objects were opened again.
pub fn epochs_of_leases_grow(at: &dyn LeasesFixture) -> Checked {
    run(async {
        let mut latest = Epoch(0);
        for opening in 0..3 {
            let two = Two::open(at).await?;
            for (object, holder) in [(0, "a"), (1, "b"), (0, "b"), (1, "a")] {
                let leases = if object == 0 { &two.one } else { &two.other };
                let lease = take(&**leases, "n", holder, two.short()).await?;
                ensure!(
                    lease.epoch > latest,
                    "the epoch {} of a lease in opening {opening} is not larger than {latest} \
                     before it",
                    lease.epoch
                );
                latest = lease.epoch;
                // Every other one is given back, and the rest end.
                if object == 0 {
                    done(leases.release(&lease).await, "releasing")?;
                } else {
                    two.end(at, lease.ttl_ms).await;
                }
            }
        }
        Ok(())
    })
}

/// A time, a name or a holder that is not taken is invalid, and changes nothing; the longest and the
/// shortest are taken.
pub fn what_is_out_of_range_is_invalid(at: &dyn LeasesFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let (least, most) = (two.declared.min_ttl_ms, two.declared.max_ttl_ms);
        let longest = "x".repeat(two.declared.name_bytes);
        let too_long = format!("{longest}x");
        let invalid = &LeaseErrorKind::Invalid;
        for ttl_ms in [0, least - 1, most.saturating_add(1), u64::MAX] {
            if (least..=most).contains(&ttl_ms) {
                continue;
            }
            let taken = two.one.acquire("n", "ours", ttl_ms).await;
            refused(taken, invalid, &format!("a lease of {ttl_ms} ms"))?;
        }
        for (name, holder) in [("", "ours"), ("n", ""), (&too_long, "ours"), ("n", &too_long)] {
            let taken = two.one.acquire(name, holder, most).await;
            let what = format!("a name of {} bytes for a holder of {}", name.len(), holder.len());
            refused(taken, invalid, &what)?;
        }
        is_free(&two, "n", "after what is invalid").await?;
        let lease = take(&*two.one, &longest, &longest, most).await?;
        is_held(&two, &lease, "with the longest name").await?;
        take(&*two.one, "n", "ours", least).await?;
        Ok(())
    })
}
