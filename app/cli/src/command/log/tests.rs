//! Tests of following a log, with a store that reports growth and one that is polled.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use windlass_engine::core::SessionId;
use windlass_engine::ports::{StoreCapabilities, StoreError};
use windlass_memory::MemoryStore;
use windlass_testkit::store::numbered_facts;

use super::*;

/// In-memory store that counts its reads, and reports growth or not.
struct Counting {
    store: MemoryStore,
    tails: bool,
    reads: Mutex<usize>,
}

#[async_trait]
impl LogStore for Counting {
    windlass_testkit::forward!(store: claim, release, append, sessions, verify);

    fn capabilities(&self) -> StoreCapabilities {
        let capabilities = self.store.capabilities();
        StoreCapabilities {
            tail_delay_ms: capabilities.tail_delay_ms.filter(|_| self.tails),
            ..capabilities
        }
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        *self.reads.lock().unwrap() += 1;
        self.store.read(session, after, limit).await
    }

    async fn tail(
        &self,
        session: &SessionId,
        after: Seq,
        patience: Duration,
    ) -> Result<Seq, StoreError> {
        assert!(self.tails, "it is asked for what it does not declare");
        self.store.tail(session, after, patience).await
    }
}

/// Follows a log that grows, then stays unchanged for a minute. Returns the received positions and
/// the number of reads.
async fn followed(tails: bool) -> (Vec<u64>, usize) {
    let store = Arc::new(Counting { store: MemoryStore::new(), tails, reads: Mutex::new(0) });
    let id = SessionId::new("s").unwrap();
    let epoch = store.claim(&id).await.unwrap().epoch;
    let mut last = Seq::ZERO;
    let mut grow = async |count: u64| {
        let facts = numbered_facts(&id, last, count);
        store.append(&id, epoch, last, &facts).await.unwrap();
        last = last.plus(count);
        // Long enough for a poll, in simulated time.
        tokio::time::sleep(Duration::from_secs(60)).await;
    };
    grow(200).await;
    let (told, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let following = {
        let (store, id) = (store.clone(), id.clone());
        tokio::spawn(async move {
            let mut facts = ports::LogReader::new(store.clone(), id, Seq::ZERO, usize::MAX);
            let mut each = |fact: &RecordedFact| {
                told.send(fact.seq.0).unwrap();
                Ok(())
            };
            follow(store.as_ref(), &mut facts, &mut each).await
        })
    };
    grow(1).await;
    grow(3).await;
    assert!(!following.is_finished());
    following.abort();
    let mut came = Vec::new();
    while let Ok(seq) = seen.try_recv() {
        came.push(seq);
    }
    let reads = *store.reads.lock().unwrap();
    (came, reads)
}

#[tokio::test(start_paused = true)]
async fn a_store_that_tells_of_growth_is_waited_for() {
    let (came, reads) = followed(true).await;
    assert!(came.into_iter().eq(1..=204));
    // Three minutes: one read for each growth, and one for each time-out.
    assert!(reads < 30, "{reads} reads");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_tell_is_looked_at() {
    let (came, reads) = followed(false).await;
    assert!(came.into_iter().eq(1..=204));
    assert!(reads > 1_000, "{reads} reads");
}
