//! The inbox port: letters for sessions that another node drives, and the replies to them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use windlass_core::{Epoch, Retry, SessionId};

use crate::error::{ErrorKind, PortError};
use crate::log_signal::LogSignal;
use crate::store::{Durability, StoreErrorKind};

/// Keeps letters for sessions, beside their logs, until whoever drives a session has replied.
///
/// A node that is asked something of a session that another node drives leaves it as a letter. The
/// driver is told, takes the letter, acts on it, and replies; the node that left it waits for the
/// reply. A letter outlives its driver: whoever claims the session next finds it.
///
/// Laws:
/// - *durable*: a letter that was left, and a reply that was given, survive what the declared
///   [`Durability`] names;
/// - *once*: a letter is known by its id, also after the reply and for as long as that is kept. Left
///   again, with whatever bytes, it changes nothing;
/// - *in order*: letters of a session are taken in the order in which they were left, as far as one
///   was acknowledged before the next was left;
/// - *bounded*: at most [`MailboxCapabilities::max_commands`] wait in a session, and one more is `Full`,
///   also when many are left at once. A letter that is known already is never refused as `Full`;
/// - *fenced*: letters are taken and replied to under the epoch of the session's latest claim, and
///   under any other it is `NotClaimed`. So a driver that was superseded takes nothing, and says no
///   word over what its successor takes;
/// - *one reply*: the first reply stands. With it the letter is gone, in one step;
/// - *kept*: a reply is kept for at least [`MailboxCapabilities::retain_acks_ms`], and not for ever;
/// - *told*: of a session with a letter that waits, each stream of [`arrivals`](Self::arrivals) tells
///   within [`MailboxCapabilities::notify_within_ms`], at whichever object the letter was left, and tells again
///   for as long as one waits. Who waits for a reply has it within the same time;
/// - *erased*: [`LogStore::erase`](crate::LogStore::erase) takes the letters and the replies of the
///   session with it. A letter that is left later is one for a new session.
#[async_trait]
pub trait Mailbox: Send + Sync + 'static {
    /// Returns the promises of this inbox.
    fn capabilities(&self) -> MailboxCapabilities;

    /// Leaves a letter for a session, which need not exist. Returns once it is durable at the
    /// declared level. No claim is needed.
    ///
    /// # Errors
    /// `TooLarge`, `Full` when as many wait in this session as may; `Unavailable`, `Io`: then it may
    /// have been left, and leaving it again is safe.
    async fn send(&self, session: &SessionId, letter: &MailboxCommand) -> Result<(), MailboxError>;

    /// The oldest letters that wait in a session, at most `limit`. They stay until they are replied
    /// to. The claim of this epoch stood when they had been read.
    ///
    /// # Errors
    /// `NotClaimed` when the epoch is not that of the latest claim; `Unavailable`, `Io`.
    async fn pending(
        &self,
        session: &SessionId,
        epoch: Epoch,
        limit: usize,
    ) -> Result<Vec<MailboxCommand>, MailboxError>;

    /// Replies to a letter, which is gone with that. To one that is not there, since it was replied
    /// to or erased, it changes nothing.
    ///
    /// Whoever replies has made durable what the reply says: an acceptance is replied after the
    /// append. A reply has at most [`MailboxCapabilities::max_command_bytes`].
    ///
    /// # Errors
    /// `NotClaimed` when the epoch is not that of the latest claim; `TooLarge`; `Unavailable`, `Io`:
    /// then it may have been given, and giving it again is safe.
    async fn acknowledge(
        &self,
        session: &SessionId,
        epoch: Epoch,
        letter: &MailboxCommandId,
        reply: &[u8],
    ) -> Result<(), MailboxError>;

    /// Waits until a letter has a reply, or until `patience` is over; then `None`. With no patience it
    /// looks once. No claim is needed. Whoever waits may be dropped at any time.
    ///
    /// # Errors
    /// `Unavailable`, `Io`.
    async fn acknowledgement(
        &self,
        session: &SessionId,
        letter: &MailboxCommandId,
        patience: Duration,
    ) -> Result<Option<Bytes>, MailboxError>;

    /// Sessions for which letters came, from all nodes and this one, from now on; those in which
    /// letters wait already are told too. Which of them are driven here, whoever asks must know.
    ///
    /// Is called within a tokio runtime that has I/O and time. It tells until it is dropped, or the
    /// inbox and its store are.
    fn arrivals(&self) -> LogSignal;

    /// Up to `limit` of the sessions in which letters wait, in the order of their ids, after the
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

/// Promises of an inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MailboxCapabilities {
    /// Event that an acknowledged letter survives.
    pub durability: Durability,
    /// The most bytes of a letter, and of a reply. At least 4,096.
    pub max_command_bytes: usize,
    /// The most letters that wait in one session.
    pub max_commands: usize,
    /// Within how many milliseconds arrivals and replies are told at the latest, while the server
    /// can be reached. Usually they are told at once.
    pub notify_within_ms: u64,
    /// For how many milliseconds a reply is kept at least. It goes within as long again, while there
    /// is a node.
    pub retain_acks_ms: u64,
}

/// A letter for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailboxCommand {
    /// Id of the letter in its session.
    pub id: MailboxCommandId,
    /// Content of the letter. The inbox does not interpret it.
    pub bytes: Bytes,
}

/// Id of a letter in its session: 1 to 64 characters of `A-Z a-z 0-9 . _ -`, not starting with `.` or `-`.
/// A digest fits in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MailboxCommandId(Arc<str>);

/// A text that is no letter id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a command id: use 1 to 64 characters of A-Z a-z 0-9 . _ -, not starting with . or -")]
pub struct InvalidMailboxCommandId;

impl MailboxCommandId {
    /// Parses a letter id.
    ///
    /// # Errors
    /// [`InvalidMailboxCommandId`] when the text is empty, too long, or has another character.
    pub fn new(text: &str) -> Result<Self, InvalidMailboxCommandId> {
        match SessionId::new(text) {
            Ok(_) => Ok(Self(Arc::from(text))),
            Err(_) => Err(InvalidMailboxCommandId),
        }
    }

    /// The id as text.
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

/// Failure of an inbox.
pub type MailboxError = PortError<MailboxErrorKind>;

/// Classes of inbox errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailboxErrorKind {
    /// As many letters wait in this session as may, or the server has no room.
    Full,
    /// The letter or the reply has more bytes than are taken.
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
            | StoreErrorKind::ReadOnly
            | StoreErrorKind::Unsupported
            | StoreErrorKind::Io => Self::Io,
        }
    }
}

impl MailboxError {
    /// As many letters wait in a session as may.
    #[must_use]
    pub fn full(session: &SessionId, most: usize) -> Self {
        let context = format!(
            "cannot leave a command for session {session}: {most} wait already; send it again \
             when the node that drives the session has processed some"
        );
        Self::new(MailboxErrorKind::Full, context)
    }

    /// A letter or a reply has more bytes than are taken.
    #[must_use]
    pub fn too_large(session: &SessionId, bytes: usize, most: usize) -> Self {
        let context = format!(
            "a command for session {session} has {bytes} bytes, and {most} are allowed: send \
             large data as a blob, and name it in the command"
        );
        Self::new(MailboxErrorKind::TooLarge, context)
    }

    /// The epoch is not that of the latest claim.
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
