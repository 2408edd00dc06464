//! Log store port: stores the facts of sessions.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use windlass_core::{Epoch, RecordedFact, Retry, Seq, SessionId};

use crate::chain::ChainLink;
use crate::error::{ErrorKind, PortError};
use crate::summary::{SessionFilter, SessionListing};

/// Largest fact in bytes of its text form. One bound for all stores, so that a log of one store
/// fits any other. A store reads facts written under another bound.
pub const MAX_FACT_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of the text forms of an append that every store accepts; it may reject more as `TooLarge`.
/// A larger append must be split.
pub const MAX_APPEND_BYTES: usize = 64 * 1024 * 1024;

/// Most bytes of the text form of an encrypted fact that was of [`MAX_FACT_BYTES`].
pub const MAX_STORED_FACT_BYTES: usize = 2 * MAX_FACT_BYTES;

/// Most bytes that encryption adds to an envelope, before it is encoded as Base64.
const SEAL_BYTES: usize = 64;

/// Returns the bytes of a fact's text form that count for [`MAX_FACT_BYTES`] and
/// [`MAX_APPEND_BYTES`]. Of an encrypted fact, those of the envelope that was encrypted count, so
/// that a store accepts it if it accepts the fact.
#[must_use]
pub fn counted_bytes(fact: &RecordedFact, text: &[u8]) -> usize {
    match &fact.format.sealed {
        None => text.len(),
        Some(sealed) => (sealed.text.len() / 4).saturating_mul(3).saturating_sub(SEAL_BYTES),
    }
}

/// Session that the default probe reads; it need not exist.
const PROBE_SESSION: &str = "probe";

