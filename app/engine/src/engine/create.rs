//! Creating: records a new session without driving it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use windlass_core::{
    Incoming, Lineage, OpenSession, Seq, SessionId, Settings, decide_open, evolve_first,
    unavailable_tool,
};
use windlass_ports::{SessionClaim, StoreError, StoreErrorKind};

use super::Engine;
use crate::arguments::Checker;
use crate::error::StartError;
use crate::offline::release;
use crate::program;

impl Engine {
    /// Records a new session without driving it, for a node at its session limit. Returns once the
    /// session is durable. The next engine that opens the session starts it. Dropping the future
    /// does not cancel the creation.
    ///
    /// # Errors
    /// As [`Engine::open`] of a new session, except [`StartError::Busy`].
    pub async fn create(&self, id: &SessionId, opening: OpenSession) -> Result<(), StartError> {
        let (engine, session) = (self.clone(), id.clone());
        // A task of its own: a dropped future must not leave a claim.
        let creating = async move { engine.create_complete(&session, opening).await };
        match tokio::spawn(creating).await {
            Ok(created) => created,
            Err(error) => {
                let context = format!(
                    "creating session {id}: {error}, which is a defect of the store adapter unless \
                     the runtime is shutting down"
                );
                let error = StoreError::new(StoreErrorKind::Io, context);
                Err(StartError::Store(error))
            }
        }
    }

    /// Checks that programs can run here with these settings.
    pub(super) fn check_programs(&self, settings: &Settings) -> Result<(), StartError> {
        match program::missing_runtime(settings, &self.inner.ports.programs) {
            Some(what) => Err(StartError::Settings(format!("{what} is not here"))),
            None => Ok(()),
        }
    }

    /// Checks that a session can be opened with these settings. A child's settings are a subset of
    /// settings that were checked here.
    pub(super) fn check_opening(&self, opening: &OpenSession) -> Result<(), StartError> {
        let lacking = match opening.lineage {
            Lineage::Root => unavailable_tool(&opening.settings.tools),
            Lineage::Fork { .. } | Lineage::Child { .. } => None,
        };
        match lacking {
            Some(stranger) => Err(StartError::Settings(stranger.to_string())),
            None => self.check_programs(&opening.settings),
        }
    }

    async fn create_complete(
        &self,
        id: &SessionId,
        opening: OpenSession,
    ) -> Result<(), StartError> {
        Checker::new(&Arc::new(opening.settings.clone())).map_err(StartError::Settings)?;
        self.check_opening(&opening)?;
        loop {
            let slot = self.inner.slot(id);
            let _gate = slot.open_lock.lock().await;
            if !self.inner.contains(&slot) {
                // The driver left while this call waited. Get the new slot.
                continue;
            }
            let created = if self.inner.is_shut_down.load(Ordering::SeqCst) {
                Err(StartError::ShutDown(id.clone()))
            } else if slot.link().is_some() {
                // A claim would supersede its driver.
                Err(StartError::Exists(id.clone()))
            } else {
                self.create_in(id, opening).await
            };
            self.inner.forget_if_empty(&slot);
            if let Err(error) = &created {
                self.inner.on_start_error(error);
            }
            return created;
        }
    }

    async fn create_in(&self, id: &SessionId, opening: OpenSession) -> Result<(), StartError> {
        let store = &self.inner.ports.store;
        let claim = store.claim(id).await?;
        let epoch = claim.epoch;
        let created = self.record_opening(id, claim, opening).await;
        release(store.as_ref(), id, epoch).await;
        created
    }

    async fn record_opening(
        &self,
        id: &SessionId,
        claim: SessionClaim,
        opening: OpenSession,
    ) -> Result<(), StartError> {
        if claim.last > Seq::ZERO {
            return Err(StartError::Exists(id.clone()));
        }
        let (store, clock) = (&self.inner.ports.store, &self.inner.ports.clock);
        let first =
            decide_open(Incoming { at: clock.now(), entropy: clock.entropy(), input: opening });
        let first = Arc::new(first.number(id, Seq::ZERO.next()));
        let invalid = |cause| StartError::InvalidFact { session: id.clone(), cause };
        evolve_first(&first).map_err(invalid)?;
        store.append(id, claim.epoch, Seq::ZERO, &[first]).await.map_err(StartError::from)
    }
}
