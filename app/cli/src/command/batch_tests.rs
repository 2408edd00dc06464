//! Tests that commands over many sessions read many logs with one call of the store.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use windlass_engine::core::{Fact, RecordedFact, Seq, SessionId};
use windlass_engine::ports::{LogStore, SessionFilter, SessionListing, StoreError, VerifiedLog};
use windlass_memory::{MemoryBlobs, MemoryStore};
use windlass_testkit::store::{numbered_facts, sample_facts};

use super::{sessions, verify};

/// In-memory store that counts reads of one log and of many logs.
struct Counting {
    store: MemoryStore,
    of_one: AtomicUsize,
    of_many: AtomicUsize,
}

#[async_trait]
impl LogStore for Counting {
    windlass_testkit::forward!(store: capabilities, probe, claim, release, append, sessions, tail, erase, write_checkpoint);

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        self.of_one.fetch_add(1, Ordering::SeqCst);
        self.store.read(session, after, limit).await
    }

    async fn verify(
        &self,
        session: &SessionId,
    ) -> Result<windlass_engine::ports::LogVerification, StoreError> {
        self.of_one.fetch_add(1, Ordering::SeqCst);
        self.store.verify(session).await
    }

    async fn read_checkpoint(
        &self,
        session: &SessionId,
        version: &str,
    ) -> Result<Option<windlass_engine::ports::StoredCheckpoint>, StoreError> {
        self.of_one.fetch_add(1, Ordering::SeqCst);
        self.store.read_checkpoint(session, version).await
    }

    async fn read_logs(
        &self,
        sessions: &[SessionId],
        limit: usize,
        kinds: Option<&'static [&'static str]>,
    ) -> Vec<Result<Vec<RecordedFact>, StoreError>> {
        self.of_many.fetch_add(1, Ordering::SeqCst);
        self.store.read_logs(sessions, limit, kinds).await
    }

    async fn verify_logs(
        &self,
        sessions: &[SessionId],
        limit: usize,
        version: &str,
    ) -> Vec<Result<VerifiedLog, StoreError>> {
        self.of_many.fetch_add(1, Ordering::SeqCst);
        self.store.verify_logs(sessions, limit, version).await
    }
}

impl Counting {
    /// Creates a store with 100 sessions: new ones, and a last one with a longer log.
    async fn new() -> (Self, Vec<SessionListing>) {
        let store = MemoryStore::new();
        for number in 0..100 {
            let id = SessionId::new(&format!("s-{number:02}")).unwrap();
            let epoch = store.claim(&id).await.unwrap().epoch;
            let mut opening = sample_facts(&id);
            opening.retain(|fact| matches!(fact.fact, Fact::SessionOpened(_)));
            let mut first = (*opening[0]).clone();
            first.seq = Seq(1);
            store.append(&id, epoch, Seq::ZERO, &[first.into()]).await.unwrap();
            if number == 99 {
                let more = numbered_facts(&id, Seq(1), 70);
                store.append(&id, epoch, Seq(1), &more).await.unwrap();
            }
        }
        let listed = store.sessions(SessionFilter::ALL_TENANTS, None, 1_000).await.unwrap();
        let (of_one, of_many) = (AtomicUsize::new(0), AtomicUsize::new(0));
        (Self { store, of_one, of_many }, listed)
    }

    fn calls(&self) -> (usize, usize) {
        (self.of_one.load(Ordering::SeqCst), self.of_many.load(Ordering::SeqCst))
    }
}

#[tokio::test]
async fn a_listing_reads_the_logs_of_many_sessions_at_once() {
    let (store, listed) = Counting::new().await;
    let rows = sessions::summaries(&store, &listed, None).await;
    assert_eq!(rows.iter().flatten().count(), 100);
    // The longer log has a second page.
    assert_eq!(store.calls(), (1, 1));
}

#[tokio::test]
async fn verifying_reads_each_short_log_once_and_many_at_once() {
    let (store, listed) = Counting::new().await;
    let bad = verify::check_all(&store, &MemoryBlobs::new(), &listed).await.unwrap();
    assert_eq!(bad, 0);
    // The facts of the longer log are read once more.
    assert_eq!(store.calls(), (1, 1));
}
