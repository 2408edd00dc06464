//! Writing: one append at a time; what is decided meanwhile goes out with the next.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use windlass_core::{Recorded, Seq};
use windlass_ports::{StoreError, StoreErrorKind};

use super::{Acked, Driver};
use crate::error::Ended;

/// An append that is under way, with the facts that it appends.
pub(super) struct Writing {
    facts: Arc<[Arc<Recorded>]>,
    append: Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>,
}

/// Waits for the append that is under way; for ever when there is none.
pub(super) async fn wrote(writing: &mut Option<Writing>) -> Result<(), StoreError> {
    match writing {
        Some(writing) => writing.append.as_mut().await,
        None => std::future::pending().await,
    }
}

impl Driver {
    /// Begins the next append, if there is something to append and none is under way.
    pub(super) fn write(&mut self) {
        if self.writing.is_some() || self.unsent.is_empty() {
            return;
        }
        let facts: Arc<[Arc<Recorded>]> = std::mem::take(&mut self.unsent).into();
        let store = self.ports.store.clone();
        let session = self.session.id.clone();
        let (epoch, after, batch) = (self.epoch, self.durable, facts.clone());
        let append = async move { store.append(&session, epoch, after, &batch).await };
        self.writing = Some(Writing {
            facts,
            append: Box::pin(append),
        });
    }

    /// The append is acknowledged: what it holds is durable, so it is published.
    pub(super) fn on_wrote(&mut self, result: Result<(), StoreError>) -> Result<(), Ended> {
        let facts = self.writing.take().map(|writing| writing.facts);
        result.map_err(ended)?;
        let facts = facts.unwrap_or_default();
        if let Some(last) = facts.last() {
            self.durable = last.seq;
        }
        self.bus.facts(&facts);
        self.acknowledge();
        Ok(())
    }

    /// Answers whoever waited for a position that is durable now.
    pub(super) fn acknowledge(&mut self) {
        while let Some((seq, _)) = self.acks.front()
            && *seq <= self.durable
        {
            let Some((seq, ack)) = self.acks.pop_front() else {
                return;
            };
            let _ = ack.send(Acked::Durable(seq));
        }
    }

    /// Lets the session go, so that another process may have it.
    pub(super) async fn release(&mut self) {
        // An append that is under way ends first: what it holds may be durable already.
        let _ = match self.writing.take() {
            Some(writing) => writing.append.await,
            None => Ok(()),
        };
        let released = self.ports.store.release(&self.session.id, self.epoch).await;
        if let Err(error) = released {
            tracing::warn!(session = %self.session.id, %error, "claim not given back");
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

/// Whether an acknowledgement of this position can be given at once.
pub(super) fn is_durable(driver: &Driver, seq: Seq) -> bool {
    seq <= driver.durable
}
