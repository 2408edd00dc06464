//! The blobs port: stores outputs that are too long for a log, complete and outside the log.
//!
//! A log names such bytes by their digest and length ([`StoredOutput`]); the store chooses their
//! location. Absent on purpose: a way to change stored bytes, or to remove less than all of a
//! session.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{Retry, SessionId, StoredOutput};

use crate::error::{ErrorKind, PortError};
use crate::store::{Durability, StoreErrorKind};

/// Stores bytes by their digest, one set per session.
///
/// Laws:
/// - *faithful*: a read returns the written bytes;
/// - *named by content*: a blob's name is the SHA-256 of its bytes, so equal bytes in a session are
///   one blob;
/// - *durable*: a finished blob survives the event of the declared [`Durability`];
/// - *atomic*: an unfinished blob cannot be read, however its writer ended. Its disk space is
///   reclaimed when its session next stores a blob;
/// - *bounded*: a blob has at most the declared length. A writer accepts more bytes but does not
///   store them, and [`StoredOutput::bytes`] reports the stored length;
/// - *separate*: a session does not see the blobs of another one, and they remain when another
///   session is erased.
#[async_trait]
pub trait BlobStore: Send + Sync + 'static {
    /// Returns the promises of this store.
    fn capabilities(&self) -> BlobCapabilities;

    /// Begins a blob. Several writers may be active at the same time.
    ///
    /// # Errors
    /// `Disabled`, `Full`, `Io`.
    async fn begin(&self, session: &SessionId) -> Result<Box<dyn BlobWriter>, BlobError>;

    /// Reads up to `limit` bytes from byte `offset` on. Fewer than `limit` means that the blob ends
    /// there. Does not check the bytes: see [`verify`](Self::verify).
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

    /// Reads a whole blob and checks its bytes against its name.
    ///
    /// # Errors
    /// `NotFound`, `Corrupt`, `Io`.
    async fn verify(&self, session: &SessionId, sha256: &str) -> Result<StoredOutput, BlobError>;

    /// Erases all blobs of a session, durably. A blob that is being written at the same time may
    /// remain.
    ///
    /// # Errors
    /// `Io`.
    async fn erase(&self, session: &SessionId) -> Result<(), BlobError>;
}

/// Writes one blob. If dropped before it finishes, nothing can be read.
#[async_trait]
pub trait BlobWriter: Send {
    /// Writes more bytes. After an error, or if its future is dropped early, the blob cannot be
    /// finished.
    ///
    /// # Errors
    /// `Full`, `Io`.
    async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError>;

    /// Makes the blob durable and returns its name. If its future is dropped early, the blob is
    /// stored completely or not at all.
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
    /// Most stored bytes of one blob.
    pub max_bytes: u64,
}

/// Writer of one session's outputs: the access of tools to the port.
#[derive(Clone)]
pub struct OutputStore {
    blobs: Arc<dyn BlobStore>,
    session: SessionId,
}

impl OutputStore {
    /// Creates a writer for a session.
    #[must_use]
    pub fn new(blobs: Arc<dyn BlobStore>, session: SessionId) -> Self {
        Self { blobs, session }
    }

    /// Creates a writer that stores nothing.
    #[must_use]
    pub fn disabled(session: SessionId) -> Self {
        Self::new(Arc::new(NoBlobStore), session)
    }

    /// Begins an output.
    ///
    /// # Errors
    /// As [`BlobStore::begin`].
    pub async fn begin(&self) -> Result<Box<dyn BlobWriter>, BlobError> {
        self.blobs.begin(&self.session).await
    }
}

impl fmt::Debug for OutputStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputStore").field("session", &self.session).finish_non_exhaustive()
    }
}

/// Reader of one session's blobs: the access of providers to the port.
#[derive(Clone)]
pub struct BlobReader {
    blobs: Arc<dyn BlobStore>,
    session: SessionId,
}

impl BlobReader {
    /// Creates a reader for a session.
    #[must_use]
    pub fn new(blobs: Arc<dyn BlobStore>, session: SessionId) -> Self {
        Self { blobs, session }
    }

    /// Creates a reader that finds nothing.
    #[must_use]
    pub fn disabled(session: SessionId) -> Self {
        Self::new(Arc::new(NoBlobStore), session)
    }

    /// Reads a whole blob of this length, and checks its bytes against its name.
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
        f.debug_struct("BlobReader").field("session", &self.session).finish_non_exhaustive()
    }
}

/// Stores nothing: a long output is shown as head and tail, and the rest is lost.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoBlobStore;

#[async_trait]
impl BlobStore for NoBlobStore {
    fn capabilities(&self) -> BlobCapabilities {
        BlobCapabilities { durability: Durability::Memory, max_bytes: 0 }
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
    /// The store is disabled.
    Disabled,
    /// The disk, its quota, or the session's quota is full.
    Full,
    /// The session has no such blob.
    NotFound,
    /// The bytes of a blob do not match its name.
    Corrupt,
    /// The operating system failed or denied access.
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
            | StoreErrorKind::WrongKey
            | StoreErrorKind::ReadOnly
            | StoreErrorKind::Unsupported
            | StoreErrorKind::Unavailable
            | StoreErrorKind::Io
            | StoreErrorKind::Ended => Self::Io,
        }
    }
}

impl BlobError {
    /// Creates the error of a name that the session has no blob for, or that is no blob name.
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
