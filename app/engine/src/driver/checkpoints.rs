//! Checkpoints: written beside the driver's work and never in its way.

use std::future::pending;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;
use windlass_core::Folded;
use windlass_core::machine::Event;

use super::Driver;
use crate::snapshot::{self, Kept};

/// Longest wait of a released session for its checkpoint.
const PATIENCE: Duration = Duration::from_secs(1);

/// The checkpoint that is being written.
pub(super) struct Checkpoints {
    /// The most bytes of one.
    limit: usize,
    under_way: JoinSet<Kept>,
}

impl Checkpoints {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            under_way: JoinSet::new(),
        }
    }

    /// Waits for the checkpoint that is being written; for ever when there is none.
    pub(super) async fn next(&mut self) -> Kept {
        match self.under_way.join_next().await {
            Some(kept) => kept.unwrap_or(Kept::Failed),
            None => pending().await,
        }
    }
}

impl Driver {
    pub(super) fn write_checkpoint(&mut self) {
        let folded = self.machine.folded();
        self.begin_checkpoint(folded);
    }

    fn begin_checkpoint(&mut self, folded: Folded) {
        let store = self.ports.store.clone();
        let writing = snapshot::keep(store, folded, self.checkpoints.limit);
        self.checkpoints.under_way.spawn(writing);
    }

    pub(super) fn on_checkpoint(&mut self, kept: &Kept) {
        let bytes = match kept {
            Kept::Bytes(bytes) => Some(*bytes),
            Kept::TooLarge | Kept::Failed => None,
        };
        self.hand_over(Event::Checkpointed { bytes });
    }

    /// Writes a last checkpoint before the session is let go, if enough was added; for a bounded
    /// time.
    pub(super) async fn write_last_checkpoint(&mut self) {
        let writing = async {
            while self.checkpoints.under_way.join_next().await.is_some() {}
            if let Some(folded) = self.machine.last_checkpoint() {
                self.begin_checkpoint(folded);
            }
            while self.checkpoints.under_way.join_next().await.is_some() {}
        };
        if timeout(PATIENCE, writing).await.is_err() {
            let session = &self.machine.session().id;
            tracing::warn!(%session, "let go before its snapshot was kept");
        }
    }
}
