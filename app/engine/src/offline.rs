//! Offline: changes a session that nobody drives, as its driver would.
//!
//! Only the first fact of a decision is appended: it records the change. The others follow from it,
//! and may start effects. The next driver decides them, as after a crash right behind the change.

use std::sync::Arc;

use windlass_core::{
    Epoch, Incoming, Input, Limits, RecordedFact, Reject, Scope, Session, SessionId, Timestamp,
    decide_and_evolve,
};
use windlass_ports::{LogStore, StoreError};

use crate::error::StartError;
use crate::fork::check_complete;
use crate::load::load;
use crate::lookup;

/// Facts of one read.
const PAGE: usize = 1_000;

/// Error of changing a session that nobody drives. Nothing was changed, unless the store failed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The session cannot be loaded or claimed.
    #[error("{0}")]
    Start(#[from] StartError),
    /// The core rejected the change.
    #[error("{0}")]
    Rejected(Reject),
    /// The store failed.
    #[error("{0}")]
    Store(StoreError),
}

/// Session that nobody drives, and the caller who changes it.
pub(crate) struct OfflineSession<'a> {
    pub(crate) store: &'a dyn LogStore,
    pub(crate) id: &'a SessionId,
    /// Scope of the caller.
    pub(crate) scope: &'a Scope,
    pub(crate) now: Timestamp,
}

impl OfflineSession<'_> {
    /// Claims the session, appends the change that the core decides, and releases the session.
    /// Returns the fact; `None` if there was nothing to change. While `input` runs, nobody drives the
    /// session.
    pub(crate) async fn change<E: From<ChangeError>>(
        &self,
        input: impl AsyncFnOnce(&Session) -> Result<Option<Input>, E>,
    ) -> Result<Option<Arc<RecordedFact>>, E> {
        let claim = self.claim().await?;
        let changed = self.append(claim, input).await;
        release(self.store, self.id, claim).await;
        changed
    }

    async fn claim(&self) -> Result<Epoch, ChangeError> {
        // A claim would create the log of an unknown session.
        let known = lookup::read(self.store, self.id).await?;
        if !self.scope.can_access(&known.owner) {
            return Err(StartError::Unknown(self.id.clone()).into());
        }
        let claim = self.store.claim(self.id).await.map_err(StartError::from)?;
        Ok(claim.epoch)
    }

    async fn append<E: From<ChangeError>>(
        &self,
        epoch: Epoch,
        input: impl AsyncFnOnce(&Session) -> Result<Option<Input>, E>,
    ) -> Result<Option<Arc<RecordedFact>>, E> {
        let loaded = load(self.store, self.id, PAGE).await.map_err(ChangeError::Start)?;
        check_complete(&loaded.session).map_err(ChangeError::Start)?;
        let Some(input) = input(&loaded.session).await? else {
            return Ok(None);
        };
        let decided = decide(&loaded.session, self.now, input);
        let facts = decided.map_err(ChangeError::Rejected)?;
        let Some(change) = facts.into_iter().next() else {
            return Ok(None);
        };
        let (last, appended) = (loaded.last(), std::slice::from_ref(&change));
        let appended = self.store.append(self.id, epoch, last, appended).await;
        appended.map_err(ChangeError::Store)?;
        Ok(Some(change))
    }
}

/// Decides an input of a session without a driver. The limits of a driver do not apply.
pub(crate) fn decide(
    session: &Session,
    now: Timestamp,
    input: Input,
) -> Result<Vec<Arc<RecordedFact>>, Reject> {
    let incoming = Incoming { at: now, entropy: 0, input };
    let decided = decide_and_evolve(session, &Limits::default(), incoming)?;
    Ok(decided.facts.into_iter().map(Arc::new).collect())
}

/// Releases a claim. What was appended under it is durable, so that a failure is only logged.
pub(crate) async fn release(store: &dyn LogStore, session: &SessionId, epoch: Epoch) {
    if let Err(error) = store.release(session, epoch).await {
        tracing::warn!(%session, %error, "claim not released");
    }
}
