//! The mailbox port: commands for sessions that another node drives, and their acknowledgements.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use windlass_core::{Epoch, Retry, SessionId};

use crate::error::{ErrorKind, PortError};
use crate::log_signal::LogSignal;
use crate::store::{Durability, StoreErrorKind};

/// Stores commands for sessions, outside their logs, until the session's driver acknowledges them.
///
/// A node that receives a command for a session of another node puts it into the mailbox. The
/// driver is notified, reads the command, executes it, and acknowledges it; the sending node waits
/// for the acknowledgement. A command outlives its driver: the next process that claims the session
/// finds it.
///
/// Laws:
/// - *durable*: a sent command and a given acknowledgement survive the event of the declared
///   [`Durability`];
/// - *once*: the mailbox knows a command by its id until its acknowledgement expires. Sending a
///   known id again has no effect, whatever its bytes are;
/// - *in order*: commands of a session are read in the order in which they were sent, if each was
///   stored before the next was sent;
/// - *bounded*: at most [`MailboxCapabilities::max_commands`] wait in a session, also under
///   concurrent sends. One more is `Full`; a known command never is;
/// - *fenced*: only the epoch of the session's latest claim may read and acknowledge commands; any
///   other is `NotClaimed`. So a superseded driver reads nothing, and cannot acknowledge its
///   successor's commands;
/// - *one acknowledgement*: the first acknowledgement counts. It removes the command in the same
///   step;
/// - *retained*: an acknowledgement is retained for at least
///   [`MailboxCapabilities::retain_acks_ms`], and not for ever;
/// - *notified*: each stream of [`arrivals`](Self::arrivals) reports a session with a waiting
///   command within [`MailboxCapabilities::notify_within_ms`], on every node, and repeats it while
///   one waits. A waiting sender receives its acknowledgement within the same time;
/// - *erased*: [`LogStore::erase`](crate::LogStore::erase) also removes the session's commands and
///   acknowledgements. A later command is one for a new session.
#[async_trait]
pub trait Mailbox: Send + Sync + 'static {
    /// Returns the promises of this mailbox.
    fn capabilities(&self) -> MailboxCapabilities;

    /// Sends a command to a session, which need not exist. Returns once it is durable at the
    /// declared level. Needs no claim.
    ///
    /// # Errors
    /// `TooLarge`, `Full` when the session's mailbox is full; `Unavailable`, `Io`: then it may have
    /// been stored, and sending it again is safe.
    async fn send(&self, session: &SessionId, letter: &MailboxCommand) -> Result<(), MailboxError>;

    /// Returns the oldest waiting commands of a session, at most `limit`. They remain until they
    /// are acknowledged. The claim of this epoch was still valid after the read.
    ///
    /// # Errors
    /// `NotClaimed` when the epoch is not that of the latest claim; `Unavailable`, `Io`.
    async fn pending(
        &self,
        session: &SessionId,
        epoch: Epoch,
        limit: usize,
    ) -> Result<Vec<MailboxCommand>, MailboxError>;

    /// Acknowledges a command and removes it. Has no effect on a command that was already
    /// acknowledged or erased.
    ///
    /// The caller has made the acknowledged effect durable: an acceptance follows its append. An
    /// acknowledgement has at most [`MailboxCapabilities::max_command_bytes`].
    ///
    /// # Errors
    /// `NotClaimed` when the epoch is not that of the latest claim; `TooLarge`; `Unavailable`,
    /// `Io`: then it may have been stored, and repeating it is safe.
    async fn acknowledge(
        &self,
        session: &SessionId,
        epoch: Epoch,
        letter: &MailboxCommandId,
        reply: &[u8],
    ) -> Result<(), MailboxError>;

    /// Waits until a command is acknowledged; `None` once `patience` is over. Without patience it
    /// checks once. Needs no claim. Cancel-safe.
    ///
    /// # Errors
    /// `Unavailable`, `Io`.
    async fn acknowledgement(
        &self,
        session: &SessionId,
        letter: &MailboxCommandId,
        patience: Duration,
    ) -> Result<Option<Bytes>, MailboxError>;

    /// Returns the sessions for which commands arrive, from all nodes and this one. Includes
    /// sessions whose commands already wait. The caller must know which of them it drives.
    ///
    /// Must be called within a tokio runtime with I/O and time. Ends when the signal is dropped, or
    /// the mailbox and its store are.
    fn arrivals(&self) -> LogSignal;

    /// Returns up to `limit` sessions with waiting commands, in the order of their ids, after the
    /// session `after`. Fewer than `limit` means that there are no more.
    ///
    /// # Errors
    /// `Unavailable`, `Io`.
    async fn pending_sessions(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionId>, MailboxError>;
}

