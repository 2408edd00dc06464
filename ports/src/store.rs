//! The log store port: keeps the facts of sessions.

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{Epoch, Recorded, Seq, SessionId};

/// Keeps logs.
///
/// Laws:
/// - *atomic*: of an append, all facts are kept or none, also when the process or, at the level
///   `Power`, the machine dies in it;
/// - *contiguous*: a log is the positions 1, 2, 3, ... without a gap;
/// - *durable*: an acknowledged append survives what the declared [`Durability`] names;
/// - *fenced*: only the latest claim of a session appends to it, and only at its end;
/// - *faithful*: what is read is what was appended, byte for byte in the text form, and whatever
///   is not is an error with its position, never a shorter log. The one exception is an append
///   that was never acknowledged: a torn tail is cut off when the session is claimed, and
///   reported;
/// - *readable*: reading needs no claim, changes nothing, and works on a full disk.
#[async_trait]
pub trait LogStore: Send + Sync + 'static {
    /// What this store promises.
    fn capabilities(&self) -> StoreCapabilities;

    /// Becomes the one writer of a session, new or existing. The claim lasts until
    /// [`release`](Self::release), until a later claim, or until the process dies.
    ///
    /// A log's torn tail is cut off here.
    ///
    /// # Errors
    /// `Locked` when another process holds it, `Corrupt` when its log is, `Io`, `Full`,
    /// `ReadOnly`.
    async fn claim(&self, session: &SessionId) -> Result<Claimed, StoreError>;

    /// Gives a claim back. A claim that is no longer the latest changes nothing.
    ///
    /// # Errors
    /// `Io`.
    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError>;

    /// Appends facts after position `after`, which must be the log's last. They carry the
    /// positions that follow. Returns once they are durable at the declared level.
    ///
    /// After an error other than `Conflict`, `NotClaimed` and `Invalid` the caller does not know
    /// whether they were kept; a new claim tells.
    ///
    /// # Errors
    /// `Conflict` when `after` is not the log's last position, `NotClaimed` when the epoch is not
    /// that of the latest claim, `Invalid` when the facts are empty, of another session or not
    /// numbered on, `TooLarge`, `Full`, `Io`.
    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<Recorded>],
    ) -> Result<(), StoreError>;

    /// Reads up to `limit` facts after position `after`, oldest first. Fewer than `limit` means
    /// that the log ends there.
    ///
    /// # Errors
    /// `Unknown` when there is no such session, `Corrupt`, `Newer`, `Io`.
    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError>;

    /// Up to `limit` sessions in the order of their ids, after the session `after`.
    ///
    /// A session whose log is corrupt is listed too.
    ///
    /// # Errors
    /// `Io`.
    async fn sessions(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionHead>, StoreError>;

    /// Reads all of a session's log and checks it in every way that the store can.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    async fn verify(&self, session: &SessionId) -> Result<Verified, StoreError>;
}

/// What a store promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreCapabilities {
    /// What an acknowledged append survives.
    pub durability: Durability,
    /// The largest fact in bytes of its text form.
    pub max_fact_bytes: usize,
    /// Which writers a claim fences off.
    pub fencing: Fencing,
    /// Whether it keeps a hash chain: [`verify`](LogStore::verify) then tells its last link.
    pub chain: bool,
}

/// Which writers a claim fences off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fencing {
    /// Those of the same store object: whoever opens a second one at the same place, where there
    /// is such a thing, may damage its logs.
    Object,
    /// All: also those of another store object, in this process or another.
    Place,
}

/// What an acknowledged append survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Nothing: it goes with the store's object.
    Memory,
    /// The death of the process.
    Process,
    /// The loss of power.
    Power,
}

/// A claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The generation of this writer: larger than any before it in this store object.
    pub epoch: Epoch,
    /// The log's last position; [`Seq::ZERO`] for a new session.
    pub last: Seq,
    /// What was cut off, if anything.
    pub repaired: Option<Repair>,
}

/// A torn tail: the remains of an append that was never acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The last position that stands.
    pub kept: Seq,
    /// How many bytes were cut off.
    pub cut_bytes: u64,
}

/// A session in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionHead {
    /// Its id.
    pub id: SessionId,
}

/// A log that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The last position.
    pub last: Seq,
    /// Bytes of the log.
    pub bytes: u64,
    /// Bytes of a torn tail, which the next claim will cut off; 0 when there is none.
    pub torn_bytes: u64,
    /// The last link of the store's hash chain in hexadecimal, where it keeps one.
    pub chain: Option<String>,
}

/// Why a store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[error("{context}")]
pub struct StoreError {
    /// The class.
    pub kind: StoreErrorKind,
    /// Whether to ask again.
    pub retry: StoreRetry,
    /// What was being done to what, what went wrong, what to do.
    pub context: String,
    /// The cause.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

/// Classes of store errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// There is no such session.
    Unknown,
    /// Another process writes this session, or the whole store.
    Locked,
    /// The epoch is not that of the latest claim.
    NotClaimed,
    /// The position is not the log's last.
    Conflict {
        /// The last position.
        last: Seq,
    },
    /// The facts are not what may be appended.
    Invalid,
    /// A fact is larger than the store takes.
    TooLarge,
    /// A log is not what was written.
    Corrupt {
        /// The last position before the damage.
        after: Seq,
        /// Where in the log's bytes, where the store can tell.
        offset: Option<u64>,
    },
    /// A newer engine wrote it.
    Newer,
    /// The disk, or the quota on it, is full.
    Full,
    /// The store cannot be written to.
    ReadOnly,
    /// The operating system or the database failed.
    Io,
}

/// Whether to ask again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreRetry {
    /// It would fail again.
    Never,
    /// It may work at once.
    Now,
    /// It may work once somebody has acted.
    Later,
}

impl StoreError {
    /// An error without a cause. What is worth a retry follows from the kind.
    #[must_use]
    pub fn new(kind: StoreErrorKind, context: impl Into<String>) -> Self {
        let retry = match &kind {
            StoreErrorKind::Locked | StoreErrorKind::Full | StoreErrorKind::ReadOnly => {
                StoreRetry::Later
            }
            StoreErrorKind::Unknown
            | StoreErrorKind::NotClaimed
            | StoreErrorKind::Conflict { .. }
            | StoreErrorKind::Invalid
            | StoreErrorKind::TooLarge
            | StoreErrorKind::Corrupt { .. }
            | StoreErrorKind::Newer
            | StoreErrorKind::Io => StoreRetry::Never,
        };
        Self {
            kind,
            retry,
            context: context.into(),
            source: None,
        }
    }

    /// The same error with its cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }
}
