//! Erasing: removes sessions for good, one by one or by age.

use windlass_core::{Scope, Seq, SessionId, Timestamp};
use windlass_ports::{BlobError, SessionFilter, StoreError, Tenants};

use super::Engine;
use crate::error::StartError;

/// Reason that a driver is told.
const ERASING: &str = "the session is being erased";

/// Failure to erase a session. The session exists as before, or was erased in part; erasing it again
/// continues.
#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    /// The session does not exist for the scope, or its first fact cannot be read.
    #[error(transparent)]
    Lookup(#[from] StartError),
    /// The session has changed since the caller decided to erase it.
    #[error("session {session} is not erased: its log has {last} facts by now")]
    Changed {
        /// Id of the session.
        session: SessionId,
        /// Last position of its log.
        last: Seq,
    },
    /// The store does not erase sessions, another process drives the session, or the store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The outputs cannot be erased.
    #[error(transparent)]
    Blobs(#[from] BlobError),
}

/// Result of erasing sessions by age.
#[derive(Debug, Default)]
pub struct RetentionReport {
    /// Erased sessions.
    pub erased: Vec<SessionId>,
    /// Sessions that are old enough and exist as before, with the reason.
    pub failed: Vec<(SessionId, EraseError)>,
    /// Last session that was looked at, if there may be more.
    pub next: Option<SessionId>,
}

impl Engine {
    /// Erases a session: its outputs, its log and its checkpoint. A driver here ends first, and what
    /// runs for the session is dropped. Nothing can be restored.
    ///
    /// If the log does not end at `last` any more, nothing is erased. Sessions of its agents exist as
    /// before: see [`child_sessions`](crate::child_sessions).
    ///
    /// # Errors
    /// [`EraseError`].
    pub async fn erase(&self, id: &SessionId, scope: &Scope, last: Seq) -> Result<(), EraseError> {
        self.lookup(id, scope).await?;
        let store = &self.inner.ports.store;
        if !store.capabilities().erase {
            return Err(StoreError::unsupported(id, "erasing sessions").into());
        }
        self.hand_off_session(id, 0, ERASING).await;
        let claim = store.claim(id).await?;
        let erased = if claim.last == last {
            // The outputs first: after the log, nothing would name them.
            match self.inner.ports.blobs.erase(id).await {
                Ok(()) => store.erase(id, claim.epoch).await.map_err(EraseError::from),
                Err(error) => Err(error.into()),
            }
        } else {
            Err(EraseError::Changed { session: id.clone(), last: claim.last })
        };
        match &erased {
            Ok(()) => self.forget(id),
            Err(_) => store.release(id, claim.epoch).await?,
        }
        erased
    }

    /// Erases sessions without unfinished work that have not changed since `before`. Looks at up to
    /// `limit` settled sessions of these tenants, after the session `after`.
    ///
    /// # Errors
    /// [`StoreError`] when the sessions cannot be listed, or the store does not erase.
    pub async fn erase_settled(
        &self,
        tenants: &Tenants,
        before: Timestamp,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<RetentionReport, StoreError> {
        let store = &self.inner.ports.store;
        let settled = SessionFilter { open: Some(false), ..SessionFilter::of(tenants.clone()) };
        let listed = store.sessions(&settled, after, limit).await?;
        let full = listed.len() >= limit;
        let mut report = RetentionReport {
            next: listed.last().filter(|_| full).map(|listing| listing.id.clone()),
            ..RetentionReport::default()
        };
        let scope = Scope::system(ERASING);
        for listing in listed {
            let Some(summary) = listing.summary.filter(|summary| summary.changed_at < before)
            else {
                continue;
            };
            if !store.capabilities().erase {
                return Err(StoreError::unsupported(&listing.id, "erasing sessions"));
            }
            match self.erase(&listing.id, &scope, summary.last).await {
                Ok(()) => report.erased.push(listing.id),
                // Somebody uses it, or was faster.
                Err(EraseError::Changed { .. } | EraseError::Lookup(StartError::Unknown(_))) => {}
                Err(error) => report.failed.push((listing.id, error)),
            }
        }
        Ok(report)
    }
}
