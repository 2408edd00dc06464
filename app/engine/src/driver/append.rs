//! Appending: the append that is under way, and what it comes to.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;

use tracing::{Instrument as _, info_span};
use windlass_core::machine::Event;
use windlass_core::{Recorded, Seq};
use windlass_ports::{StoreError, StoreErrorKind};

use super::Driver;
use crate::error::Ended;

/// An append that is under way.
pub(super) type Appending = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// Waits for the append that is under way; for ever when there is none.
pub(super) async fn appended(appending: &mut Option<Appending>) -> Result<(), StoreError> {
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
    pub(super) fn append(&mut self, after: Seq, facts: Arc<[Arc<Recorded>]>) {
        let store = self.ports.store.clone();
        let (session, epoch) = (self.machine.session().id.clone(), self.epoch);
        let turn = self.machine.session().turn().map(|turn| turn.id.0);
        let span = info_span!("append", %session, turn, after = after.0, facts = facts.len());
        let append = async move { store.append(&session, epoch, after, &facts).await };
        self.appending = Some(Box::pin(append.instrument(span)));
    }

    pub(super) fn on_appended(&mut self, result: Result<(), StoreError>) {
        let Err(error) = result else {
            return self.hand_over(Event::Appended);
        };
        let failure = ended(error);
        let superseded = matches!(failure, Ended::Superseded(_));
        self.failure = Some(failure);
        self.hand_over(Event::AppendFailed { superseded });
    }

    /// Lets the session go, so that another process may have it.
    pub(super) async fn release(&mut self) {
        // An append that is under way ends first: what it holds may be durable already.
        if let Some(append) = self.appending.take() {
            let _ = append.await;
        }
        let session = &self.machine.session().id;
        if let Err(error) = self.ports.store.release(session, self.epoch).await {
            tracing::warn!(%session, %error, "claim not given back");
        }
    }
}

fn ended(error: StoreError) -> Ended {
    match &error.kind {
        StoreErrorKind::Conflict { .. } | StoreErrorKind::NotClaimed => Ended::Superseded(error),
        StoreErrorKind::Unknown
        | StoreErrorKind::Locked
        | StoreErrorKind::Invalid
        | StoreErrorKind::TooLarge
        | StoreErrorKind::Corrupt { .. }
        | StoreErrorKind::Newer
        | StoreErrorKind::Full
        | StoreErrorKind::ReadOnly
        | StoreErrorKind::Unsupported
        | StoreErrorKind::Unavailable
        | StoreErrorKind::Io => Ended::Store(error),
    }
}
