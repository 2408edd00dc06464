//! A node's store object: the place's logs, each for the node that holds its session.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::sleep;
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::{
    Fencing, LogStore, LogVerification, SessionClaim, SessionFilter, SessionListing,
    StoreCapabilities, StoreError, StoreErrorKind, StoredCheckpoint,
};

use super::{Held, Node};

/// How long after a release that failed it is tried again.
const AGAIN: Duration = Duration::from_secs(1);

pub(super) struct NodeStore(pub(super) Node);

impl NodeStore {
    /// The place's logs, once this node reaches them, where they can be read.
    async fn logs(&self) -> Result<&dyn LogStore, StoreError> {
        self.0.whole().await;
        self.0.place.shared.kept.lock().answers("reading", true)?;
        Ok(self.0.place.logs.as_ref())
    }

    /// The same where they take writes.
    async fn taking(&self) -> Result<&dyn LogStore, StoreError> {
        self.0.whole().await;
        self.0.place.shared.kept.lock().answers("writing", false)?;
        Ok(self.0.place.logs.as_ref())
    }

    async fn released(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        self.taking().await?.release(session, epoch).await
    }

    fn let_go(&self, session: &SessionId, epoch: Epoch) {
        let mut kept = self.0.place.shared.kept.lock();
        let held = kept.held.get(session);
        if held.is_some_and(|held| held.epoch == epoch) {
            kept.held.remove(session);
        }
        kept.over.remove(&epoch);
    }
}

#[async_trait]
impl LogStore for NodeStore {
    fn capabilities(&self) -> StoreCapabilities {
        StoreCapabilities { fencing: Fencing::AllWriters, ..self.0.place.logs.capabilities() }
    }

    async fn probe(&self) -> Result<(), StoreError> {
        self.taking().await?.probe().await
    }

    async fn claim(&self, session: &SessionId) -> Result<SessionClaim, StoreError> {
        let logs = self.taking().await?;
        let holder = self.0.place.shared.kept.lock().holder(session);
        if holder.is_some_and(|held| held.node != self.0.name) {
            let context = format!("claiming {session}: another node of the test holds it");
            return Err(StoreError::new(StoreErrorKind::Locked, context));
        }
        let claimed = logs.claim(session).await?;
        let held = Held { node: self.0.name, epoch: claimed.epoch };
        self.0.place.shared.kept.lock().held.insert(session.clone(), held);
        Ok(claimed)
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        self.0.whole().await;
        let holder = self.0.place.shared.kept.lock().holder(session);
        if holder.is_none_or(|held| held.epoch != epoch) {
            return self.taking().await?.release(session, epoch).await;
        }
        self.0.place.shared.kept.lock().over.insert(epoch);
        let released = self.released(session, epoch).await;
        match &released {
            Ok(()) => self.let_go(session, epoch),
            // As the port says: it is told again until the place takes it.
            Err(_) => {
                let (again, session) = (Self(self.0.clone()), session.clone());
                tokio::spawn(async move {
                    loop {
                        sleep(AGAIN).await;
                        if again.released(&session, epoch).await.is_ok() {
                            return again.let_go(&session, epoch);
                        }
                    }
                });
            }
        }
        released
    }

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        let logs = self.taking().await?;
        let holder = self.0.place.shared.kept.lock().holder(session);
        let over = self.0.place.shared.kept.lock().over.contains(&epoch);
        if over || holder.is_none_or(|held| held.epoch != epoch) {
            let context = format!("appending to {session}: the claim is over");
            return Err(StoreError::new(StoreErrorKind::NotClaimed, context));
        }
        logs.append(session, epoch, after, facts).await
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        self.logs().await?.read(session, after, limit).await
    }

    async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionListing>, StoreError> {
        let logs = self.logs().await?;
        if !filter.unclaimed {
            return logs.sessions(filter, after, limit).await;
        }
        // The place knows who holds what, and the logs beneath only that somebody did.
        let all = SessionFilter { unclaimed: false, ..filter.clone() };
        let mut heads = logs.sessions(&all, after, usize::MAX).await?;
        let kept = self.0.place.shared.kept.lock();
        heads.retain(|head| kept.holder(&head.id).is_none());
        heads.truncate(limit);
        Ok(heads)
    }

    async fn verify(&self, session: &SessionId) -> Result<LogVerification, StoreError> {
        self.logs().await?.verify(session).await
    }

    async fn tail(
        &self,
        session: &SessionId,
        after: Seq,
        patience: Duration,
    ) -> Result<Seq, StoreError> {
        self.logs().await?.tail(session, after, patience).await
    }

    async fn erase(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        self.taking().await?.erase(session, epoch).await?;
        self.0.place.shared.kept.lock().letters.erase(session);
        self.let_go(session, epoch);
        Ok(())
    }

    async fn write_checkpoint(
        &self,
        session: &SessionId,
        snapshot: &StoredCheckpoint,
    ) -> Result<(), StoreError> {
        let logs = self.taking().await?;
        logs.write_checkpoint(session, snapshot).await
    }

    async fn read_checkpoint(
        &self,
        session: &SessionId,
        version: &str,
    ) -> Result<Option<StoredCheckpoint>, StoreError> {
        self.logs().await?.read_checkpoint(session, version).await
    }
}
