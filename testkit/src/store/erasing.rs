//! Cases of erasing a session. A store that does not declare it is held to refusing it.
//!
//! What it leaves in the stored bytes is a case of `erased_bytes.rs`.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{Epoch, Seq, SessionId};
use windlass_ports::{
    ChainLink, Durability, LogStore, SessionFilter, StoreErrorKind, StoredCheckpoint, Tenants,
};

use super::StoreFixture;
use super::facts::{numbered_facts, saying};
use super::story::{Until, log_until};
use super::violation::{Checked, Violation, done, ensure, refused, run};
use super::writer::{Writer, session};

/// A store that erases, with a session of a tenant and, where they are declared, its snapshot. None
/// where it does not declare that, and refuses it, and leaves the log as it is.
async fn erasing(at: &dyn StoreFixture) -> Result<Option<Writer>, Violation> {
    let store = at.open().await;
    let mut writer = Writer::new(&store, "s").await?;
    let facts = log_until(&writer.id, Some("acme"), Until::Waiting);
    writer.append(facts).await?;
    if !store.capabilities().erase {
        let erased = store.erase(&writer.id, writer.epoch).await;
        let what = "erasing, which is not declared,";
        refused(erased, &StoreErrorKind::Unsupported, what)?;
        writer.append(writer.next(1)).await?;
        writer.check().await?;
        return Ok(None);
    }
    if store.capabilities().max_checkpoint_bytes.is_some() {
        let kept = store.write_checkpoint(&writer.id, &snapshot()).await;
        done(kept, "keeping a snapshot")?;
    }
    Ok(Some(writer))
}

fn snapshot() -> StoredCheckpoint {
    StoredCheckpoint {
        seq: Seq(2),
        version: String::from("v"),
        bytes: b"what it folds to".to_vec(),
    }
}

/// Holds a store to knowing nothing of a session.
async fn gone(store: &dyn LogStore, id: &SessionId, when: &str) -> Checked {
    let unknown = &StoreErrorKind::Unknown;
    let read = store.read(id, Seq::ZERO, 10).await;
    refused(read, unknown, &format!("reading a session {when}"))?;
    let verified = store.verify(id).await;
    refused(verified, unknown, &format!("verifying a session {when}"))?;
    let ours = SessionFilter::of(Tenants::One(String::from("acme")));
    for filter in [SessionFilter::ALL_TENANTS, &ours] {
        let listed = store.sessions(filter, None, usize::MAX).await;
        let listed = done(listed, "listing sessions")?;
        ensure!(listed.iter().all(|head| head.id != *id), "a session is listed {when}");
    }
    if store.capabilities().tail_delay_ms.is_some() {
        let tailed = store.tail(id, Seq::ZERO, Duration::ZERO).await;
        refused(tailed, unknown, &format!("following a session {when}"))?;
    }
    if store.capabilities().max_checkpoint_bytes.is_some() {
        let read = store.read_checkpoint(id, "v").await;
        refused(read, unknown, &format!("its snapshot {when}"))?;
    }
    Ok(())
}

/// Holds a claim to being over.
async fn over(writer: &Writer, epoch: Epoch, when: &str) -> Checked {
    let Writer { store, id, .. } = writer;
    let not_claimed = &StoreErrorKind::NotClaimed;
    for after in [Seq::ZERO, writer.last()] {
        let facts = numbered_facts(id, after, 1);
        let appended = store.append(id, epoch, after, &facts).await;
        refused(appended, not_claimed, &format!("appending {when}"))?;
    }
    let erased = store.erase(id, epoch).await;
    refused(erased, not_claimed, &format!("erasing {when}"))
}

/// An erased session is gone: it is not read, verified, listed, followed, its snapshot is not there,
/// and its claim is over.
pub fn an_erased_session_is_gone(at: &dyn StoreFixture) -> Checked {
    run(async {
        let Some(writer) = erasing(at).await? else {
            return Ok(());
        };
        let Writer { store, id, .. } = &writer;
        done(store.erase(id, writer.epoch).await, "erasing a session")?;
        gone(&**store, id, "that was erased").await?;
        over(&writer, writer.epoch, "under a claim that erased").await?;
        done(store.release(id, writer.epoch).await, "releasing a claim that erased")?;
        gone(&**store, id, "that was erased").await
    })
}

