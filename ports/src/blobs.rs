//! The blobs port: keeps what is too long for a log, whole, beside it.
//!
//! A log names such bytes by their digest and their length ([`StoredOutput`]); where they are is the
//! store's own. Absent on purpose: a way to change what is kept, or to take away less than all of a
//! session.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{Retry, SessionId, StoredOutput};

use crate::error::{ErrorKind, PortError};
use crate::store::{Durability, StoreErrorKind};

/// Keeps bytes by their digest, a set for each session.
///
/// Laws:
/// - *faithful*: what is read is what was written, from its first byte on;
/// - *named by content*: a blob's name is the SHA-256 of its bytes, so the same bytes twice in a
///   session are one blob;
/// - *durable*: what was finished survives what the declared [`Durability`] names;
/// - *whole or not there*: what was not finished, however its writer ended, can not be read, and
///   what it took of the disk is given back when its session keeps something again;
/// - *bounded*: a blob is at most as long as declared. A writer takes more and keeps none of it,
///   and [`StoredOutput::bytes`] says how much is kept;
/// - *apart*: what one session keeps is not there for another, and stays when another is erased.
#[async_trait]
pub trait BlobStore: Send + Sync + 'static {
    /// Returns the promises of this store.
    fn capabilities(&self) -> BlobCapabilities;

    /// Begins a blob. Several may be written at the same time.
    ///
    /// # Errors
    /// `Off`, `Full`, `Io`.
    async fn begin(&self, session: &SessionId) -> Result<Box<dyn BlobWriter>, BlobError>;

    /// Reads up to `limit` bytes from byte `offset` on. Fewer than `limit` means that the blob
    /// ends there. Whether they are still what was written is not looked at: see
    /// [`verify`](Self::verify).
    ///
    /// # Errors
    /// `NotFound`, `Io`.
    async fn read(
        &self,
        session: &SessionId,
        sha256: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Vec<u8>, BlobError>;

    /// Reads all of a blob and checks that it is what was written.
    ///
    /// # Errors
    /// `NotFound`, `Corrupt`, `Io`.
    async fn verify(&self, session: &SessionId, sha256: &str) -> Result<StoredOutput, BlobError>;

    /// Erases all that a session keeps. Durable when it answers; what is written at the same time
    /// may stay.
    ///
    /// # Errors
    /// `Io`.
    async fn erase(&self, session: &SessionId) -> Result<(), BlobError>;
}

/// Writes one blob. Dropped before it has finished, it leaves nothing to read.
#[async_trait]
pub trait BlobWriter: Send {
    /// Takes more bytes. After an error, or when its future was dropped before it ended, the blob
    /// cannot be finished.
    ///
    /// # Errors
    /// `Full`, `Io`.
    async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError>;

    /// Makes the blob durable and gives it its name. When its future is dropped before it ends,
    /// the blob is kept whole or not at all.
    ///
    /// # Errors
    /// `Full`, `Io`.
    async fn finish(self: Box<Self>) -> Result<StoredOutput, BlobError>;
}

/// Promises of a blob store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobCapabilities {
    /// Event that a finished blob survives.
    pub durability: Durability,
    /// The most bytes that are kept of one blob.
    pub max_bytes: u64,
}

/// Keeps the outputs of one session: what a tool is handed of the port.
#[derive(Clone)]
pub struct OutputStore {
    blobs: Arc<dyn BlobStore>,
    session: SessionId,
}

impl OutputStore {
    /// A keeper for a session.
    #[must_use]
    pub fn new(blobs: Arc<dyn BlobStore>, session: SessionId) -> Self {
        Self { blobs, session }
    }

    /// A keeper that keeps nothing.
    #[must_use]
    pub fn disabled(session: SessionId) -> Self {
        Self::new(Arc::new(NoBlobStore), session)
    }

    /// Begins to keep an output.
    ///
    /// # Errors
    /// As [`BlobStore::begin`].
    pub async fn begin(&self) -> Result<Box<dyn BlobWriter>, BlobError> {
        self.blobs.begin(&self.session).await
    }
}

impl fmt::Debug for OutputStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputKeeper")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// Reads what one session keeps: what a provider is handed of the port.
#[derive(Clone)]
pub struct BlobReader {
    blobs: Arc<dyn BlobStore>,
    session: SessionId,
}

