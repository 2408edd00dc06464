//! Actions: the outputs of a machine.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::event::{Fault, RemoteId, Timer, Token};
use crate::effect::EffectKey;
use crate::error::{Misfit, Reject};
use crate::fact::{EffectStart, Fact};
use crate::id::{CallId, Seq};
use crate::record::Recorded;
use crate::time::Timestamp;

/// An action for the shell to perform.
#[derive(Debug, Clone)]
pub enum Action {
    /// Needs nothing: for transcripts, traces, and caches of the shell.
    Note(Note),
    /// Append the facts after this position, and hand over the outcome.
    Append {
        /// Position of the last fact before them.
        after: Seq,
        /// Facts to append.
        facts: Arc<[Arc<Recorded>]>,
    },
    /// Publish facts. They are durable.
    Publish(Arc<[Arc<Recorded>]>),
    /// Starts an effect.
    Start {
        /// Identifies the run.
        key: EffectKey,
        /// Cause of the run.
        cause: Cause,
    },
    /// Cancel a running effect. One that has ended is left alone.
    Cancel {
        /// Identifies the run.
        key: EffectKey,
        /// Way in which it is to end.
        how: Cancel,
    },
    /// A sample that was asked to yield need not, if it still can.
    Continue {
        /// Identifies the run.
        key: EffectKey,
    },
    /// Stop the session that works for a call which is over.
    StopAgent {
        /// Id of the call.
        call: CallId,
    },
    /// Tell the caller that a command was taken. It is not durable yet.
    Accept {
        /// Identifies the command.
        token: Token,
        /// Position of its first fact.
        first: Seq,
    },
    /// Tell the caller that everything up to a position is durable.
    Acknowledge {
        /// Identifies the command.
        token: Token,
        /// Position that must be durable.
        at: Seq,
    },
    /// Tell the caller that a command was refused. Nothing has changed.
    Refuse {
        /// Identifies the command.
        token: Token,
        /// Reason for the refusal.
        refusal: Refusal,
    },
    /// Read the mailbox, and hand over what is in it.
    ReadMailbox {
        /// True if commands of this process wait for it.
        first: bool,
    },
    /// Reply to remote commands. What they led to is durable.
    Reply(Vec<Reply>),
    /// Sets a timer.
    SetTimer {
        /// Identifies the timer.
        timer: Timer,
        /// Its span in milliseconds.
        after_ms: u64,
    },
    /// Write a checkpoint of the current session and history. They are durable.
    Checkpoint,
    /// Let the session go. Nothing follows.
    Exit(Exit),
}

/// An observation about the machine.
#[derive(Debug, Clone)]
pub enum Note {
    /// An input was decided. These are its facts, of which there may be none.
    Decided(Vec<Arc<Recorded>>),
    /// An input was refused, and changed nothing.
    Rejected(Reject),
    /// An effect that is to wind down never began, which is decided next.
    NeverBegan(EffectKey),
}

/// The fact that caused a run, where the state does not hold all of it.
#[derive(Debug, Clone)]
pub enum Cause {
    /// The state holds all that the run needs.
    State,
    /// The fact that started the run.
    Fact(Box<Fact>),
}

impl Cause {
    /// Returns the fact that started the run, by its effect.
    #[must_use]
    pub fn start(&self) -> Option<EffectStart<'_>> {
        match self {
            Self::State => None,
            Self::Fact(fact) => fact.start(),
        }
    }
}

/// Way in which an effect is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// A sample stops if only text is streaming, and reports how far it came.
    Yield,
    /// The effect stops soon and reports how far it came.
    Wind,
    /// The effect is dropped where it is. Nobody waits for its reports.
    Drop,
}

/// Reason for refusing a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The core refused it.
    Rejected(Reject),
    /// The session is being closed.
    Closing,
    /// The session is being handed off.
    HandingOff {
        /// The reason of the hand-off.
        reason: String,
    },
    /// Remote commands cannot be replied to, and too much was said under keys since.
    Crowded,
}

/// The reply to a remote command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Identifies the command.
    pub id: RemoteId,
    /// Outcome of the command.
    pub outcome: RemoteOutcome,
}

/// The outcome of a remote command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteOutcome {
    /// The command was executed.
    Accepted {
        /// Position of its first fact; the next position where it led to none.
        first: Seq,
        /// The last position that it led to.
        last: Seq,
    },
    /// It was refused, and changed nothing.
    Refused(RemoteRefusal),
}

/// Reason for refusing a remote command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteRefusal {
    /// The core refused it.
    Rejected(Reject),
    /// It was read after its time.
    Late {
        /// The last moment at which it could be acted upon.
        until: Timestamp,
    },
    /// The shell refused it.
    Invalid(Fault),
}

/// Reason for releasing a session.
#[derive(Debug, Clone)]
pub enum Exit {
    /// Nothing needs it.
    Closed,
    /// It was handed off.
    HandedOff {
        /// The reason of the hand-off.
        reason: String,
        /// True if every effect had ended, and its report is durable.
        complete: bool,
    },
    /// Another process has claimed it.
    Superseded,
    /// Its log cannot be written.
    StoreFailed,
    /// The engine contradicted itself.
    Defect(Defect),
}

/// A contradiction of the engine with itself.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Defect {
    /// A decision does not fit the state that it was made in.
    #[error("{0}")]
    Misfit(Misfit),
    /// The session could not be recovered.
    #[error("{0}")]
    Recovery(Reject),
    /// An effect is to wind down, and that it never began is refused.
    #[error("{key} is owed, and that it never began is refused: {reject}")]
    NeverBegan {
        /// Identifies the run.
        key: EffectKey,
        /// Reason for the refusal.
        reject: Reject,
    },
    /// Reconciling does not come to an end.
    #[error("what is owed does not come to rest")]
    Restless,
}
