//! Actions: the outputs of a machine.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::event::{CommandToken, RemoteCommandFault, RemoteCommandId, Timer};
use crate::effect::EffectKey;
use crate::error::{InvalidFact, Reject};
use crate::fact::{EffectStart, Fact};
use crate::id::{CallId, Seq};
use crate::record::RecordedFact;
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
        facts: Arc<[Arc<RecordedFact>]>,
    },
    /// Publish facts. They are durable.
    Publish(Arc<[Arc<RecordedFact>]>),
    /// Starts an effect.
    Start {
        /// Identifies the run.
        key: EffectKey,
        /// Cause of the run.
        cause: RunCause,
    },
    /// Cancel a running effect. One that has ended is left alone.
    Cancel {
        /// Identifies the run.
        key: EffectKey,
        /// Way in which it is to end.
        mode: CancelMode,
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
        token: CommandToken,
        /// Position of its first fact.
        first: Seq,
    },
    /// Tell the caller that everything up to a position is durable.
    Acknowledge {
        /// Identifies the command.
        token: CommandToken,
        /// Position that must be durable.
        at: Seq,
    },
    /// Tell the caller that a command was refused. Nothing has changed.
    Refuse {
        /// Identifies the command.
        token: CommandToken,
        /// Reason for the refusal.
        refusal: CommandRefusal,
    },
    /// Read the mailbox, and hand over what is in it.
    ReadMailbox {
        /// True if commands of this process wait for it.
        first: bool,
    },
    /// Reply to remote commands. What they led to is durable.
    AcknowledgeRemote(Vec<RemoteAcknowledgement>),
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
    Exit(ExitReason),
}

/// An observation about the machine.
#[derive(Debug, Clone)]
pub enum Note {
    /// An input was decided. These are its facts, of which there may be none.
    Decided(Vec<Arc<RecordedFact>>),
    /// An input was refused, and changed nothing.
    Rejected(Reject),
    /// An effect that is to wind down never began, which is decided next.
    NeverStarted(EffectKey),
}

/// The fact that caused a run, where the state does not hold all of it.
#[derive(Debug, Clone)]
pub enum RunCause {
    /// The state holds all that the run needs.
    State,
    /// The fact that started the run.
    Fact(Box<Fact>),
}

impl RunCause {
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
pub enum CancelMode {
    /// A sample stops if only text is streaming, and reports how far it came.
    Yield,
    /// The effect stops soon and reports how far it came.
    Graceful,
    /// The effect is dropped where it is. Nobody waits for its reports.
    Drop,
}

/// Reason for refusing a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandRefusal {
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
    KeysExhausted,
}

/// The reply to a remote command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteAcknowledgement {
    /// Identifies the command.
    pub id: RemoteCommandId,
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
    Expired {
        /// The last moment at which it could be acted upon.
        until: Timestamp,
    },
    /// The shell refused it.
    Invalid(RemoteCommandFault),
}

/// Reason for releasing a session.
#[derive(Debug, Clone)]
pub enum ExitReason {
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
    Defect(EngineDefect),
}

/// A contradiction of the engine with itself.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EngineDefect {
    /// A decision does not fit the state that it was made in.
    #[error("{0}")]
    InvalidFact(InvalidFact),
    /// The session could not be recovered.
    #[error("{0}")]
    Recovery(Reject),
    /// An effect is to wind down, and that it never began is refused.
    #[error("{key} is owed, and that it never began is refused: {reject}")]
    NeverStarted {
        /// Identifies the run.
        key: EffectKey,
        /// Reason for the refusal.
        reject: Reject,
    },
    /// Reconciling does not come to an end.
    #[error("what is owed does not come to rest")]
    NotConverging,
}
