//! Checkpoints: written concurrently with the driver's work, without delaying it.

use std::future::pending;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;
use windlass_core::Checkpoint;
use windlass_core::machine::MachineEvent;

use super::Driver;
use crate::checkpoint::{self, CheckpointWrite};

/// Longest wait of a released session for its checkpoint.
const LAST_WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// Checkpoint that is being written.
pub(super) struct Checkpoints {
    /// Most bytes of a checkpoint.
    limit: usize,
    writes: JoinSet<CheckpointWrite>,
}

impl Checkpoints {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, writes: JoinSet::new() }
    }

    /// Waits for the checkpoint that is being written. Never returns when there is none.
    pub(super) async fn next(&mut self) -> CheckpointWrite {
        match self.writes.join_next().await {
            Some(kept) => kept.unwrap_or(CheckpointWrite::Failed),
            None => pending().await,
        }
    }
}

impl Driver {
    pub(super) fn write_checkpoint(&mut self) {
        let folded = self.machine.checkpoint_now();
        self.begin_checkpoint(folded);
    }

    fn begin_checkpoint(&mut self, folded: Checkpoint) {
        let store = self.ports.store.clone();
        let writing = checkpoint::write(store, folded, self.checkpoints.limit);
        self.checkpoints.writes.spawn(writing);
    }

    pub(super) fn on_checkpoint(&mut self, kept: &CheckpointWrite) {
        let bytes = match kept {
            CheckpointWrite::Written(bytes) => Some(*bytes),
            CheckpointWrite::TooLarge | CheckpointWrite::Failed => None,
        };
        self.hand_over(MachineEvent::Checkpointed { bytes });
    }

    /// Writes a last checkpoint before the session is released, if enough facts were added. Waits
    /// for a bounded time.
    pub(super) async fn write_last_checkpoint(&mut self) {
        let writing = async {
            while self.checkpoints.writes.join_next().await.is_some() {}
            if let Some(folded) = self.machine.last_checkpoint() {
                self.begin_checkpoint(folded);
            }
            while self.checkpoints.writes.join_next().await.is_some() {}
        };
        if timeout(LAST_WRITE_TIMEOUT, writing).await.is_err() {
            let session = &self.machine.session().id;
            tracing::warn!(%session, "released before its checkpoint was stored");
        }
    }
}