/// Stores session logs.
///
/// Laws:
/// - *atomic*: an append stores all of its facts or none, also if the process dies during it or, at
///   the level `Power`, the machine does;
/// - *contiguous*: a log has the positions 1, 2, 3, ... without a gap;
/// - *durable*: an acknowledged append survives the event of the declared [`Durability`];
/// - *fenced*: only the latest claim of a session appends to it, and only at its end;
/// - *recognised*: an append whose answer was lost is not stored twice. Repeating a claim's last
///   append with the same facts at the same position succeeds and changes nothing. That holds after
///   any reads, and while the first attempt is still running. With other facts, or after a later
///   append, it is a `Conflict`; after the end of its claim, `NotClaimed`;
/// - *faithful*: a read returns the appended facts, byte for byte in the text form. Anything else
///   is an error with its position, never a shorter log. The only exception is an append that was
///   never acknowledged: a claim cuts off a torn tail and reports it;
/// - *readable*: reading needs no claim, changes nothing, and works on a full disk;
/// - *declared*: operations that the [`StoreCapabilities`] do not promise fail as `Unsupported`.
#[async_trait]
pub trait LogStore: Send + Sync + 'static {
    /// Returns the promises of this store.
    fn capabilities(&self) -> StoreCapabilities;

    /// Claims a session, new or existing: the caller becomes its only writer. The claim lasts until
    /// [`release`](Self::release), until a later claim, or until the process dies.
    ///
    /// Cuts off the log's torn tail. A claim that fails, or whose future is dropped, does not
    /// count. If the storage may have granted it, the store releases it like
    /// [`release`](Self::release).
    ///
    /// # Errors
    /// `Locked` when another process holds it, `Corrupt` when its log is, `Io`, `Full`, `ReadOnly`.
    async fn claim(&self, session: &SessionId) -> Result<SessionClaim, StoreError>;

    /// Releases a claim. A claim that is no longer the latest changes nothing.
    ///
    /// Even on an error, the claim has ended for this store object. If the storage was not
    /// reachable, the store object retries by itself. It releases the claim within two seconds
    /// after the storage is reachable again, or when unclaimed sessions are listed. Until then
    /// other claims are rejected.
    ///
    /// # Errors
    /// `Io`, `ReadOnly`, `Unavailable`: other writers cannot claim the session yet.
    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError>;

    /// Appends facts after position `after`, which must be the log's last. The facts have the
    /// positions that follow. Returns once they are durable at the declared level.
    ///
    /// After an error other than `Conflict`, `NotClaimed` and `Invalid` the facts may or may not be
    /// stored. Repeating the append under the same claim, or a new claim, shows which.
    ///
    /// # Errors
    /// - `Conflict` when `after` is not the log's last position;
    /// - `NotClaimed` when the epoch is not that of the latest claim;
    /// - `Invalid` when the facts are empty, of another session or not numbered in sequence;
    /// - `TooLarge` when a fact has more than [`MAX_FACT_BYTES`], or the append more than the store
    ///   accepts (at least [`MAX_APPEND_BYTES`]);
    /// - `Full`, `Unavailable`, `Io`.
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
    /// `Unknown` when there is no such session, `Corrupt`, `Newer`, `WrongKey`, `Io`.
    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError>;

    /// Reads the first `limit` facts of each of several logs, and returns those of these kinds, or
    /// all of them: for each session, in their order, the result of [`read`](Self::read). All of
    /// them are in memory at once.
    ///
    /// The default implementation reads one log after another. A store that reads many logs with
    /// fewer calls overrides it.
    async fn read_logs(
        &self,
        sessions: &[SessionId],
        limit: usize,
        kinds: Option<&'static [&'static str]>,
    ) -> Vec<Result<Vec<RecordedFact>, StoreError>> {
        let mut logs = Vec::with_capacity(sessions.len());
        for session in sessions {
            let mut log = self.read(session, Seq::ZERO, limit).await;
            if let (Ok(facts), Some(kinds)) = (&mut log, kinds) {
                facts.retain(|fact| kinds.contains(&fact.fact.kind()));
            }
            logs.push(log);
        }
        logs
    }

    /// Writes a probe where appends are written, at the declared durability, and reads it back.
    ///
    /// The probe is no fact: it changes no session, no claim and no listing, and needs no claim. A
    /// store that stopped after a failure and can be opened again is opened again. A server calls
    /// it for its health, at most once a second, and the engine after a failure until it succeeds.
    ///
    /// The default implementation only reads: a store that can write overrides it.
    ///
    /// # Errors
    /// Those of an append: `Unavailable`, `Io`, `ReadOnly`, `Full`, `Ended`.
    async fn probe(&self) -> Result<(), StoreError> {
        let Ok(session) = SessionId::new(PROBE_SESSION) else {
            return Ok(());
        };
        match self.read(&session, Seq::ZERO, 1).await {
            Err(error) if error.kind.is_of_store() => Err(error),
            // The store responds, even with an error about one session.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Returns up to `limit` sessions that match a filter, in the order of their ids, after the
    /// session `after`. Fewer than `limit` means that there are no more.
    ///
    /// Lists a session with a corrupt log too, without a summary, if the filter matches all
    /// sessions.
    ///
    /// # Errors
    /// `Io`.
    async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionListing>, StoreError>;

    /// Reads a session's complete log and checks it as far as the store can.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    async fn verify(&self, session: &SessionId) -> Result<LogVerification, StoreError>;

    /// Verifies several logs as [`verify`](Self::verify) does. Returns with each log its facts, if
    /// it has at most `limit`, and its checkpoint of this version. All of them are in memory at
    /// once.
    ///
    /// The default implementation verifies one log after another, and then reads it. A store that
    /// reads each log only once overrides it.
    async fn verify_logs(
        &self,
        sessions: &[SessionId],
        limit: usize,
        version: &str,
    ) -> Vec<Result<VerifiedLog, StoreError>> {
        let mut logs = Vec::with_capacity(sessions.len());
        for session in sessions {
            logs.push(verified(self, session, limit, version).await);
        }
        logs
    }

    /// Waits until a session's log extends beyond position `after`, or until `patience` is over,
    /// and returns the last position. Needs no claim.
    ///
    /// An append of this store object beyond `after` wakes the caller. One of another writer does
    /// so within the declared [`StoreCapabilities::tail_delay_ms`]. If the session is erased during
    /// the wait, the call may notice only when the patience is over.
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

    /// Erases a session: its log, its summary, its checkpoint. Afterwards the session does not
    /// exist, and the store's files, tables and streams contain none of its content. The store's
    /// documentation lists what a server may retain until its own maintenance (free space, its own
    /// log, backups). The claim ends; a new claim begins a new session.
    ///
    /// # Errors
    /// `NotClaimed` when the epoch is not that of the latest claim, `Unsupported`, `Full`, `Io`.
    async fn erase(&self, session: &SessionId, _epoch: Epoch) -> Result<(), StoreError> {
        Err(StoreError::unsupported(session, "erasing sessions"))
    }

    /// Stores a checkpoint of a session, in place of any earlier one of any position and version.
    /// Checkpoints are a cache, so they need not be durable, and need no claim.
    ///
    /// # Errors
    /// `Unknown` when there is no such session, `Invalid` when the checkpoint's position is beyond
    /// the log's last, `TooLarge`, `Unsupported`, `Full`, `Io`.
    async fn write_checkpoint(
        &self,
        session: &SessionId,
        _snapshot: &StoredCheckpoint,
    ) -> Result<(), StoreError> {
        Err(StoreError::unsupported(session, "keeping snapshots"))
    }

    /// Returns a session's checkpoint of this version, if it matches the log: at the checkpoint's
    /// position the log has the same chain link as when it was stored. Returns `None` for a
    /// checkpoint that is damaged, of another version or of another log.
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

async fn verified<S: LogStore + ?Sized>(
    store: &S,
    session: &SessionId,
    limit: usize,
    version: &str,
) -> Result<VerifiedLog, StoreError> {
    let verification = store.verify(session).await?;
    // A writer may have appended since.
    let facts = match usize::try_from(verification.last.0) {
        Ok(last) if last <= limit => store.read(session, Seq::ZERO, last).await?,
        Ok(_) | Err(_) => Vec::new(),
    };
    let checkpoint = match store.capabilities().max_checkpoint_bytes {
        // It is a cache: a store that fails to read it has none.
        Some(_) => store.read_checkpoint(session, version).await.unwrap_or_default(),
        None => None,
    };
    Ok(VerifiedLog { verification, facts, checkpoint })
}

/// Promises of a log store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreCapabilities {
    /// Event that an acknowledged append survives.
    pub durability: Durability,
    /// Largest accepted fact, in bytes of its text form: [`MAX_FACT_BYTES`].
    pub max_fact_bytes: usize,
    /// Writers that a claim fences off.
    pub fencing: Fencing,
    /// Longest delay until [`tail`](LogStore::tail) reports appends of other writers, in
    /// milliseconds; `None` if it follows no logs.
    pub tail_delay_ms: Option<u64>,
    /// True if the store can [`erase`](LogStore::erase).
    pub erase: bool,
    /// Age after which the store erases settled sessions by itself, in milliseconds; `None` if it
    /// erases none.
    pub retention_ms: Option<u64>,
    /// Most bytes of a checkpoint; `None` if the store has none.
    pub max_checkpoint_bytes: Option<usize>,
}

/// Writers that a claim fences off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fencing {
    /// Writers of the same store object. A second object on the same storage, if the store permits
    /// one, may damage its logs.
    Object,
    /// All writers, also those of another store object in this process or another.
    AllWriters,
}

