//! A writer of one session, as the cases use it: claims, appends, remembers what was acknowledged.

use std::sync::Arc;

use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::{Durability, LogStore, StoreError, StoreErrorKind, codec};

use super::facts::numbered_facts;
use super::violation::{Checked, Violation, done, ensure, refused};

/// The session of this name.
pub(super) fn session(name: &str) -> Result<SessionId, Violation> {
    SessionId::new(name).map_err(|error| Violation::new(format!("{name}: {error}")))
}

/// A writer of one session with what was acknowledged to it.
pub(super) struct Writer {
    pub(super) store: Arc<dyn LogStore>,
    pub(super) id: SessionId,
    pub(super) epoch: Epoch,
    pub(super) log: Vec<Arc<RecordedFact>>,
}

impl Writer {
    /// Claims a session that must be new.
    pub(super) async fn new(store: &Arc<dyn LogStore>, name: &str) -> Result<Self, Violation> {
        let id = session(name)?;
        let claimed = done(store.claim(&id).await, "claiming a new session")?;
        Ok(Self { store: store.clone(), id, epoch: claimed.epoch, log: Vec::new() })
    }

    /// The last position that was acknowledged.
    pub(super) fn last(&self) -> Seq {
        self.log.last().map_or(Seq::ZERO, |fact| fact.seq)
    }

    /// `count` facts that may be appended next.
    pub(super) fn next(&self, count: u64) -> Vec<Arc<RecordedFact>> {
        numbered_facts(&self.id, self.last(), count)
    }

    /// Appends facts as they are, without remembering them.
    pub(super) async fn offer(
        &self,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        let appended = self.store.append(&self.id, self.epoch, after, facts);
        appended.await
    }

    /// Appends facts, which must succeed.
    pub(super) async fn append(&mut self, facts: Vec<Arc<RecordedFact>>) -> Checked {
        let what = format!("appending {} facts after {}", facts.len(), self.last());
        done(self.offer(self.last(), &facts).await, &what)?;
        self.log.extend(facts);
        Ok(())
    }

    /// Holds the store to everything that was acknowledged, and nothing else.
    pub(super) async fn check(&self) -> Checked {
        check_log(&*self.store, &self.id, &self.log).await
    }
}

/// Holds a session's log to what it must be: each fact, byte for byte, and no more.
pub(super) async fn check_log(
    store: &dyn LogStore,
    id: &SessionId,
    expected: &[Arc<RecordedFact>],
) -> Checked {
    let read = store.read(id, Seq::ZERO, usize::MAX).await;
    let read = done(read, &format!("reading all of {id}"))?;
    ensure!(
        read.len() == expected.len(),
        "the log of {id} has {} facts, {} were acknowledged",
        read.len(),
        expected.len()
    );
    check_facts(&read, expected)
}

/// Holds facts that were read to those that were appended.
pub(super) fn check_facts(read: &[RecordedFact], expected: &[Arc<RecordedFact>]) -> Checked {
    for (read, expected) in read.iter().zip(expected) {
        ensure!(
            read.seq == expected.seq,
            "position {} was read where {} must stand",
            read.seq,
            expected.seq
        );
        ensure!(
            text(read)? == text(expected)?,
            "fact {} ({}) is not what was appended, byte for byte",
            expected.seq,
            expected.fact.kind()
        );
    }
    Ok(())
}

/// Holds a store that does not know a session any more to promising nothing of it.
pub(super) async fn check_forgotten(store: &dyn LogStore, id: &SessionId) -> Checked {
    let durability = store.capabilities().durability;
    ensure!(
        durability == Durability::Memory,
        "{durability:?} is declared, and {id} is not known in a store that was opened again"
    );
    let read = store.read(id, Seq::ZERO, 1).await;
    refused(read, &StoreErrorKind::Unknown, "reading a session that was forgotten")
}

fn text(fact: &RecordedFact) -> Result<Vec<u8>, Violation> {
    codec::encode(fact).map_err(|error| Violation::new(format!("a fact does not encode: {error}")))
}
