//! Appending: the append that is under way, and the handling of its result.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;

use tracing::Instrument as _;
use windlass_core::machine::MachineEvent;
use windlass_core::{RecordedFact, Seq};
use windlass_ports::{StoreError, StoreErrorKind};

use super::Driver;
use crate::error::DriverEnd;

/// An append that is under way.
pub(super) type AppendFuture = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// Waits for the append that is under way. Never returns when there is none.
pub(super) async fn wait_appended(appending: &mut Option<AppendFuture>) -> Result<(), StoreError> {
    match appending {
        Some(append) => {
            let result = append.as_mut().await;
            *appending = None;
            result
        }
        None => pending().await,
    }
}

impl Driver {
    pub(super) fn append(&mut self, after: Seq, facts: Arc<[Arc<RecordedFact>]>) {
        let store = self.ports.store.clone();
        let (session, epoch) = (self.machine.session().id.clone(), self.epoch);
        let span = self.append_span(after, &facts);
        let append = async move { store.append(&session, epoch, after, &facts).await };
        self.appending = Some(Box::pin(append.instrument(span)));
    }

    pub(super) fn on_appended(&mut self, result: Result<(), StoreError>) {
        let Err(error) = result else {
            self.hand_over(MachineEvent::Appended);
            return self.close_turn_span();
        };
        let failure = append_end(error);
        let superseded = matches!(failure, DriverEnd::Superseded(_));
        self.failure = Some(failure);
        self.hand_over(MachineEvent::AppendFailed { superseded });
    }

    /// Releases the session, so that another process may claim it.
    pub(super) async fn release(&mut self) {
        // An append that is under way ends first, since its facts may be durable already.
        if let Some(append) = self.appending.take() {
            let _ = append.await;
        }
        let session = &self.machine.session().id;
        if let Err(error) = self.ports.store.release(session, self.epoch).await {
            tracing::warn!(%session, %error, "claim not released");
        }
    }
}

fn append_end(error: StoreError) -> DriverEnd {
    match &error.kind {
        StoreErrorKind::Conflict { .. } | StoreErrorKind::NotClaimed => {
            DriverEnd::Superseded(error)
        }
        StoreErrorKind::Unknown
        | StoreErrorKind::Locked
        | StoreErrorKind::Invalid
        | StoreErrorKind::TooLarge
        | StoreErrorKind::Corrupt { .. }
        | StoreErrorKind::Newer
        | StoreErrorKind::WrongKey
        | StoreErrorKind::Full
        | StoreErrorKind::ReadOnly
        | StoreErrorKind::Unsupported
        | StoreErrorKind::Unavailable
        | StoreErrorKind::Io
        | StoreErrorKind::Ended => DriverEnd::Store(error),
    }
}