/// A claim of an erased session begins a new one, of which the earlier claim knows nothing: a log from
/// position 1, a chain of its own, a summary of its own.
pub fn an_erased_session_begins_anew(at: &dyn StoreFixture) -> Checked {
    run(async {
        let Some(mut writer) = erasing(at).await? else {
            return Ok(());
        };
        for round in 0..3_u64 {
            let (store, id, earlier) = (writer.store.clone(), writer.id.clone(), writer.epoch);
            done(store.erase(&id, earlier).await, "erasing a session")?;
            let claimed = done(store.claim(&id).await, "claiming an erased session")?;
            ensure!(
                claimed.last == Seq::ZERO && claimed.repaired.is_none(),
                "an erased session is claimed as {claimed:?}"
            );
            ensure!(
                claimed.epoch > earlier,
                "the epoch {} of a claim after erasing is not larger than {earlier} before it",
                claimed.epoch
            );
            gone(&*store, &id, "that was erased and claimed").await?;
            over(&writer, earlier, "under a claim before the erasing").await?;
            writer.epoch = claimed.epoch;
            writer.log = Vec::new();
            let facts = saying(&id, Seq::ZERO, 2 + round, "begun anew");
            writer.append(facts).await?;
            writer.check().await?;
            let verified = done(store.verify(&id).await, "verifying")?;
            let chain = ChainLink::of_log(&id, writer.log.iter().map(AsRef::as_ref));
            let chain = chain.map_err(|error| Violation::new(error.to_string()))?;
            ensure!(
                verified.chain == chain && verified.last == writer.last(),
                "a session that was begun anew is verified as {verified:?}"
            );
            let listed = store.sessions(SessionFilter::ALL_TENANTS, None, 10).await;
            let listed = done(listed, "listing sessions")?;
            let summary = listed.first().and_then(|head| head.summary.as_ref());
            ensure!(
                summary.is_some_and(|new| new.last == writer.last() && new.tenant.is_none()),
                "a session that was begun anew by nobody is listed as {summary:?}"
            );
        }
        Ok(())
    })
}

/// Only the latest claim of a session erases it.
pub fn erasing_needs_the_latest_claim(at: &dyn StoreFixture) -> Checked {
    run(async {
        let Some(mut writer) = erasing(at).await? else {
            return Ok(());
        };
        let (store, id) = (writer.store.clone(), writer.id.clone());
        let not_claimed = &StoreErrorKind::NotClaimed;
        let earlier = writer.epoch;
        writer.epoch = done(store.claim(&id).await, "claiming once more")?.epoch;
        for epoch in [earlier, Epoch(0), Epoch(u64::MAX)] {
            let what = format!("erasing under epoch {epoch}, which is not the latest,");
            refused(store.erase(&id, epoch).await, not_claimed, &what)?;
        }
        let unclaimed = session("never-seen")?;
        let erased = store.erase(&unclaimed, writer.epoch).await;
        refused(erased, not_claimed, "erasing a session that has no claim")?;
        writer.check().await?;
        writer.append(writer.next(1)).await?;
        done(store.release(&id, writer.epoch).await, "releasing")?;
        let erased = store.erase(&id, writer.epoch).await;
        refused(erased, not_claimed, "erasing under a released claim")?;
        writer.check().await
    })
}

/// Ids that a store may mix up with the one that it erases.
const NEIGHBOURS: [&str; 6] = ["s.a", "s-", "s0", "S", "ss", "r"];

/// Erasing a session leaves all others as they are, with their claims; also once the store is opened
/// again.
pub fn erasing_leaves_other_sessions(at: &dyn StoreFixture) -> Checked {
    run(async {
        let Some(mut erased) = erasing(at).await? else {
            return Ok(());
        };
        let store = erased.store.clone();
        let mut others = Vec::new();
        for name in NEIGHBOURS {
            others.push(Writer::new(&store, name).await?);
        }
        // Their facts lie between one another.
        for count in [1, 3, 1] {
            erased.append(erased.next(1)).await?;
            for other in &mut others {
                other.append(other.next(count)).await?;
            }
        }
        done(store.erase(&erased.id, erased.epoch).await, "erasing")?;
        for other in &mut others {
            other.check().await?;
            other.append(other.next(1)).await?;
            other.check().await?;
        }
        if store.capabilities().durability == Durability::Memory {
            return Ok(());
        }
        let logs = others.into_iter().map(|Writer { id, log, .. }| (id, log));
        let logs: Vec<_> = logs.collect();
        drop((erased, store));
        let store = at.open().await;
        for (id, log) in &logs {
            super::writer::check_log(&*store, id, log).await?;
            done(store.verify(id).await, "verifying beside an erased session")?;
        }
        Ok(())
    })
}

/// An erased session stays erased: in what a killed process leaves, and in a store that is opened
/// again, where it can begin again.
pub fn an_erased_session_stays_gone(at: &dyn StoreFixture) -> Checked {
    run(async {
        let Some(writer) = erasing(at).await? else {
            return Ok(());
        };
        let (mut store, id): (Arc<dyn LogStore>, _) = (writer.store.clone(), writer.id.clone());
        done(store.erase(&id, writer.epoch).await, "erasing a session")?;
        if store.capabilities().durability == Durability::Memory {
            return Ok(());
        }
        if let Some(image) = at.image().await {
            gone(&*image, &id, "that was erased before the process was killed").await?;
        }
        drop(writer);
        for opening in 0..2_u64 {
            drop(store);
            store = at.open().await;
            gone(&*store, &id, "that was erased before the store was opened again").await?;
            let claimed = done(store.claim(&id).await, "claiming an erased session")?;
            ensure!(
                claimed.last == Seq::ZERO,
                "an erased session is claimed as {claimed:?} in a store that was opened again"
            );
            let facts = saying(&id, Seq::ZERO, 1 + opening, "begun anew");
            let appended = store.append(&id, claimed.epoch, Seq::ZERO, &facts).await;
            done(appended, "beginning an erased session anew")?;
            super::writer::check_log(&*store, &id, &facts).await?;
            let erased = store.erase(&id, claimed.epoch).await;
            done(erased, "erasing it once more")?;
        }
        Ok(())
    })
}