/// Promises of a mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MailboxCapabilities {
    /// Event that a stored command survives.
    pub durability: Durability,
    /// Most bytes of a command, and of an acknowledgement. At least 4,096.
    pub max_command_bytes: usize,
    /// Most commands that wait in one session.
    pub max_commands: usize,
    /// Longest delay of notifications of arrivals and acknowledgements, in milliseconds, while the
    /// server is reachable. Usually they are immediate.
    pub notify_within_ms: u64,
    /// Shortest retention of an acknowledgement, in milliseconds. It is removed within twice that
    /// time while a node runs.
    pub retain_acks_ms: u64,
}

/// A command for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailboxCommand {
    /// Id of the command in its session.
    pub id: MailboxCommandId,
    /// Content of the command. The mailbox does not interpret it.
    pub bytes: Bytes,
}

/// Id of a command in its session: 1 to 64 characters of `A-Z a-z 0-9 . _ -`, not starting with `.`
/// or `-`. A digest fits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MailboxCommandId(Arc<str>);

/// Error for a text that is no command id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a command id: use 1 to 64 characters of A-Z a-z 0-9 . _ -, not starting with . or -")]
pub struct InvalidMailboxCommandId;

impl MailboxCommandId {
    /// Parses a command id.
    ///
    /// # Errors
    /// [`InvalidMailboxCommandId`] when the text is empty, too long, or has another character.
    pub fn new(text: &str) -> Result<Self, InvalidMailboxCommandId> {
        match SessionId::new(text) {
            Ok(_) => Ok(Self(Arc::from(text))),
            Err(_) => Err(InvalidMailboxCommandId),
        }
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MailboxCommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Failure of a mailbox.
pub type MailboxError = PortError<MailboxErrorKind>;

/// Classes of mailbox errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailboxErrorKind {
    /// The session's mailbox is full, or the server has no room.
    Full,
    /// The command or the acknowledgement is too large.
    TooLarge,
    /// The epoch is not that of the latest claim.
    NotClaimed,
    /// The server could not be reached, or did not answer in time.
    Unavailable,
    /// The operating system or the database failed.
    Io,
}

impl ErrorKind for MailboxErrorKind {
    fn retry(&self) -> Retry {
        match self {
            Self::Full | Self::Unavailable => Retry::Soon,
            Self::TooLarge | Self::NotClaimed | Self::Io => Retry::Never,
        }
    }
}

impl From<&StoreErrorKind> for MailboxErrorKind {
    fn from(kind: &StoreErrorKind) -> Self {
        match kind {
            StoreErrorKind::Full => Self::Full,
            StoreErrorKind::Unavailable => Self::Unavailable,
            StoreErrorKind::Unknown
            | StoreErrorKind::Locked
            | StoreErrorKind::NotClaimed
            | StoreErrorKind::Conflict { .. }
            | StoreErrorKind::Invalid
            | StoreErrorKind::TooLarge
            | StoreErrorKind::Corrupt { .. }
            | StoreErrorKind::Newer
            | StoreErrorKind::WrongKey
            | StoreErrorKind::ReadOnly
            | StoreErrorKind::Unsupported
            | StoreErrorKind::Io
            | StoreErrorKind::Ended => Self::Io,
        }
    }
}

impl MailboxError {
    /// Creates the error of a full mailbox of a session.
    #[must_use]
    pub fn full(session: &SessionId, most: usize) -> Self {
        let context = format!(
            "cannot leave a command for session {session}: {most} wait already; send it again \
             when the node that drives the session has processed some"
        );
        Self::new(MailboxErrorKind::Full, context)
    }

    /// Creates the error of a command or an acknowledgement that is too large.
    #[must_use]
    pub fn too_large(session: &SessionId, bytes: usize, most: usize) -> Self {
        let context = format!(
            "a command for session {session} has {bytes} bytes, and {most} are allowed: send \
             large data as a blob, and name it in the command"
        );
        Self::new(MailboxErrorKind::TooLarge, context)
    }

    /// Creates the error of an epoch that is not that of the latest claim.
    #[must_use]
    pub fn not_claimed(session: &SessionId, epoch: Epoch, doing: &str) -> Self {
        let context = format!(
            "{doing} commands of session {session} under epoch {epoch}, which is not that of \
             its latest claim: another node drives it, or the claim was released; leave its \
             commands to that node"
        );
        Self::new(MailboxErrorKind::NotClaimed, context)
    }
}
