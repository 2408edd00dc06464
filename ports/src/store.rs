//! Log store port: stores the facts of sessions.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use windlass_core::{Epoch, RecordedFact, Retry, Seq, SessionId};

use crate::chain::ChainLink;
use crate::error::{ErrorKind, PortError};
use crate::summary::{SessionFilter, SessionListing};

/// The largest fact in bytes of its text form: one bound for all stores, so that a log that one of
/// them took is one that any other takes. A store reads what was written under another bound.
pub const MAX_FACT_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of the text forms of an append that every store takes; it may refuse more as `TooLarge`.
/// Whoever appends much cuts it into parts.
pub const MAX_APPEND_BYTES: usize = 64 * 1024 * 1024;

/// A session that need not be there, for whoever asks whether a store reads.
const PROBE_SESSION: &str = "ready";

/// Stores session logs.
///
/// Laws:
/// - *atomic*: of an append, all facts are kept or none, also when the process or, at the level
///   `Power`, the machine dies in it;
/// - *contiguous*: a log is the positions 1, 2, 3, ... without a gap;
/// - *durable*: an acknowledged append survives what the declared [`Durability`] names;
/// - *fenced*: only the latest claim of a session appends to it, and only at its end;
/// - *recognised*: an append that was kept although its answer was lost is not kept twice. The last
///   append of a claim, asked for again under it with the same facts at the same position, succeeds
///   and changes nothing, whatever was read in between, also while the first is still under way.
///   With other facts there, or once another append followed, it is a `Conflict`; once its claim is
///   over, `NotClaimed`;
/// - *faithful*: what is read is what was appended, byte for byte in the text form, and whatever
///   is not is an error with its position, never a shorter log. The one exception is an append
///   that was never acknowledged: a torn tail is cut off when the session is claimed, and
///   reported;
/// - *readable*: reading needs no claim, changes nothing, and works on a full disk;
/// - *declared*: what the [`StoreCapabilities`] do not promise is answered as `Unsupported`.
#[async_trait]
pub trait LogStore: Send + Sync + 'static {
    /// Returns the promises of this store.
    fn capabilities(&self) -> StoreCapabilities;

    /// Becomes the one writer of a session, new or existing. The claim lasts until
    /// [`release`](Self::release), until a later claim, or until the process dies.
    ///
    /// A log's torn tail is cut off here. A claim that ended with an error, or whose caller went away,
    /// is none: where the place may have granted it, the store gives it back as [`release`](Self::release)
    /// does.
    ///
    /// # Errors
    /// `Locked` when another process holds it, `Corrupt` when its log is, `Io`, `Full`,
    /// `ReadOnly`.
    async fn claim(&self, session: &SessionId) -> Result<SessionClaim, StoreError>;

    /// Gives a claim back. A claim that is no longer the latest changes nothing.
    ///
    /// Whatever it answers, the claim is over for this store object. Where the place could not be told,
    /// the store tells it again of itself, for as long as it is there: within two seconds of when the
    /// place would take it, or once it is asked for free sessions. Until then others are refused.
    ///
    /// # Errors
    /// `Io`, `ReadOnly`, `Unavailable`: others do not have the session yet.
    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError>;

    /// Appends facts after position `after`, which must be the log's last. They carry the
    /// positions that follow. Returns once they are durable at the declared level.
    ///
    /// After an error other than `Conflict`, `NotClaimed` and `Invalid` the caller does not know
    /// whether they were kept. The same append again, while the claim stands, or a new claim tells.
    ///
    /// # Errors
    /// `Conflict` when `after` is not the log's last position, `NotClaimed` when the epoch is not
    /// that of the latest claim, `Invalid` when the facts are empty, of another session or not
    /// numbered on, `TooLarge` when a fact has more than [`MAX_FACT_BYTES`], or all together more than
    /// the store takes, which is [`MAX_APPEND_BYTES`] at the least, `Full`, `Unavailable`, `Io`.
    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
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
    ) -> Result<Vec<RecordedFact>, StoreError>;

    /// Checks that the store answers and would accept an append, as far as that shows without one.
    ///
    /// It changes nothing and needs no claim. Load balancers call it all the time, so it costs no more than a small
    /// read. The default implementation is one.
    ///
    /// # Errors
    /// `Unavailable`, `Io` when the store does not answer, `ReadOnly`, `Full` when it reports that it accepts no
    /// appends.
    async fn ready(&self) -> Result<(), StoreError> {
        let Ok(session) = SessionId::new(PROBE_SESSION) else {
            return Ok(());
        };
        match self.read(&session, Seq::ZERO, 1).await {
            Err(error)
                if matches!(
                    error.kind,
                    StoreErrorKind::Unavailable
                        | StoreErrorKind::Io
                        | StoreErrorKind::ReadOnly
                        | StoreErrorKind::Full
                ) =>
            {
                Err(error)
            }
            // It answers, whatever it says of one session.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Up to `limit` of the sessions that a filter takes, in the order of their ids, after the
    /// session `after`. Fewer than `limit` means that there are no more.
    ///
    /// A session whose log is corrupt is listed too, without a summary, where the filter takes all.
    ///
    /// # Errors
    /// `Io`.
    async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionListing>, StoreError>;

    /// Reads all of a session's log and checks it in every way that the store can.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    async fn verify(&self, session: &SessionId) -> Result<LogVerification, StoreError>;

    /// Waits until a session's log ends after position `after`, or until `patience` is over, and
    /// answers the last position. Needs no claim. Whoever waits is woken by an append of this store
    /// object that goes beyond `after`, and by one of another writer within the declared
    /// [`StoreCapabilities::tail_delay_ms`]. A session that is erased meanwhile may show only once the patience
    /// is over.
    ///
    /// # Errors
    /// `Unknown` when there is no such session, `Unsupported`, `Corrupt`, `Io`.
    async fn tail(
        &self,
        session: &SessionId,
        _after: Seq,
        _patience: Duration,
    ) -> Result<Seq, StoreError> {
        Err(StoreError::unsupported(session, "following logs"))
    }

    /// Erases a session: its log, its summary, its snapshot. Afterwards there is no such session, and
    /// nothing of what it said is in what the store keeps: its files, or the tables and streams of its
    /// server. What a server keeps besides until its own upkeep (free space, its own log, backups) the
    /// store's documentation says. The claim is over; a new one begins a new session.
    ///
    /// # Errors
    /// `NotClaimed` when the epoch is not that of the latest claim, `Unsupported`, `Full`, `Io`.
    async fn erase(&self, session: &SessionId, _epoch: Epoch) -> Result<(), StoreError> {
        Err(StoreError::unsupported(session, "erasing sessions"))
    }

    /// Keeps a snapshot of what a session's log folds to, in place of the one before, of whatever
    /// position and version that is. It is a cache: losing it loses nothing, so it need not be
    /// durable, and a claim is not needed.
    ///
    /// # Errors
    /// `Unknown` when there is no such session, `Invalid` when the snapshot is of a position behind
    /// the log's last, `TooLarge`, `Unsupported`, `Full`, `Io`.
    async fn write_checkpoint(
        &self,
        session: &SessionId,
        _snapshot: &StoredCheckpoint,
    ) -> Result<(), StoreError> {
        Err(StoreError::unsupported(session, "keeping snapshots"))
    }

    /// The snapshot that is kept of a session, if there is one of this version that the log still
    /// bears out: the log has, at the snapshot's position, the link that it had when it was kept.
    /// One that is damaged, of another version or of another log is none.
    ///
    /// # Errors
    /// `Unknown` when there is no such session, `Unsupported`, `Io`.
    async fn read_checkpoint(
        &self,
        session: &SessionId,
        _version: &str,
    ) -> Result<Option<StoredCheckpoint>, StoreError> {
        Err(StoreError::unsupported(session, "keeping snapshots"))
    }
}

/// Promises of a log store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreCapabilities {
    /// Event that an acknowledged append survives.
    pub durability: Durability,
    /// The largest fact that is appended, in bytes of its text form: [`MAX_FACT_BYTES`].
    pub max_fact_bytes: usize,
    /// Writers that a claim fences off.
    pub fencing: Fencing,
    /// Within how many milliseconds [`tail`](LogStore::tail) tells what other writers append; `None`
    /// when it follows no logs.
    pub tail_delay_ms: Option<u64>,
    /// True if the store can [`erase`](LogStore::erase).
    pub erase: bool,
    /// The most bytes of a snapshot; `None` when it keeps none.
    pub max_checkpoint_bytes: Option<usize>,
}

