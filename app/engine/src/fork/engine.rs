//! Forking in an engine, where the new session may be driven.

use std::sync::atomic::Ordering;

use windlass_core::{Lineage, Scope, Seq, Session, SessionId};
use windlass_ports::{StoreError, StoreErrorKind};

use super::{ForkError, ForkReport, ForkRequest, find, fork};
use crate::copy::CopyTarget;
use crate::engine::Engine;
use crate::error::StartError;

impl Engine {
    /// Forks a session: a new one, `id`, continues a copy of the log of `of` up to the position `at`,
    /// with what is kept beside it, in the same store.
    ///
    /// The log is read as far as it is durable, and no claim on it is needed: it may run here, or
    /// elsewhere, meanwhile. It can be forked where no turn is open and nothing else is under way. What
    /// waits there waits in the fork too, and so does a goal, until somebody sends an input or says
    /// `continue`: a fork begins held. Its settings are those of that position; it belongs to `scope`,
    /// or for one of the system to whom the other one belongs.
    ///
    /// Forking again with the same arguments answers the same, also when the fork has gone on since. One
    /// that was cut short is not opened by anybody, and forking again finishes it. A caller who goes
    /// away while it waits changes nothing.
    ///
    /// # Errors
    /// [`ForkError`]: unknown (also when `scope` may not see it), a position that it does not have or at
    /// which something is under way, an id that is taken, a failing store, or an engine that was shut
    /// down.
    pub async fn fork(
        &self,
        of: &SessionId,
        at: Seq,
        id: &SessionId,
        scope: &Scope,
    ) -> Result<ForkReport, ForkError> {
        let asked = ForkRequest {
            source: of.clone(),
            at,
            id: id.clone(),
            scope: scope.clone(),
            now: self.inner.ports.clock.now(),
        };
        let engine = self.clone();
        // A task of its own: a caller who goes away must not leave a claim.
        match tokio::spawn(async move { engine.fork_complete(&asked).await }).await {
            Ok(forked) => forked,
            Err(error) => {
                let context = format!(
                    "forking session {of}: {error}, which is a defect of the store adapter unless \
                     the runtime is shutting down"
                );
                Err(StoreError::new(StoreErrorKind::Io, context).into())
            }
        }
    }

    async fn fork_complete(&self, asked: &ForkRequest) -> Result<ForkReport, ForkError> {
        let keeper = CopyTarget {
            store: self.inner.ports.store.clone(),
            blobs: self.inner.ports.blobs.clone(),
        };
        loop {
            let slot = self.inner.slot(&asked.id);
            let _gate = slot.open_lock.lock().await;
            if !self.inner.contains(&slot) {
                // It left while this one waited; there is a new one to be had.
                continue;
            }
            let forked = if self.inner.is_shut_down.load(Ordering::SeqCst) {
                Err(ForkError::ShutDown(asked.id.clone()))
            } else if slot.link().is_some() {
                // A claim would take it from its driver.
                find(&keeper, asked).await
            } else {
                fork(&keeper, asked).await
            };
            self.inner.forget_if_empty(&slot);
            return forked;
        }
    }
}

/// A fork that is not whole is not driven.
pub(crate) fn check_complete(session: &Session) -> Result<(), StartError> {
    match (&*session.lineage, session.missing_up_to()) {
        (Lineage::Fork { of, .. }, Some(at)) => Err(StartError::Unfinished {
            session: session.id.clone(),
            of: of.clone(),
            at,
        }),
        (Lineage::Root | Lineage::Child { .. } | Lineage::Fork { .. }, _) => Ok(()),
    }
}
