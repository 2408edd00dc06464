//! Errors of the core: `Reject` answers a caller, `InvalidFact` reports a log that no engine wrote.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::effect::EffectKey;
use crate::id::{CallId, InputId, Seq, TurnId};

/// Reason for rejecting an input. A rejection changes nothing (law 14).
///
/// It has a stable wire form for callers on other nodes: the name in snake case, with the fields
/// under it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Reject {
    /// Answer of a run that is no longer awaited.
    #[error("the answer of {0} came late: that run is no longer waited for")]
    Stale(EffectKey),
    /// No turn is running that could be interrupted.
    #[error("no turn is running, so there is nothing to interrupt")]
    Idle,
    /// The turn that an input or an interrupt is meant for is not running.
    #[error("turn {0} is not running: it is over, or was never opened; nothing was changed")]
    TurnMismatch(TurnId),
    /// The input does not wait.
    #[error("input {0} does not wait: it was accepted, blocked or withdrawn, or never sent")]
    InputNotWaiting(InputId),
    /// The input is being accepted.
    #[error("input {0} is being accepted: it can no longer be changed or withdrawn")]
    InputLocked(InputId),
    /// A turn is open for the input.
    #[error("turn {turn} is open for input {input}: interrupt the turn first")]
    InputOpened {
        /// Id of the input.
        input: InputId,
        /// Id of the turn.
        turn: TurnId,
    },
    /// No input waits.
    #[error("no turn is running and no input waits, so there is nothing to continue")]
    NoPendingInput,
    /// The session has no conversation to compact.
    #[error("the conversation is empty, so there is nothing to compact")]
    NothingToCompact,
    /// A turn is running, so the session cannot return to an earlier point.
    #[error("turn {0} is running: interrupt it or let it end first")]
    TurnRunning(TurnId),
    /// The session cannot return to this position.
    #[error("cannot rewind to {to}: something is in progress there, or it is not part of the \
             conversation{}", nearest(*before, *after))]
    NoRewindPoint {
        /// Requested position.
        to: Seq,
        /// Nearest earlier position to which it can.
        before: Option<Seq>,
        /// Nearest later one.
        after: Option<Seq>,
    },
    /// The conversation at this position is no longer in the state: it was compacted since, or
    /// programs left too much memory.
    #[error(
        "cannot rewind to {to}: the earliest position that can be restored in place is {oldest}, \
             since the conversation was compacted or is too large; fork the session at {to} instead"
    )]
    RewindOutOfReach {
        /// Requested position.
        to: Seq,
        /// Earliest position to which the session can return.
        oldest: Seq,
    },
    /// The turn was already asked to stop.
    #[error("the turn has been asked to stop already")]
    Stopping,
    /// Too many inputs are waiting.
    #[error("no more inputs may wait ({waiting} do): let the turns before them end first")]
    QueueFull {
        /// Number of waiting inputs.
        waiting: u32,
    },
    /// The session has reached its limit of bytes.
    #[error(
        "the session has {bytes} bytes, and the limit is {limit}: begin another session, or raise \
             `session_bytes`"
    )]
    SessionFull {
        /// Size in bytes.
        bytes: u64,
        /// Largest size in bytes.
        limit: u64,
    },
    /// The input has no text.
    #[error("the input is empty: say something")]
    Empty,
    /// The key was used before. The first input with it counts; the fact of that input is at this
    /// position.
    #[error("an input with this key was taken at {0} already")]
    Duplicate(Seq),
    /// A key was given to an input that takes none, or that already has one.
    #[error("only a caller's input may have a key, and only one: leave this key out")]
    KeyNotAllowed,
    /// No question about this call is open.
    #[error("nobody is asked about call {0}: it was answered already, or never asked")]
    NoOpenQuestion(CallId),
    /// The answer is about other arguments than the open question.
    #[error("the answer is about other arguments than those of call {0}: look at it again")]
    ArgumentsMismatch(CallId),
    /// No client's result of this call is awaited.
    #[error("no result of call {0} is awaited: it has one, its time is over, or no client runs it")]
    ResultNotAwaited(CallId),
    /// The context is too large.
    #[error("the context has {bytes} bytes, and the limit is {limit}: tell the model less")]
    ContextTooLarge {
        /// Size in bytes.
        bytes: u64,
        /// Largest size in bytes.
        limit: u64,
    },
    /// The call is not running, so it cannot open a session.
    #[error("call {0} is not running, so no session can be opened for it")]
    NotRunning(CallId),
    /// No result of the call's agent is awaited.
    #[error("no detached agent of call {0} is awaited here")]
    NotDetached(CallId),
    /// Callers may not request a stop for the turn's deadline.
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
    /// No such session exists for this scope.
    #[error("there is no such session for this scope")]
    OutOfScope,
    /// The settings would allow more than the session's settings.
    #[error("the settings would allow more than the session does: {0}. Say that you mean it")]
    WidensPermissions(Cow<'static, str>),
    /// The goal has no text or no turns.
    #[error("the goal needs words, and at least one turn")]
    InvalidGoal,
    /// The title is empty, too long, or not one line.
    #[error("a title is one line of 1 to {limit} characters")]
    InvalidTitle {
        /// Most characters.
        limit: usize,
    },
    /// A user's command cannot run in this session, or not be changed, for this reason.
    #[error("the command was refused: {0}")]
    CommandRefused(Cow<'static, str>),
    /// The decision was invalid in its own state. A defect of the engine, never of the caller.
    #[error("a decision did not fit the state (a defect of the engine): {0}")]
    Defect(InvalidFact),
}

fn nearest(before: Option<Seq>, after: Option<Seq>) -> String {
    match (before, after) {
        (Some(before), Some(after)) => {
            format!(". The nearest possible positions are {before} and {after}")
        }
        (Some(one), None) | (None, Some(one)) => {
            format!(". The nearest possible position is {one}")
        }
        (None, None) => String::new(),
    }
}

/// A fact that is invalid in the state it is applied to: no engine wrote this log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(deny_unknown_fields)]
#[error("the log does not fit together at {at} ({kind}): {reason}")]
pub struct InvalidFact {
    /// Position of the fact.
    pub at: Seq,
    /// Kind of the fact.
    pub kind: Cow<'static, str>,
    /// Description of the fault.
    pub reason: String,
}
