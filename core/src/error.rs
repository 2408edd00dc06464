//! Errors of the core: `Reject` answers a caller, `Misfit` condemns a log.

use alloc::string::String;

use crate::effect::EffectKey;
use crate::id::Seq;

/// Why an input was refused. A reject changes nothing (law 14).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reject {
    /// The answer of a run that is no longer waited for.
    #[error("the answer of {0} came late: that run is no longer waited for")]
    Stale(EffectKey),
    /// Nothing is running that could be interrupted.
    #[error("no turn is running, so there is nothing to interrupt")]
    Idle,
    /// Nothing waits.
    #[error("no turn is running and no input waits, so there is nothing to continue")]
    NothingWaits,
    /// The turn has been asked to stop already.
    #[error("the turn has been asked to stop already")]
    Stopping,
    /// Too many inputs wait.
    #[error("no more inputs may wait ({waiting} do): let the turns before them end first")]
    QueueFull {
        /// How many wait.
        waiting: u32,
    },
    /// The input has no text.
    #[error("the input is empty: say something")]
    Empty,
    /// This key was sent before; the first input with it counts.
    #[error("an input with this key was queued at {0} already")]
    Duplicate(Seq),
    /// The decision did not fit its own state. A defect of the engine, never of the caller.
    #[error("a decision did not fit the state (a defect of the engine): {0}")]
    Defect(Misfit),
}

/// A fact that does not fit the state it is applied to: the log is not one that an engine wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the log does not fit together at {at} ({kind}): {why}")]
pub struct Misfit {
    /// The position of the fact.
    pub at: Seq,
    /// Its kind.
    pub kind: &'static str,
    /// What is wrong with it.
    pub why: String,
}
