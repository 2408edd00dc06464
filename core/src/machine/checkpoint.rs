//! Checkpoints: when the fold of the log is written beside it.

use super::Machine;
use super::action::Action;
use crate::checkpoint::Checkpoint;
use crate::id::Seq;

/// Bytes of a checkpoint that one fact pays for.
const BYTES_A_FACT: u64 = 256;
/// A session that is let go writes a checkpoint after this part of the facts that one that runs
/// does.
const RELEASE_DIVISOR: u64 = 8;

/// When the next checkpoint is written.
#[derive(Debug, Clone)]
pub(super) struct Checkpoints {
    /// Facts after which one is meant to be written; 0 for none at all.
    target: u64,
    /// Facts after which one is written.
    every: u64,
    /// Position of the last that was written, or tried.
    last: Seq,
    /// One is being written.
    writing: bool,
}

impl Checkpoints {
    pub(super) fn new(every: u64, last: Seq) -> Self {
        Self {
            target: every,
            every,
            last,
            writing: false,
        }
    }

    /// Learns from a checkpoint that was written, or was not: large ones are written less often.
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
    /// Has a checkpoint written, if it is time, none is being written, and everything is durable:
    /// facts that are lost would come back with it.
    pub(super) fn checkpoint(&mut self) {
        let due = self
            .checkpoints
            .is_due(self.durable, self.checkpoints.every);
        if due && !self.checkpoints.writing && self.is_durable() {
            self.checkpoints.last = self.durable;
            self.checkpoints.writing = true;
            self.actions.push_back(Action::Checkpoint);
        }
    }

    /// Returns the last checkpoint to write before the session is let go, if enough was added.
    #[must_use]
    pub fn last_checkpoint(&self) -> Option<Checkpoint> {
        let every = (self.checkpoints.target / RELEASE_DIVISOR).max(1);
        let due = self.checkpoints.is_due(self.durable, every) && self.is_durable();
        due.then(|| self.checkpoint_now())
    }

    /// The fold of everything that was decided.
    #[must_use]
    pub fn checkpoint_now(&self) -> Checkpoint {
        Checkpoint {
            session: self.session.clone(),
            history: self.history.clone(),
        }
    }

    fn is_durable(&self) -> bool {
        self.appending.is_none() && self.unsent.is_empty()
    }
}
