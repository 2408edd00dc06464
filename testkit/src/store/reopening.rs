//! Cases of opening a store again: what was acknowledged is there, as the declared durability
//! says.
//!
//! The store object is dropped without a word, with claims standing, as when a process ends in good
//! order: its destructors run. A killed process runs none; that case is in `image`. A store that
//! declares [`Durability::Memory`] may have forgotten a session or kept it; it must not have kept a
//! part.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use windlass_core::Seq;
use windlass_ports::{Durability, LogStore, SessionFilter, StoreErrorKind};

use super::StoreFixture;
use super::facts::numbered_facts;
use super::violation::{Checked, done, ensure, refused, run};
use super::writer::{Writer, check_log};

/// After opening the store again everything that was acknowledged is there, and nothing else.
pub fn reopening_keeps_what_was_acknowledged(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let durability = store.capabilities().durability;
        let mut logs = Vec::new();
        for name in ["released", "claimed", "superseded"] {
            let mut writer = Writer::new(&store, name).await?;
            for count in [1, 4, 1, 9] {
                writer.append(writer.next(count)).await?;
            }
            match name {
                "released" => done(store.release(&writer.id, writer.epoch).await, "releasing")?,
                "superseded" => {
                    done(store.claim(&writer.id).await, "claiming once more")?;
                }
                _ => {}
            }
            logs.push((writer.id, writer.log));
        }
        drop(store);

        let store = at.open().await;
        ensure!(
            store.capabilities().durability == durability,
            "the store declared {durability:?} and declares something else once opened again"
        );
        for (id, log) in &logs {
            if forgotten(&*store, id).await {
                continue;
            }
            check_log(&*store, id, log).await?;
            done(store.verify(id).await, "verifying in a store opened again")?;
        }
        if durability > Durability::Memory {
            let sessions = done(
                store.sessions(SessionFilter::ALL_TENANTS, None, 10).await,
                "listing sessions",
            )?;
            ensure!(
                sessions.len() == 3,
                "of 3 sessions, {sessions:?} are listed once opened again"
            );
        }
        Ok(())
    })
}

/// A store that was opened again, and again, goes on where each log stood.
pub fn reopening_goes_on_where_it_stood(at: &dyn StoreFixture) -> Checked {
    run(async {
        let mut store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        for round in 1..=5_u64 {
            writer.append(writer.next(round)).await?;
            let (id, mut log) = (writer.id.clone(), writer.log.clone());
            drop(writer);
            drop(store);
            store = at.open().await;
            if forgotten(&*store, &id).await {
                log.clear();
            }
            let claimed = done(store.claim(&id).await, "claiming in a store opened again")?;
            let last = log.last().map_or(Seq::ZERO, |fact| fact.seq);
            ensure!(
                claimed.last == last && claimed.repaired.is_none(),
                "a log that ended at {last} is claimed as {claimed:?} once opened again"
            );
            writer = Writer { store: store.clone(), id, epoch: claimed.epoch, log };
        }
        writer.append(writer.next(1)).await?;
        writer.check().await
    })
}

/// A claim does not outlive the store object that gave it.
pub fn a_reopened_store_needs_a_new_claim(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        writer.append(writer.next(2)).await?;
        let (id, epoch, mut last) = (writer.id.clone(), writer.epoch, writer.last());
        drop(writer);
        drop(store);

        let store = at.open().await;
        if forgotten(&*store, &id).await {
            last = Seq::ZERO;
        }
        let facts = numbered_facts(&id, last, 1);
        let appended = store.append(&id, epoch, last, &facts).await;
        let what = "appending under the claim of a store object that is gone";
        refused(appended, &StoreErrorKind::NotClaimed, what)
    })
}

/// Returns true if a store that promises nothing across opening has forgotten a session.
async fn forgotten(store: &dyn LogStore, id: &windlass_core::SessionId) -> bool {
    match store.capabilities().durability {
        Durability::Memory => {
            let read = store.read(id, Seq::ZERO, 1).await;
            read.is_err_and(|error| error.kind == StoreErrorKind::Unknown)
        }
        Durability::Process | Durability::Power => false,
    }
}
