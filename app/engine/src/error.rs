//! Errors of the engine: of starting a session, of sending an input, and of a driver's end.

use std::sync::Arc;

use windlass_core::{InputId, InvalidFact, Reject, Retry, Seq, SessionId, Timestamp, TurnId};
use windlass_ports::{
    MailboxCommandId, MailboxError, MailboxErrorKind, StoreError, StoreErrorKind,
};

/// Error of starting, resuming or reattaching to a session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// No session with this id exists, or none that the scope may see.
    #[error("there is no session {0}: list them with `windlass sessions`")]
    Unknown(SessionId),
    /// A session with this id exists already.
    #[error("session {0} exists already: resume it, or choose another id")]
    Exists(SessionId),
    /// The session is a fork whose log ends before the fork position, since forking was
    /// interrupted.
    #[error(
        "session {session} is an incomplete fork: `windlass fork {of} --at {at} --as {session}` \
         completes it"
    )]
    Unfinished {
        /// Id of the session.
        session: SessionId,
        /// Source session of the fork.
        of: SessionId,
        /// Last position to copy from the source.
        at: Seq,
    },
    /// Another process drives the session.
    #[error("{0}")]
    Locked(StoreError),
    /// This node drives as many sessions as it may.
    #[error(
        "cannot open session {session} here: this node drives {most} sessions already, which is \
         its limit"
    )]
    Busy {
        /// Id of the session.
        session: SessionId,
        /// Limit on the sessions of this node.
        most: usize,
    },
    /// The log is damaged.
    #[error("{0}")]
    Corrupt(StoreError),
    /// The log is readable, but a fact in it is invalid.
    #[error("session {session}: {cause}. Run `windlass verify {session}`")]
    InvalidFact {
        /// Id of the session.
        session: SessionId,
        /// Cause of the failure.
        cause: InvalidFact,
    },
    /// The settings are unusable.
    #[error("the settings cannot be used: {0}")]
    Settings(String),
    /// The call of the parent may not open this child.
    #[error("cannot open a session for a call: {0}")]
    Child(Reject),
    /// The session has tools, hooks or a redaction that this process lacks.
    #[error(
        "cannot resume session {session}: missing here: {}. Start with what it was \
         opened with",
        .missing.join(", ")
    )]
    MissingParts {
        /// Id of the session.
        session: SessionId,
        /// Names of the missing parts.
        missing: Vec<String>,
    },
    /// The log store failed.
    #[error("{0}")]
    Store(StoreError),
    /// The engine was shut down.
    #[error("cannot open session {0}: the engine is shut down")]
    ShutDown(SessionId),
}

impl From<StoreError> for StartError {
    fn from(error: StoreError) -> Self {
        match &error.kind {
            StoreErrorKind::Locked => Self::Locked(error),
            StoreErrorKind::Corrupt { .. } => Self::Corrupt(error),
            StoreErrorKind::Unknown
            | StoreErrorKind::NotClaimed
            | StoreErrorKind::Conflict { .. }
            | StoreErrorKind::Invalid
            | StoreErrorKind::TooLarge
            | StoreErrorKind::Newer
            | StoreErrorKind::WrongKey
            | StoreErrorKind::Full
            | StoreErrorKind::ReadOnly
            | StoreErrorKind::Unsupported
            | StoreErrorKind::Unavailable
            | StoreErrorKind::Io
            | StoreErrorKind::Ended => Self::Store(error),
        }
    }
}

/// Reason for the end of a driver.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverEnd {
    /// The session has no user left, or the engine was shut down.
    #[error("the session was closed")]
    Closed,
    /// Another writer has claimed the session.
    #[error("another writer has taken the session over: {0}")]
    Superseded(StoreError),
    /// The log cannot be written. Acknowledged inputs are durable. The turn continues when the
    /// session is opened again.
    #[error("{0}")]
    Store(StoreError),
    /// The session was handed off, with its turn open if it had one. The turn continues when the
    /// session is opened again, here or elsewhere.
    #[error("the session was released here: {reason}. Open it again to continue")]
    HandOff {
        /// Reason for the hand-off.
        reason: String,
        /// True if all effects have ended and their results are durable.
        at_rest: bool,
    },
    /// The driver was dropped while it ran: its runtime ended, or a shutdown ran out of time.
    /// Acknowledged inputs are durable. The turn continues when the session is opened again.
    #[error("the session's driver was dropped: open the session again to continue")]
    Abandoned,
    /// The engine violated an invariant of its own.
    #[error("a defect of the engine ended the session, please report it: {0}")]
    Defect(String),
}

