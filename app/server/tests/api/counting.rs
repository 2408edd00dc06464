//! A store that counts the facts that are read from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use windlass_engine::core::{RecordedFact, Seq, SessionId};
use windlass_engine::ports::{LogStore, StoreError};
use windlass_server::windlass_engine;

/// A store over another one.
pub(crate) struct Counting {
    beneath: Arc<dyn LogStore>,
    facts: AtomicUsize,
}

impl Counting {
    pub(crate) fn new(beneath: Arc<dyn LogStore>) -> Arc<Self> {
        let facts = AtomicUsize::new(0);
        Arc::new(Self { beneath, facts })
    }

    /// How many facts were read since this was asked for last.
    pub(crate) fn since(&self) -> usize {
        self.facts.swap(0, Ordering::SeqCst)
    }
}

#[async_trait]
impl LogStore for Counting {
    windlass_testkit::forward!(beneath: capabilities, probe, claim, release, append, sessions, verify, tail, erase, write_checkpoint, read_checkpoint);

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        let facts = self.beneath.read(session, after, limit).await?;
        self.facts.fetch_add(facts.len(), Ordering::SeqCst);
        Ok(facts)
    }
}