/// Event that an acknowledged append survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Nothing: the logs are lost with the store object.
    Memory,
    /// The death of the process.
    Process,
    /// The loss of power.
    Power,
}

/// Claim of a session by its one writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionClaim {
    /// Generation of this writer: larger than all earlier ones of this store object, including
    /// those of erased sessions.
    ///
    /// If several store objects may claim on the same storage, it is larger than this session's
    /// earlier ones in all of them, also across restarts. An append of one may still be running
    /// when another claims. If a second object is rejected as `Locked`, a claim ends with its store
    /// object, and numbers may restart in the next.
    pub epoch: Epoch,
    /// Last position of the log; [`Seq::ZERO`] for a new session.
    pub last: Seq,
    /// Torn tail that was cut off, if any.
    pub repaired: Option<TailRepair>,
}

/// A torn tail: the remains of an append that was never acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TailRepair {
    /// Last remaining position.
    pub last: Seq,
    /// Number of bytes that were cut off.
    pub cut_bytes: u64,
}

/// State that a log folds to, up to a position. The store does not interpret it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCheckpoint {
    /// Last position that it includes.
    pub seq: Seq,
    /// Version of the writer and of the encoding. Readers of another version ignore the checkpoint.
    pub version: String,
    /// Encoded state of the session.
    pub bytes: Vec<u8>,
}