/// Error of sending an input.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The session's state does not allow the input. Nothing changed.
    #[error("{0}")]
    Rejected(Reject),
    /// The settings are unusable. Nothing changed.
    #[error("the settings cannot be used: {0}")]
    Settings(String),
    /// The input is larger than a fact may be. Nothing changed.
    #[error("the input has {0} bytes, which is more than the store accepts: shorten it")]
    TooLarge(usize),
    /// An image of the input is unusable. The log did not change.
    #[error("image {number} of the input: {problem}")]
    Image {
        /// Number of the image, from 1.
        number: usize,
        /// Description and advice.
        problem: String,
    },
    /// The driver ended before the input was durable, or is closing and accepts no more inputs.
    #[error("{0}")]
    Ended(Arc<DriverEnd>),
    /// The session could not be opened for the input.
    #[error("{0}")]
    Start(Arc<StartError>),
    /// Another node drives the session, and the command could not be stored in its mailbox, or the
    /// result of storing it is unknown.
    #[error("{0}. Send it again with the same key")]
    Mailbox(Arc<MailboxError>),
    /// The command is stored for the node that drives the session, or adopts it, and is not
    /// acknowledged yet. It will be executed unless it is rejected then. Sending it again with the
    /// same key returns its result.
    #[error(
        "the input was accepted and will be processed once a node drives the session: send it \
         again with the same key to learn its result"
    )]
    Pending {
        /// Id of the remote command.
        command: MailboxCommandId,
    },
    /// The command was stored, but no node drove the session before the command expired. Nothing
    /// changed.
    #[error("the input expired before a node processed it: send it again if it is still wanted")]
    Expired {
        /// Time until which the command was valid.
        until: Timestamp,
    },
    /// The node that drives the session cannot read the command, or this node cannot read the
    /// acknowledgement. This happens between nodes of different releases.
    #[error("the node that drives the session and this one do not understand each other: {0}")]
    Unreadable(String),
}

/// Error of awaiting the end of a turn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AwaitError {
    /// The driver ended before the turn did.
    #[error("{0}")]
    Ended(Arc<DriverEnd>),
    /// The log cannot be read.
    #[error("{0}")]
    Store(StoreError),
    /// The session does not have this turn.
    #[error("the session has no turn {0}")]
    NoTurn(TurnId),
    /// A user withdrew the input, so no turn accepts it.
    #[error("input {0} was withdrawn")]
    Withdrawn(InputId),
}

impl StartError {
    /// Returns true if another attempt may succeed although nobody repairs anything.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Locked(_) | Self::Busy { .. } => true,
            Self::Store(error) => is_transient(error),
            Self::Unknown(_)
            | Self::Exists(_)
            | Self::Unfinished { .. }
            | Self::Corrupt(_)
            | Self::InvalidFact { .. }
            | Self::Settings(_)
            | Self::Child(_)
            | Self::MissingParts { .. }
            | Self::ShutDown(_) => false,
        }
    }
}

impl DriverEnd {
    /// Returns true if the next driver may execute the command.
    fn is_transient(&self) -> bool {
        match self {
            Self::Closed | Self::Superseded(_) | Self::HandOff { .. } | Self::Abandoned => true,
            Self::Store(error) => is_transient(error),
            Self::Defect(_) => false,
        }
    }
}

impl SendError {
    /// Returns true if another attempt may succeed although nobody repairs anything.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Pending { .. } | Self::Expired { .. } => true,
            Self::Ended(ended) => ended.is_transient(),
            Self::Start(error) => error.is_transient(),
            Self::Mailbox(error) => error.kind != MailboxErrorKind::TooLarge,
            Self::Rejected(_)
            | Self::Settings(_)
            | Self::TooLarge(_)
            | Self::Image { .. }
            | Self::Unreadable(_) => false,
        }
    }
}

fn is_transient(error: &StoreError) -> bool {
    error.retry == Retry::Soon || error.kind == StoreErrorKind::Io
}