impl BlobReader {
    /// A reader for a session.
    #[must_use]
    pub fn new(blobs: Arc<dyn BlobStore>, session: SessionId) -> Self {
        Self { blobs, session }
    }

    /// A reader that finds nothing.
    #[must_use]
    pub fn disabled(session: SessionId) -> Self {
        Self::new(Arc::new(NoBlobStore), session)
    }

    /// Reads all of a blob that has this many bytes, and checks that it is what was kept.
    ///
    /// # Errors
    /// `NotFound`, `Corrupt`, `Io`.
    pub async fn read(&self, sha256: &str, bytes: u64) -> Result<Vec<u8>, BlobError> {
        let known = self.blobs.verify(&self.session, sha256).await?;
        let wrong = || {
            let context = format!("the blob {sha256} has another length than the log says");
            BlobError::new(BlobErrorKind::Corrupt, context)
        };
        let length = usize::try_from(bytes).map_err(|_| wrong())?;
        if known.bytes != bytes {
            return Err(wrong());
        }
        let read = self.blobs.read(&self.session, sha256, 0, length).await?;
        match read.len() == length {
            true => Ok(read),
            false => Err(wrong()),
        }
    }
}

impl fmt::Debug for BlobReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptReader")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// Keeps nothing: what is too long is shown head and tail, and the rest is gone.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoBlobStore;

#[async_trait]
impl BlobStore for NoBlobStore {
    fn capabilities(&self) -> BlobCapabilities {
        BlobCapabilities {
            durability: Durability::Memory,
            max_bytes: 0,
        }
    }

    async fn begin(&self, session: &SessionId) -> Result<Box<dyn BlobWriter>, BlobError> {
        let context =
            format!("cannot store outputs beside the log of {session}: no blob store is set");
        Err(BlobError::new(BlobErrorKind::Disabled, context))
    }

    async fn read(
        &self,
        session: &SessionId,
        sha256: &str,
        _offset: u64,
        _limit: usize,
    ) -> Result<Vec<u8>, BlobError> {
        Err(BlobError::not_found(session, sha256))
    }

    async fn verify(&self, session: &SessionId, sha256: &str) -> Result<StoredOutput, BlobError> {
        Err(BlobError::not_found(session, sha256))
    }

    async fn erase(&self, _session: &SessionId) -> Result<(), BlobError> {
        Ok(())
    }
}

/// Failure of a blob store.
pub type BlobError = PortError<BlobErrorKind>;

/// Classes of errors of a store of blobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobErrorKind {
    /// The store retains nothing.
    Disabled,
    /// The disk, the quota on it, or what a session may keep is full.
    Full,
    /// There is no such blob in this session.
    NotFound,
    /// A blob is not what was written.
    Corrupt,
    /// The operating system failed, or does not allow it.
    Io,
}

impl ErrorKind for BlobErrorKind {
    fn retry(&self) -> Retry {
        match self {
            Self::Full => Retry::Soon,
            Self::Disabled | Self::NotFound | Self::Corrupt | Self::Io => Retry::Never,
        }
    }
}

impl From<&StoreErrorKind> for BlobErrorKind {
    fn from(kind: &StoreErrorKind) -> Self {
        match kind {
            StoreErrorKind::Full => Self::Full,
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
            | StoreErrorKind::Unavailable
            | StoreErrorKind::Io => Self::Io,
        }
    }
}

impl BlobError {
    /// There is no blob of this name in a session; also where the name is none that a blob can
    /// have.
    #[must_use]
    pub fn not_found(session: &SessionId, sha256: &str) -> Self {
        let name: String = sha256.chars().take(64).collect();
        Self::new(
            BlobErrorKind::NotFound,
            format!("session {session} has no stored output {name:?}"),
        )
    }
}

/// Returns true if a text is a blob name: 64 hexadecimal digits in lower case.
///
/// A store checks a name before it uses it in a path or a key.
#[must_use]
pub fn is_blob_name(text: &str) -> bool {
    let digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    text.len() == 64 && text.bytes().all(digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_digest_is_a_name() {
        let name = "0123456789abcdef".repeat(4);
        assert!(is_blob_name(&name));
        let long = format!("{name}0");
        let upper = name.to_uppercase();
        let path = format!("../{}", &name[3..]);
        for text in ["", &name[1..], &long, &upper, &path] {
            assert!(!is_blob_name(text), "{text}");
        }
    }
}
