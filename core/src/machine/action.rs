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

/// Action for the shell to perform.
#[derive(Debug, Clone)]
pub enum Action {
    /// Requires no action: for transcripts, traces, and caches of the shell.
    Note(Note),
    /// Append the facts after this position, and report the outcome.
    Append {
        /// Position of the last fact before them.
        after: Seq,
        /// Facts to append.
        facts: Arc<[Arc<RecordedFact>]>,
    },
    /// Publish these durable facts.
    Publish(Arc<[Arc<RecordedFact>]>),
    /// Start an effect.
    Start {
        /// Identifies the run.
        key: EffectKey,
        /// Cause of the run.
        cause: RunCause,
    },
    /// Cancel a running effect. Ignore one that has ended.
    Cancel {
        /// Identifies the run.
        key: EffectKey,
        /// Kind of the cancellation.
        mode: CancelMode,
    },
    /// Let a sample continue that was asked to yield, if it still can.
    Continue {
        /// Identifies the run.
        key: EffectKey,
    },
    /// Stop the child session of a call that has ended.
    StopAgent {
        /// Id of the call.
        call: CallId,
    },
    /// Report to the caller that a command was accepted. It is not durable yet.
    Accept {
        /// Identifies the command.
        token: CommandToken,
        /// Position of its first fact.
        first: Seq,
    },
    /// Report to the caller that all facts up to a position are durable.
    Acknowledge {
        /// Identifies the command.
        token: CommandToken,
        /// Position that must be durable.
        at: Seq,
    },
    /// Report to the caller that a command was refused. Nothing has changed.
    Refuse {
        /// Identifies the command.
        token: CommandToken,
        /// Reason for the refusal.
        refusal: CommandRefusal,
    },
    /// Read the mailbox, and hand over its commands.
    ReadMailbox {
        /// True if commands of this process wait for this read.
        first: bool,
    },
    /// Acknowledge remote commands. Their facts are durable.
    AcknowledgeRemote(Vec<RemoteAcknowledgement>),
    /// Set a timer.
    SetTimer {
        /// Identifies the timer.
        timer: Timer,
        /// Its span in milliseconds.
        after_ms: u64,
    },
    /// Write a checkpoint of the current session and history, which are durable.
    Checkpoint,
    /// Release the session. No action follows.
    Exit(ExitReason),
}

/// An observation about the machine.
#[derive(Debug, Clone)]
pub enum Note {
    /// An input was decided. The list of its facts may be empty.
    Decided(Vec<Arc<RecordedFact>>),
    /// An input was refused, and changed nothing.
    Rejected(Reject),
    /// A cancelled effect never started; this is decided next.
    NeverStarted(EffectKey),
}

/// Cause of a run, with its fact where the state does not hold all of it.
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

/// Kind of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelMode {
    /// A sample stops if only text is streaming, and reports its progress.
    Yield,
    /// The effect stops soon and reports its progress.
    Graceful,
    /// The effect is dropped at once. Its reports are not awaited.
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
        /// Reason of the hand-off.
        reason: String,
    },
    /// Remote commands cannot be acknowledged, and too many keys were used since.
    KeysExhausted,
}

/// Acknowledgement of a remote command.
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
        /// Position of its first fact; the next position if it led to none.
        first: Seq,
        /// Last position that it led to.
        last: Seq,
    },
    /// The command was refused, and changed nothing.
    Refused(RemoteRefusal),
}

/// Reason for refusing a remote command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteRefusal {
    /// The core refused it.
    Rejected(Reject),
    /// The command was read after it expired.
    Expired {
        /// Time of its expiry.
        until: Timestamp,
    },
    /// The shell refused it.
    Invalid(RemoteCommandFault),
}

/// Reason for releasing a session.
#[derive(Debug, Clone)]
pub enum ExitReason {
    /// The session is not in use.
    Closed,
    /// The session was handed off.
    HandedOff {
        /// Reason of the hand-off.
        reason: String,
        /// True if every effect had ended, with a durable report.
        complete: bool,
    },
    /// Another process has claimed the session.
    Superseded,
    /// The session's log cannot be written.
    StoreFailed,
    /// The engine detected a defect of its own.
    Defect(EngineDefect),
}

/// A defect that the engine detected in itself.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EngineDefect {
    /// A decision is invalid in the state that it was made in.
    #[error("{0}")]
    InvalidFact(InvalidFact),
    /// The session could not be recovered.
    #[error("{0}")]
    Recovery(Reject),
    /// The report that a cancelled effect never started was rejected.
    #[error("{key} is owed, and that it never began is refused: {reject}")]
    NeverStarted {
        /// Identifies the run.
        key: EffectKey,
        /// Reason for the refusal.
        reject: Reject,
    },
    /// Reconciling does not terminate.
    #[error("what is owed does not come to rest")]
    NotConverging,
}
