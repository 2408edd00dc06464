//! Checkpoints: when the fold of the log is stored.

use super::Machine;
use super::action::Action;
use crate::checkpoint::Checkpoint;
use crate::id::Seq;

/// Bytes of a checkpoint that each new fact justifies.
const BYTES_A_FACT: u64 = 256;
/// A released session writes a checkpoint after this fraction of the usual number of facts.
const RELEASE_DIVISOR: u64 = 8;

/// Schedule of checkpoints.
#[derive(Debug, Clone)]
pub(super) struct Checkpoints {
    /// Configured number of facts between checkpoints; 0 for none at all.
    target: u64,
    /// Current number of facts between checkpoints.
    every: u64,
    /// Position of the last checkpoint that was written or tried.
    last: Seq,
    /// True while one is being written.
    writing: bool,
}

impl Checkpoints {
    pub(super) fn new(every: u64, last: Seq) -> Self {
        Self { target: every, every, last, writing: false }
    }

    /// Adapts to the result of a checkpoint: large ones are written less often.
    pub(super) fn learn(&mut self, bytes: Option<usize>) {
        self.writing = false;
        self.every = match bytes {
            Some(bytes) => self.target.max(bytes as u64 / BYTES_A_FACT),
            None => self.every.saturating_mul(2),
        };
    }

    fn is_due(&self, durable: Seq, every: u64) -> bool {
        self.target > 0 && durable.0.saturating_sub(self.last.0) >= every
    }
}

impl Machine {
    /// Requests a checkpoint if it is due, none is being written, and all facts are durable. A
    /// checkpoint must not contain facts that the log may lose.
    pub(super) fn checkpoint(&mut self) {
        let due = self.checkpoints.is_due(self.durable, self.checkpoints.every);
        if due && !self.checkpoints.writing && self.is_durable() {
            self.checkpoints.last = self.durable;
            self.checkpoints.writing = true;
            self.actions.push_back(Action::Checkpoint);
        }
    }

    /// Returns the last checkpoint to write before the release, if enough facts were added.
    #[must_use]
    pub fn last_checkpoint(&self) -> Option<Checkpoint> {
        let every = (self.checkpoints.target / RELEASE_DIVISOR).max(1);
        let due = self.checkpoints.is_due(self.durable, every) && self.is_durable();
        due.then(|| self.checkpoint_now())
    }

    /// Returns the fold of everything that was decided.
    #[must_use]
    pub fn checkpoint_now(&self) -> Checkpoint {
        Checkpoint { session: self.session.clone(), history: self.history.clone() }
    }

    fn is_durable(&self) -> bool {
        self.appending.is_none() && self.unsent.is_empty()
    }
}
