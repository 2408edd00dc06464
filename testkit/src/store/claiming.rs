//! Cases of claiming: the latest claim writes, and no other.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use windlass_core::{Epoch, Seq};
use windlass_ports::{Fencing, SessionFilter, StoreErrorKind};

use super::StoreFixture;
use super::facts::numbered_facts;
use super::violation::{Checked, Violation, done, ensure, refused, run};
use super::writer::{Writer, session};

/// A claim of a new session stands at position 0 and shows nowhere before its first append.
pub fn a_claim_alone_creates_nothing(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let id = session("s")?;
        let claimed = done(store.claim(&id).await, "claiming a new session")?;
        ensure!(
            claimed.last == Seq::ZERO && claimed.repaired.is_none(),
            "a new session's claim must stand at 0 with nothing repaired: {claimed:?}"
        );
        let sessions =
            done(store.sessions(SessionFilter::ALL_TENANTS, None, 10).await, "listing sessions")?;
        ensure!(sessions.is_empty(), "a session that was only claimed is listed");
        let read = store.read(&id, Seq::ZERO, 1).await;
        refused(read, &StoreErrorKind::Unknown, "reading a session that was only claimed")?;
        let verified = store.verify(&id).await;
        let what = "verifying a session that was only claimed";
        refused(verified, &StoreErrorKind::Unknown, what)?;

        let facts = numbered_facts(&id, Seq::ZERO, 1);
        let appended = store.append(&id, claimed.epoch, Seq::ZERO, &facts).await;
        done(appended, "the first append")?;
        let sessions =
            done(store.sessions(SessionFilter::ALL_TENANTS, None, 10).await, "listing sessions")?;
        ensure!(sessions.len() == 1, "after its first append a session is not listed");
        Ok(())
    })
}

/// A claim tells where the log ends, also while an earlier claim stands.
pub fn a_claim_tells_the_last_position(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        for count in [1, 5] {
            writer.append(writer.next(count)).await?;
            let claimed = done(store.claim(&writer.id).await, "claiming")?;
            ensure!(
                claimed.last == writer.last() && claimed.repaired.is_none(),
                "a claim of a sound log that ends at {} says {claimed:?}",
                writer.last()
            );
            writer.epoch = claimed.epoch;
        }
        Ok(())
    })
}

/// Each claim has a larger epoch than any before it in this store object.
pub fn epochs_grow(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut latest: Option<Epoch> = None;
        for round in 0..4 {
            for name in ["a", "b"] {
                let id = session(name)?;
                let epoch = done(store.claim(&id).await, "claiming")?.epoch;
                ensure!(
                    latest.is_none_or(|latest| latest < epoch),
                    "the epoch {epoch} of a later claim is not larger than {latest:?}"
                );
                latest = Some(epoch);
                if round % 2 == 1 {
                    done(store.release(&id, epoch).await, "releasing")?;
                }
            }
        }
        Ok(())
    })
}

/// Where two store objects may claim at one place, each claim of a session has a larger epoch than any
/// before it, whichever object gave it, and also once both were opened again: what one of them sent is
/// still on its way when the other one claims. Where a second one is refused, a claim ends with its
/// store object, and where it is not fenced off, nothing is promised.
pub fn epochs_grow_over_all_who_may_claim(at: &dyn StoreFixture) -> Checked {
    run(async {
        let id = session("s")?;
        let mut latest: Option<Epoch> = None;
        for _ in 0..2 {
            let one = at.open().await;
            if one.capabilities().fencing == Fencing::Object {
                return Ok(());
            }
            let other = match at.open_beside().await {
                Ok(other) => other,
                Err(error) if error.kind == StoreErrorKind::Locked => return Ok(()),
                Err(error) => {
                    let what = "a second store object at the same place";
                    return Err(Violation::new(format!("{what} did not open: {error}")));
                }
            };
            for turn in 0..6_u32 {
                let store = if turn % 3 == 1 { &other } else { &one };
                let epoch = match store.claim(&id).await {
                    Err(error) if error.kind == StoreErrorKind::Locked => return Ok(()),
                    claimed => done(claimed, "claiming beside another store object")?.epoch,
                };
                ensure!(
                    latest.is_none_or(|latest| latest < epoch),
                    "the epoch {epoch} of a later claim is not larger than {latest:?}, which \
                     another store object gave"
                );
                latest = Some(epoch);
            }
        }
        Ok(())
    })
}

/// A released claim appends nothing any more.
pub fn a_released_claim_appends_nothing(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        writer.append(writer.next(2)).await?;
        done(store.release(&writer.id, writer.epoch).await, "releasing")?;
        let appended = writer.offer(writer.last(), &writer.next(1)).await;
        refused(appended, &StoreErrorKind::NotClaimed, "appending after the release")?;
        writer.check().await
    })
}

/// A released session can be claimed again, and goes on.
pub fn a_released_session_is_claimed_again(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        for _ in 0..3 {
            writer.append(writer.next(2)).await?;
            done(store.release(&writer.id, writer.epoch).await, "releasing")?;
            done(store.release(&writer.id, writer.epoch).await, "releasing once more")?;
            let claimed = done(store.claim(&writer.id).await, "claiming after a release")?;
            ensure!(
                claimed.last == writer.last(),
                "a claim after a release stands at {} and not at {}",
                claimed.last,
                writer.last()
            );
            writer.epoch = claimed.epoch;
        }
        writer.append(writer.next(1)).await?;
        writer.check().await
    })
}

/// A later claim in the same store object takes the session over from the earlier.
pub fn a_later_claim_supersedes_the_earlier(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        writer.append(writer.next(1)).await?;
        let earlier = writer.epoch;
        writer.epoch = done(store.claim(&writer.id).await, "claiming once more")?.epoch;
        for _ in 0..2 {
            let facts = writer.next(1);
            let appended = store.append(&writer.id, earlier, writer.last(), &facts).await;
            let what = "appending under a claim that a later one superseded";
            refused(appended, &StoreErrorKind::NotClaimed, what)?;
            writer.append(facts).await?;
        }
        writer.check().await
    })
}

/// Giving back a claim that is not the latest leaves the latest as it is.
pub fn releasing_a_stale_claim_changes_nothing(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        let earlier = writer.epoch;
        writer.epoch = done(store.claim(&writer.id).await, "claiming once more")?.epoch;
        done(store.release(&writer.id, earlier).await, "releasing a stale claim")?;
        writer.append(writer.next(1)).await?;
        let released = store.release(&session("never-seen")?, writer.epoch).await;
        done(released, "releasing a session that was never claimed")?;
        writer.append(writer.next(1)).await?;
        writer.check().await
    })
}
