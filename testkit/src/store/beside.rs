//! Cases of several store objects at one place, as several processes open it: each sees what the
//! others have appended and claimed, and waits while another one writes.
//!
//! Nothing is asked where a second store object is refused as `Locked`, or is not fenced off.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use std::sync::Arc;

use tokio::task::JoinSet;
use windlass_core::{Seq, SessionId};
use windlass_ports::{Fencing, LogStore, SessionFilter, StoreErrorKind};

use super::StoreFixture;
use super::inspecting::skip;
use super::violation::{Checked, Violation, done, ensure, run, run_in_parallel};
use super::writer::{Writer, check_log};

/// Store objects that write at once.
const OBJECTS: usize = 4;
/// Appends of each of them.
const APPENDS: u64 = 12;

/// Opens a store object beside another one; `None` if it is refused or not fenced off.
async fn second(
    at: &dyn StoreFixture,
    first: &Arc<dyn LogStore>,
    case: &str,
) -> Result<Option<Arc<dyn LogStore>>, Violation> {
    if first.capabilities().fencing == Fencing::Object {
        skip(case, "the store fences off no other store object, and declares that");
        return Ok(None);
    }
    match at.open_beside().await {
        Ok(other) => Ok(Some(other)),
        Err(error) if error.kind == StoreErrorKind::Locked => {
            skip(case, "a second store object is refused as Locked");
            Ok(None)
        }
        Err(error) => Err(Violation::new(format!(
            "a second store object at the same place did not open: {error}"
        ))),
    }
}

/// A claim sees what another store object appended since this one read the log, and goes on there.
pub fn a_claim_sees_what_another_store_object_appended(at: &dyn StoreFixture) -> Checked {
    run(async {
        let one = at.open().await;
        let case = "a_claim_sees_what_another_store_object_appended";
        let Some(other) = second(at, &one, case).await? else {
            return Ok(());
        };
        let mut writer = Writer::new(&one, "s").await?;
        writer.append(writer.next(2)).await?;
        for turn in 0..4_u64 {
            done(writer.store.release(&writer.id, writer.epoch).await, "releasing")?;
            let next = if turn % 2 == 0 { &other } else { &one };
            let what = "claiming what another store object released";
            let claimed = done(next.claim(&writer.id).await, what)?;
            ensure!(
                claimed.last == writer.last() && claimed.repaired.is_none(),
                "another store object appended up to {}, and a claim says {claimed:?}",
                writer.last()
            );
            writer.store = next.clone();
            writer.epoch = claimed.epoch;
            for count in [1, 2 + turn] {
                writer.append(writer.next(count)).await?;
            }
        }
        for store in [&one, &other] {
            check_log(&**store, &writer.id, &writer.log).await?;
        }
        Ok(())
    })
}

/// Appends of another store object are read at once, by a store object that has read the log
/// before: its facts, its end, its summary.
pub fn a_read_sees_what_another_store_object_appended(at: &dyn StoreFixture) -> Checked {
    run(async {
        let one = at.open().await;
        let case = "a_read_sees_what_another_store_object_appended";
        let Some(other) = second(at, &one, case).await? else {
            return Ok(());
        };
        let mut writer = Writer::new(&one, "s").await?;
        for count in [1, 3, 1, 40] {
            writer.append(writer.next(count)).await?;
            sees(&*other, &writer).await.map_err(|missing| {
                Violation::new(format!(
                    "another store object appended up to {}, and: {missing}",
                    writer.last()
                ))
            })?;
        }
        Ok(())
    })
}

async fn sees(store: &dyn LogStore, writer: &Writer) -> Checked {
    check_log(store, &writer.id, &writer.log).await?;
    let end = store.read(&writer.id, writer.last(), 1).await;
    ensure!(done(end, "reading at the end")?.is_empty(), "there are facts after the end");
    let verified = done(store.verify(&writer.id).await, "verifying")?;
    ensure!(verified.last == writer.last(), "it verifies up to {}", verified.last);
    let listed = done(store.sessions(SessionFilter::ALL_TENANTS, None, 10).await, "listing")?;
    let summary = listed.first().and_then(|head| head.summary.as_ref());
    ensure!(
        listed.len() == 1 && summary.is_some_and(|summary| summary.last == writer.last()),
        "it is listed as {listed:?}"
    );
    Ok(())
}

/// A listing of free sessions has none that another store object has claimed, as long as that lives.
pub fn a_listing_of_free_sessions_sees_claims_of_other_objects(at: &dyn StoreFixture) -> Checked {
    run(async {
        let one = at.open().await;
        let case = "a_listing_of_free_sessions_sees_claims_of_other_objects";
        let Some(other) = second(at, &one, case).await? else {
            return Ok(());
        };
        let mut held = Writer::new(&one, "held").await?;
        held.append(held.next(1)).await?;
        let mut ours = Writer::new(&other, "ours").await?;
        ours.append(ours.next(1)).await?;
        free_is(&*other, &[], "while each of two store objects has claimed one").await?;
        free_is(&*one, &[], "while each of two store objects has claimed one").await?;
        done(other.release(&ours.id, ours.epoch).await, "releasing")?;
        free_is(&*other, &[&ours.id], "when one was released").await?;
        done(one.claim(&ours.id).await, "claiming what another store object released")?;
        free_is(&*other, &[], "when another store object has claimed it again").await
    })
}

async fn free_is(store: &dyn LogStore, expected: &[&SessionId], when: &str) -> Checked {
    let free = SessionFilter { unclaimed: true, ..SessionFilter::ALL_TENANTS.clone() };
    let listed = done(store.sessions(&free, None, 10).await, "listing free sessions")?;
    let ids: Vec<_> = listed.iter().map(|head| &head.id).collect();
    ensure!(ids == expected, "{when}, {ids:?} are listed as free and not {expected:?}");
    Ok(())
}

/// Store objects that write at once wait for one another: none of their claims and appends fails
/// because another one is busy.
pub fn a_busy_store_is_waited_for(at: &dyn StoreFixture) -> Checked {
    run_in_parallel(async {
        let one = at.open().await;
        let mut objects = vec![one.clone()];
        while objects.len() < OBJECTS {
            let Some(other) = second(at, &one, "a_busy_store_is_waited_for").await? else {
                return Ok(());
            };
            objects.push(other);
        }
        let mut writers = JoinSet::new();
        for (number, store) in objects.into_iter().enumerate() {
            writers.spawn(async move {
                let mut writer = Writer::new(&store, &format!("s{number}")).await?;
                for turn in 0..APPENDS {
                    writer.append(writer.next(1 + turn % 3)).await?;
                }
                Ok(writer)
            });
        }
        while let Some(ended) = writers.join_next().await {
            let writer: Result<Writer, Violation> =
                ended.map_err(|error| Violation::new(format!("a writer died: {error}")))?;
            let writer = writer.map_err(|busy| {
                Violation::new(format!("while other store objects wrote too: {busy}"))
            })?;
            check_log(&*one, &writer.id, &writer.log).await?;
            ensure!(writer.last() > Seq::ZERO, "a writer wrote nothing");
        }
        Ok(())
    })
}
