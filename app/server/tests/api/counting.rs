//! A store that counts the facts that are read from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use windlass_engine::core::{Epoch, Recorded, Seq, SessionId};
use windlass_engine::ports::{
    Claimed, LogStore, SessionFilter, SessionHead, Snapshot, StoreCapabilities, StoreError,
    Verified,
};
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
    fn capabilities(&self) -> StoreCapabilities {
        self.beneath.capabilities()
    }

    async fn claim(&self, session: &SessionId) -> Result<Claimed, StoreError> {
        self.beneath.claim(session).await
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        self.beneath.release(session, epoch).await
    }

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<Recorded>],
    ) -> Result<(), StoreError> {
        self.beneath.append(session, epoch, after, facts).await
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError> {
        let facts = self.beneath.read(session, after, limit).await?;
        self.facts.fetch_add(facts.len(), Ordering::SeqCst);
        Ok(facts)
    }

    async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionHead>, StoreError> {
        self.beneath.sessions(filter, after, limit).await
    }

    async fn verify(&self, session: &SessionId) -> Result<Verified, StoreError> {
        self.beneath.verify(session).await
    }

    async fn tail(
        &self,
        session: &SessionId,
        after: Seq,
        patience: Duration,
    ) -> Result<Seq, StoreError> {
        self.beneath.tail(session, after, patience).await
    }

    async fn erase(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        self.beneath.erase(session, epoch).await
    }

    async fn keep_snapshot(
        &self,
        session: &SessionId,
        snapshot: &Snapshot,
    ) -> Result<(), StoreError> {
        self.beneath.keep_snapshot(session, snapshot).await
    }

    async fn snapshot(
        &self,
        session: &SessionId,
        version: &str,
    ) -> Result<Option<Snapshot>, StoreError> {
        self.beneath.snapshot(session, version).await
    }
}
