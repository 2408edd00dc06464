//! Errors of the core: `Reject` answers a caller, `InvalidFact` condemns a log.

use alloc::borrow::Cow;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::effect::EffectKey;
use crate::id::{CallId, Seq, TurnId};

/// Reason for rejecting an input. A rejection changes nothing (law 14).
///
/// It has a wire form, which is stable, for whoever is told on another node: the name in snake case,
/// and under it what is said besides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Reject {
    /// The answer of a run that is no longer waited for.
    #[error("the answer of {0} came late: that run is no longer waited for")]
    Stale(EffectKey),
    /// Nothing is running that could be interrupted.
    #[error("no turn is running, so there is nothing to interrupt")]
    Idle,
    /// Another turn is running than the one that was to be interrupted.
    #[error("turn {0} is not running: another turn is, and it continues")]
    TurnMismatch(TurnId),
    /// No input waits.
    #[error("no turn is running and no input waits, so there is nothing to continue")]
    NoPendingInput,
    /// The turn has been asked to stop already.
    #[error("the turn has been asked to stop already")]
    Stopping,
    /// Too many inputs wait.
    #[error("no more inputs may wait ({waiting} do): let the turns before them end first")]
    QueueFull {
        /// Number of waiting inputs.
        waiting: u32,
    },
    /// The input has no text.
    #[error("the input is empty: say something")]
    Empty,
    /// This key was said before; the first input with it counts, and its fact stands here.
    #[error("an input with this key was taken at {0} already")]
    Duplicate(Seq),
    /// A key was given to what nobody says, or that has one already.
    #[error("only a caller's input may have a key, and only one: leave this key out")]
    KeyNotAllowed,
    /// No question about this call is open.
    #[error("nobody is asked about call {0}: it was answered already, or never asked")]
    NoOpenQuestion(CallId),
    /// The answer is about other arguments than those that are asked about.
    #[error("the answer is about other arguments than those of call {0}: look at it again")]
    ArgumentsMismatch(CallId),
    /// The context is too large.
    #[error("the context has {bytes} bytes, and the limit is {limit}: tell the model less")]
    ContextTooLarge {
        /// Size in bytes.
        bytes: u64,
        /// Largest size in bytes.
        limit: u64,
    },
    /// The call does not run, so nothing can act for it.
    #[error("call {0} is not running, so no session can be opened for it")]
    NotRunning(CallId),
    /// A turn's deadline is its own.
    #[error("a deadline is the turn's own affair: set `turn_ms`, or interrupt as somebody")]
    DeadlineReserved,
    /// The context has too many parts.
    #[error("the context has {parts} parts, and the limit is {limit}: join some")]
    TooManyParts {
        /// Number of parts.
        parts: usize,
        /// Most parts allowed.
        limit: usize,
    },
    /// The input shows too many images.
    #[error("the input shows {images} images, and the limit is {limit}: send some of them later")]
    TooManyImages {
        /// Number of images.
        images: usize,
        /// Most images allowed.
        limit: usize,
    },
    /// The session does not exist for this scope.
    #[error("there is no such session for this scope")]
    OutOfScope,
    /// The settings would allow more than the session's do.
    #[error("the settings would allow more than the session does: {0}. Say that you mean it")]
    WidensPermissions(Cow<'static, str>),
    /// A goal without words, or without turns.
    #[error("the goal needs words, and at least one turn")]
    InvalidGoal,
    /// The decision did not fit its own state. A defect of the engine, never of the caller.
    #[error("a decision did not fit the state (a defect of the engine): {0}")]
    Defect(InvalidFact),
}

/// A fact that does not fit the state it is applied to: the log is not one that an engine wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(deny_unknown_fields)]
#[error("the log does not fit together at {at} ({kind}): {reason}")]
pub struct InvalidFact {
    /// The position of the fact.
    pub at: Seq,
    /// Kind of the fact.
    pub kind: Cow<'static, str>,
    /// Description of the fault.
    pub reason: String,
}
