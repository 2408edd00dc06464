//! Events: the inputs of a machine.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::effect::EffectKey;
use crate::fact::StopTiming;
use crate::input::Input;
use crate::scope::Scope;
use crate::time::Timestamp;

/// Names a command of this process, for its acknowledgement. The shell chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandToken(pub u64);

/// Names a command that another node left, for its reply. It is the same each time it is read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RemoteCommandId(pub Arc<str>);

/// An event that a shell hands to its machine.
#[derive(Debug, Clone)]
pub enum MachineEvent {
    /// This process has taken the session over: nothing that ran before runs any more.
    Recovered,
    /// Somebody gives a command. It is accepted and acknowledged, or refused, under its token.
    Command {
        /// Identifies the acknowledgement.
        token: CommandToken,
        /// Content of the command.
        input: Input,
    },
    /// Somebody asks for an acknowledgement once everything decided so far is durable.
    Flush {
        /// Identifies the acknowledgement.
        token: CommandToken,
    },
    /// Nobody waits for this acknowledgement any more.
    Withdrawn {
        /// Identifies the acknowledgement.
        token: CommandToken,
    },
    /// The mailbox may have commands that were not read yet.
    MailboxChanged,
    /// The mailbox was read. Its commands follow, one [`MachineEvent::Remote`] each, in this order.
    MailboxRead {
        /// The commands that wait in it.
        ids: Vec<RemoteCommandId>,
    },
    /// A command of another node.
    Remote(RemoteCommand),
    /// The replies are in the mailbox.
    RemoteAcknowledged,
    /// The mailbox was not read, or did not take the replies.
    MailboxFailed {
        /// True if another process has claimed the session.
        superseded: bool,
    },
    /// The append that was under way is durable.
    Appended,
    /// The append that was under way failed.
    AppendFailed {
        /// True if another process has claimed the session.
        superseded: bool,
    },
    /// An effect reports its inputs.
    Effect {
        /// The run that reports.
        key: EffectKey,
        /// Its reports, in order.
        inputs: Vec<Input>,
        /// True if the run is over with it.
        last: bool,
    },
    /// The moment of [`Machine::deadline`](super::Machine::deadline) has come.
    Tick,
    /// The session is to be let go once it is at rest, and opens no turn until then.
    Close,
    /// Each turn is to stop, and the session is to be let go then.
    Drain {
        /// When a turn stops.
        when: StopTiming,
        /// The reason, for the record.
        reason: String,
    },
    /// The session is to be handed off with its turn open. Nothing new starts.
    HandOff {
        /// Time for running effects to end, in milliseconds.
        within_ms: u64,
        /// The reason, for those who wait.
        reason: String,
    },
    /// Nobody uses a session at rest, and nobody can begin to: it is closed.
    Released,
    /// A timer has elapsed.
    Elapsed(Timer),
    /// A checkpoint was written, with its size in bytes, or was not.
    Checkpointed {
        /// Its size; `None` where the store does not have it.
        bytes: Option<usize>,
    },
}

/// A span of time that the shell measures, each at most once at a time. Of two that are set, the
/// one that ends first counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The pause after a mailbox failed.
    Mailbox,
    /// The patience of a hand-off.
    HandOff,
    /// The time that hooks of the session's end have.
    Release,
}

/// A command that another node left in the mailbox.
#[derive(Debug, Clone)]
pub struct RemoteCommand {
    /// Identifies the command.
    pub id: RemoteCommandId,
    /// Content of the command.
    pub body: RemoteBody,
}

/// The content of a remote command.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "used at once, never kept")]
pub enum RemoteBody {
    /// A command that could be read.
    Command {
        /// The scope that it acts for.
        scope: Scope,
        /// The last moment at which it may be acted upon.
        until: Timestamp,
        /// The command, under its key.
        input: Input,
        /// A reason to refuse it that the shell has found.
        fault: Option<RemoteCommandFault>,
    },
    /// A command that can never be acted upon.
    Invalid(RemoteCommandFault),
    /// A command that could not be read this time, with the reason.
    Unreadable(String),
}

/// A reason of the shell to refuse a remote command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteCommandFault {
    /// Its settings cannot be used.
    Settings(String),
    /// It is larger than a fact may be: its size in bytes.
    TooLarge(usize),
    /// It cannot be read.
    Unreadable(String),
}
