//! Errors of the engine: why a session does not start, an input is not taken, a driver ended.

use std::sync::Arc;

use windlass_core::{InvalidFact, Reject, Seq, SessionId, Timestamp, TurnId};
use windlass_ports::{MailboxCommandId, MailboxError, StoreError, StoreErrorKind};

/// Error of starting, resuming or reattaching to a session.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is none of this id, or none that this scope may see.
    #[error("there is no session {0}: list them with `windlass sessions`")]
    Unknown(SessionId),
    /// There is one of this id already.
    #[error("session {0} exists already: resume it, or choose another id")]
    Exists(SessionId),
    /// It is a fork, and its log ends before the point at which it was forked: whoever forked it was
    /// stopped.
    #[error(
        "session {session} is a fork that is not whole: `windlass fork {of} --at {at} --as {session}` \
         finishes it"
    )]
    Unfinished {
        /// Id of the session.
        session: SessionId,
        /// The session that it is from.
        of: SessionId,
        /// The last position that it is to take over.
        at: Seq,
    },
    /// Another process runs it.
    #[error("{0}")]
    Locked(StoreError),
    /// This node drives as many sessions as it may.
    #[error(
        "session {session} is not opened here: this node drives {most} sessions, which is as many as \
         it may"
    )]
    Busy {
        /// Id of the session.
        session: SessionId,
        /// Most sessions that a node drives.
        most: usize,
    },
    /// Its log is not what was written.
    #[error("{0}")]
    Corrupt(StoreError),
    /// Its log reads well and does not fit together.
    #[error("session {session}: {cause}. Run `windlass verify {session}`")]
    InvalidFact {
        /// Id of the session.
        session: SessionId,
        /// Cause of the failure.
        cause: InvalidFact,
    },
    /// The settings cannot be used.
    #[error("the settings cannot be used: {0}")]
    Settings(String),
    /// The call of the parent may not open it.
    #[error("a session for a call: {0}")]
    Child(Reject),
    /// It has tools, hooks or a redaction that are not here.
    #[error(
        "session {session} is not taken up, as this is not here: {}. Start with what it was opened \
         with", .missing.join(", ")
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
    #[error("session {0} is not opened: the engine is shut down")]
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
            | StoreErrorKind::Full
            | StoreErrorKind::ReadOnly
            | StoreErrorKind::Unsupported
            | StoreErrorKind::Unavailable
            | StoreErrorKind::Io => Self::Store(error),
        }
    }
}

/// Reason for the end of a session's driver.
#[derive(Debug, thiserror::Error)]
pub enum DriverEnd {
    /// Nobody needed it any more, or the engine was shut down.
    #[error("the session was closed")]
    Closed,
    /// Another writer has taken the session over.
    #[error("another writer has taken the session over: {0}")]
    Superseded(StoreError),
    /// Its log cannot be written. What was acknowledged stands; the turn goes on when the session
    /// is opened again.
    #[error("{0}")]
    Store(StoreError),
    /// It was let go with its turn open, if there was one: the turn goes on when the session is
    /// opened again, here or elsewhere.
    #[error("the session was let go here: {reason}. Open it again to go on")]
    HandOff {
        /// Reason given for it.
        reason: String,
        /// True if what ran has ended, and what it came to is durable.
        at_rest: bool,
    },
    /// Its driver was dropped where it stood: its runtime went away, or a shutdown ran out of
    /// time. What was acknowledged stands; the turn goes on when the session is opened again.
    #[error("the session's driver was dropped: open the session again to go on")]
    Abandoned,
    /// The engine contradicted itself.
    #[error("a defect of the engine ended the session, please report it: {0}")]
    Defect(String),
}

/// Error of sending an input.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SendError {
    /// It is not possible where the session stands. Nothing changed.
    #[error("{0}")]
    Rejected(Reject),
    /// The settings cannot be used. Nothing changed.
    #[error("the settings cannot be used: {0}")]
    Settings(String),
    /// It is larger than a fact may be. Nothing changed.
    #[error("the input has {0} bytes, which is more than the store takes: say less")]
    TooLarge(usize),
    /// One of its images cannot be shown. Nothing changed in the log.
    #[error("image {number} of the input: {problem}")]
    Image {
        /// Number of the image, from 1.
        number: usize,
        /// Description and advice.
        problem: String,
    },
    /// The driver ended before the input was durable, or takes no more inputs as it is closing.
    #[error("{0}")]
    Ended(Arc<DriverEnd>),
    /// The session could not be opened for it.
    #[error("{0}")]
    Start(Arc<StartError>),
    /// Another node drives the session, and it could not be left for that one, or whether it was is
    /// not known.
    #[error("{0}. Say it again with the same key")]
    Mailbox(Arc<MailboxError>),
    /// It was left for the node that drives the session, or takes it up, and has not been acted upon
    /// yet. It stands: it will be done, unless it is refused then. Saying it again with the same key
    /// tells what became of it.
    #[error(
        "it was accepted and will be done once a node drives the session: say it again with the same \
         key to learn what became of it"
    )]
    Pending {
        /// The letter that says it.
        command: MailboxCommandId,
    },
    /// It was left for the node that drives the session, and nobody drove that before it was not to
    /// be acted upon any more. Nothing changed.
    #[error("it came too late to be acted upon: say it again if it is still meant")]
    Expired {
        /// Until when it was to be acted upon.
        until: Timestamp,
    },
    /// The node that drives the session does not understand it, or its reply is not understood here,
    /// as nodes of two releases do not always.
    #[error("the node that drives the session and this one do not understand each other: {0}")]
    Unreadable(String),
}

/// Error of awaiting the end of a turn.
#[derive(Debug, thiserror::Error)]
pub enum AwaitError {
    /// The driver ended before the turn did.
    #[error("{0}")]
    Ended(Arc<DriverEnd>),
    /// The log cannot be read.
    #[error("{0}")]
    Store(StoreError),
    /// The session has no such turn.
    #[error("the session has no turn {0}")]
    NoTurn(TurnId),
}