/// Writers that a claim fences off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fencing {
    /// Those of the same store object: whoever opens a second one at the same place, where there
    /// is such a thing, may damage its logs.
    Object,
    /// All: also those of another store object, in this process or another.
    AllWriters,
}

/// Event that an acknowledged append survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Nothing: it goes with the store's object.
    Memory,
    /// The death of the process.
    Process,
    /// The loss of power.
    Power,
}

/// Claim of a session by its one writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionClaim {
    /// The generation of this writer: larger than any before it in this store object, also those of
    /// sessions that were erased. Where several store objects may claim at one place, so that an
    /// append of one may still be on its way when another claims, it is larger than any before it of
    /// this session in all of them, also before they were opened again. Where a second one is refused
    /// as `Locked`, a claim ends with its store object, and numbers may begin anew in the next.
    pub epoch: Epoch,
    /// The log's last position; [`Seq::ZERO`] for a new session.
    pub last: Seq,
    /// Torn tail that was cut off, if any.
    pub repaired: Option<TailRepair>,
}

/// A torn tail: the remains of an append that was never acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TailRepair {
    /// The last position that stands.
    pub last: Seq,
    /// Number of bytes that were cut off.
    pub cut_bytes: u64,
}

/// State that a log folds to, up to a position. The store does not interpret it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCheckpoint {
    /// The last position that it holds.
    pub seq: Seq,
    /// Version of the writer and of the form. Another version ignores the snapshot.
    pub version: String,
    /// Encoded state of the session.
    pub bytes: Vec<u8>,
}

