//! Events: the inputs of a machine.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::ceiling::Ceiling;
use crate::effect::EffectKey;
use crate::fact::{CallRules, StopTiming};
use crate::input::Input;
use crate::scope::Scope;
use crate::time::Timestamp;

/// Identifies a command of this process, for its acknowledgement. The shell chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandToken(pub u64);

/// Identifies a command of another node, for its acknowledgement. Each read returns the same id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RemoteCommandId(pub Arc<str>);

/// An event that a shell hands to its machine.
#[derive(Debug, Clone)]
pub enum MachineEvent {
    /// This process claimed the session: effects of earlier processes no longer run.
    Recovered {
        /// Rules that the calls of [`Machine::calls_to_match`](super::Machine::calls_to_match)
        /// match. Others are requested again where there are rules.
        matched: Vec<CallRules>,
    },
    /// A caller sends a command. It is accepted and acknowledged, or refused, under its token.
    Command {
        /// Identifies the acknowledgement.
        token: CommandToken,
        /// Content of the command.
        input: Input,
    },
    /// A caller asks for an acknowledgement once everything decided so far is durable.
    Flush {
        /// Identifies the acknowledgement.
        token: CommandToken,
    },
    /// A caller no longer waits for this acknowledgement.
    Withdrawn {
        /// Identifies the acknowledgement.
        token: CommandToken,
    },
    /// The mailbox may have unread commands.
    MailboxChanged,
    /// The mailbox was read. Its commands follow, one [`MachineEvent::Remote`] each, in this order.
    MailboxRead {
        /// Commands that wait in it.
        ids: Vec<RemoteCommandId>,
    },
    /// A command of another node.
    Remote(RemoteCommand),
    /// The mailbox stored the acknowledgements.
    RemoteAcknowledged,
    /// The mailbox was not read, or rejected the acknowledgements.
    MailboxFailed {
        /// True if another process has claimed the session.
        superseded: bool,
    },
    /// The running append is durable.
    Appended,
    /// The running append failed.
    AppendFailed {
        /// True if another process has claimed the session.
        superseded: bool,
    },
    /// An effect reports its inputs.
    Effect {
        /// Run that reports.
        key: EffectKey,
        /// Its reports, in order.
        inputs: Vec<Input>,
        /// True if the run ends with these reports.
        last: bool,
    },
    /// The time of [`Machine::deadline`](super::Machine::deadline) has come.
    Tick,
    /// The process permits at most this from now on.
    Ceiling {
        /// What it permits.
        ceiling: Arc<Ceiling>,
        /// As for [`MachineEvent::Recovered`].
        matched: Vec<CallRules>,
    },
    /// Release the session once it is idle, and open no turn until then.
    Close,
    /// Stop each turn, then release the session.
    Drain {
        /// When a turn stops.
        when: StopTiming,
        /// Reason, for the record.
        reason: String,
    },
    /// Hand the session off with its turn open. Nothing new starts.
    HandOff {
        /// Time for running effects to end, in milliseconds.
        within_ms: u64,
        /// Reason, for callers that wait.
        reason: String,
    },
    /// The idle session has no users and can get none: close it.
    Released,
    /// A timer has elapsed.
    Elapsed(Timer),
    /// A checkpoint was written, with its size in bytes, or failed.
    Checkpointed {
        /// Its size; `None` if the store did not write it.
        bytes: Option<usize>,
    },
}

/// A timer of the shell. At most one of each kind runs at a time; if it is set twice, the earlier
/// end counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The pause after a mailbox failed.
    Mailbox,
    /// The time limit of a hand-off.
    HandOff,
    /// The time limit for hooks on the session's end.
    Release,
}

/// A command that another node put into the mailbox.
#[derive(Debug, Clone)]
pub struct RemoteCommand {
    /// Identifies the command.
    pub id: RemoteCommandId,
    /// Body of the command.
    pub body: RemoteBody,
}

/// Body of a remote command.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "used at once, never kept")]
pub enum RemoteBody {
    /// A readable command.
    Command {
        /// Scope that it acts for.
        scope: Scope,
        /// Last time at which it may be executed.
        until: Timestamp,
        /// The command, under its key.
        input: Input,
        /// Fault that the shell found, if there is one.
        fault: Option<RemoteCommandFault>,
    },
    /// A command that can never be executed.
    Invalid(RemoteCommandFault),
    /// A command that could not be read this time, with the reason.
    Unreadable(String),
}

/// Fault of a remote command, found by the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteCommandFault {
    /// The settings are unusable.
    Settings(String),
    /// The command is larger than the largest fact: its size in bytes.
    TooLarge(usize),
    /// The command is unreadable.
    Unreadable(String),
}