/// Result of checking a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogVerification {
    /// Last position of the log.
    pub last: Seq,
    /// Bytes of the log.
    pub bytes: u64,
    /// Bytes of a torn tail, which the next claim will cut off; 0 if there is none.
    pub torn_bytes: u64,
    /// Last link of the log's hash chain.
    pub chain: ChainLink,
}

/// A log that was checked, with its facts and its checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedLog {
    /// Result of the check.
    pub verification: LogVerification,
    /// Facts of the log up to the verified position; none if there are more than were asked for.
    pub facts: Vec<RecordedFact>,
    /// Checkpoint of the version that was asked for, as
    /// [`read_checkpoint`](LogStore::read_checkpoint) returns it; `None` if it cannot be read.
    pub checkpoint: Option<StoredCheckpoint>,
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
    /// The facts are not valid for an append.
    Invalid,
    /// A fact, append or checkpoint is larger than the store accepts.
    TooLarge,
    /// A log does not match what was written.
    Corrupt {
        /// Last position before the damage.
        after: Seq,
        /// Byte offset in the log, if the store knows it.
        offset: Option<u64>,
    },
    /// A newer engine wrote the log.
    Newer,
    /// The log is encrypted, and its key is not the one that this process has, or was destroyed.
    WrongKey,
    /// The disk, or the quota on it, is full.
    Full,
    /// The store cannot be written to.
    ReadOnly,
    /// The store does not support or declare the operation.
    Unsupported,
    /// The server with the logs could not be reached, or did not answer in time.
    Unavailable,
    /// The operating system or the database failed.
    Io,
    /// The store stopped and cannot be opened again in this process: only another process may
    /// continue.
    Ended,
}

impl StoreErrorKind {
    /// Returns true if the store failed as a whole, not a session or a call of it. What failed may
    /// succeed once the store works again.
    #[must_use]
    pub fn is_of_store(&self) -> bool {
        match self {
            Self::Full | Self::ReadOnly | Self::Unavailable | Self::Io | Self::Ended => true,
            Self::Unknown
            | Self::Locked
            | Self::NotClaimed
            | Self::Conflict { .. }
            | Self::Invalid
            | Self::TooLarge
            | Self::Corrupt { .. }
            | Self::Newer
            | Self::WrongKey
            | Self::Unsupported => false,
        }
    }
}

impl ErrorKind for StoreErrorKind {
    fn retry(&self) -> Retry {
        match self {
            Self::Locked | Self::Full | Self::ReadOnly | Self::Unavailable | Self::Ended => {
                Retry::Soon
            }
            Self::Unknown
            | Self::NotClaimed
            | Self::Conflict { .. }
            | Self::Invalid
            | Self::TooLarge
            | Self::Corrupt { .. }
            | Self::Newer
            | Self::WrongKey
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
