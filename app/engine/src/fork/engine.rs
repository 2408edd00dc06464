//! Forking in an engine, which may be driving the new session.

use std::sync::atomic::Ordering;

use windlass_core::{Lineage, Scope, Seq, Session, SessionId};
use windlass_ports::{StoreError, StoreErrorKind};

use super::{ForkError, ForkReport, ForkRequest, find, fork};
use crate::copy::CopyTarget;
use crate::engine::Engine;
use crate::error::StartError;

impl Engine {
    /// Forks a session: a new session, `id`, continues a copy of the log of `of` up to the position
    /// `at`, with its blobs, in the same store.
    ///
    /// The source is read up to its durable end without a claim, so it may run here or elsewhere
    /// during the fork. It can be forked at a position where nothing is under way: between turns,
    /// and in a turn where a sample and its calls have ended. A turn that is open there is settled
    /// in the fork, as interrupted. Inputs that wait there wait in the fork too, and so does a goal,
    /// until an input or a `continue` arrives: a fork begins held. Its settings are those of that
    /// position. The fork belongs to `scope`; if that is the system, to the source's owner.
    ///
    /// Forking again with the same arguments returns the same result, even when the fork has
    /// continued since. No engine opens an incomplete fork, and forking again completes it.
    /// Dropping the future does not cancel the fork.
    ///
    /// # Errors
    /// [`ForkError`]: unknown (also when `scope` may not see it), a position that the log does not
    /// have or at which something is under way, more bytes than
    /// [`Config::fork_bytes`](crate::Config::fork_bytes), an id that is taken, a failing store, or an engine
    /// that was shut down.
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
            max_bytes: self.inner.config.fork_bytes,
        };
        let engine = self.clone();
        // A task of its own: a dropped future must not leave a claim.
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
                // The driver left while this call waited. Get the new slot.
                continue;
            }
            let forked = if self.inner.is_shut_down.load(Ordering::SeqCst) {
                Err(ForkError::ShutDown(asked.id.clone()))
            } else if slot.link().is_some() {
                // A claim would supersede its driver.
                find(&keeper, asked).await
            } else {
                fork(&keeper, asked).await
            };
            self.inner.forget_if_empty(&slot);
            return forked;
        }
    }
}

/// Returns an error for an incomplete fork, which must not be driven.
pub(crate) fn check_complete(session: &Session) -> Result<(), StartError> {
    match (&*session.lineage, session.missing_up_to()) {
        (Lineage::Fork { of, .. }, Some(at)) => {
            Err(StartError::Unfinished { session: session.id.clone(), of: of.clone(), at })
        }
        (Lineage::Root | Lineage::Child { .. } | Lineage::Fork { .. }, _) => Ok(()),
    }
}