/// A log that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogVerification {
    /// Last position of the log.
    pub last: Seq,
    /// Bytes of the log.
    pub bytes: u64,
    /// Bytes of a torn tail, which the next claim will cut off; 0 when there is none.
    pub torn_bytes: u64,
    /// The last link of the log's hash chain.
    pub chain: ChainLink,
}

/// Failure of a log store.
pub type StoreError = PortError<StoreErrorKind>;

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
        /// Last position of the log.
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
        /// Position in the bytes of the log, if the store knows it.
        offset: Option<u64>,
    },
    /// A newer engine wrote it.
    Newer,
    /// The disk, or the quota on it, is full.
    Full,
    /// The store cannot be written to.
    ReadOnly,
    /// The store does not do that, and does not declare it.
    Unsupported,
    /// The server that keeps the logs could not be reached, or did not answer in time.
    Unavailable,
    /// The operating system or the database failed.
    Io,
}

impl ErrorKind for StoreErrorKind {
    fn retry(&self) -> Retry {
        match self {
            Self::Locked | Self::Full | Self::ReadOnly | Self::Unavailable => Retry::Soon,
            Self::Unknown
            | Self::NotClaimed
            | Self::Conflict { .. }
            | Self::Invalid
            | Self::TooLarge
            | Self::Corrupt { .. }
            | Self::Newer
            | Self::Unsupported
            | Self::Io => Retry::Never,
        }
    }
}

impl StoreError {
    /// Creates the error of a feature that the store does not declare.
    #[must_use]
    pub fn unsupported(session: &SessionId, what: &str) -> Self {
        let context = format!("session {session}: this store does not support {what}");
        Self::new(StoreErrorKind::Unsupported, context)
    }
}
