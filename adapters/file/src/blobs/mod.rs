//! The blobs: the blobs port over a folder of files, each named by what is in it.

mod part;
mod shelf;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{Kept, SessionId};
use windlass_ports::{
    BlobCapabilities, BlobError, BlobErrorKind, BlobWriter, Blobs, Durability, is_blob_name,
};

use crate::disk::{Disk, RealDisk};
use crate::error;
use shelf::Shelf;
use writer::Writer;

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobLimits {
    /// The most bytes of one blob.
    pub blob_bytes: u64,
    /// The most bytes of all blobs of a session. Blobs that are begun at the same time are each
    /// held to what was left when they were.
    pub session_bytes: u64,
}

impl Default for BlobLimits {
    /// 64 MiB of one blob and 1 GiB of a session's.
    fn default() -> Self {
        Self {
            blob_bytes: 64 * 1024 * 1024,
            session_bytes: 1024 * 1024 * 1024,
        }
    }
}

/// A store of blobs in a folder of the local filesystem, beside the logs that name them.
///
/// Its methods must be called within a Tokio runtime.
pub struct FileBlobs {
    shelf: Arc<Shelf>,
    disk: Arc<dyn Disk>,
    limits: BlobLimits,
}

impl fmt::Debug for FileBlobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileBlobs")
            .field("shelf", &self.shelf)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl FileBlobs {
    /// The blobs below the folder `dir`: the one that holds the logs too, or one of their own.
    /// Nothing is created before something is kept.
    #[must_use]
    pub fn new(dir: PathBuf) -> Self {
        Self::with_limits(dir, BlobLimits::default())
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(dir: PathBuf, limits: BlobLimits) -> Self {
        Self::on(Arc::new(RealDisk), dir, limits)
    }

    pub(crate) fn on(disk: Arc<dyn Disk>, dir: PathBuf, limits: BlobLimits) -> Self {
        Self {
            shelf: Arc::new(Shelf::new(dir)),
            disk,
            limits,
        }
    }

    /// Reads a blob on a thread that may block.
    async fn reading<T: Send + 'static>(
        &self,
        session: &SessionId,
        sha256: &str,
        read: impl FnOnce(&Shelf, &SessionId, &str) -> Result<T, BlobError> + Send + 'static,
    ) -> Result<T, BlobError> {
        if !is_blob_name(sha256) {
            return Err(BlobError::not_found(session, sha256));
        }
        let (shelf, id, name) = (self.shelf.clone(), session.clone(), sha256.to_owned());
        let reading = tokio::task::spawn_blocking(move || read(&shelf, &id, &name));
        reading.await.unwrap_or_else(|_| Err(gone(session)))
    }
}

#[async_trait]
impl Blobs for FileBlobs {
    fn capabilities(&self) -> BlobCapabilities {
        BlobCapabilities {
            durability: Durability::Power,
            max_bytes: self.limits.blob_bytes,
        }
    }

    async fn begin(&self, session: &SessionId) -> Result<Box<dyn BlobWriter>, BlobError> {
        let (shelf, disk, id) = (self.shelf.clone(), self.disk.clone(), session.clone());
        let limits = self.limits;
        let beginning = tokio::task::spawn_blocking(move || {
            let held = shelf.open(&id)?;
            let left = limits.session_bytes.saturating_sub(held);
            if left == 0 {
                return Err(full(&id, limits.session_bytes));
            }
            let part = shelf.begin(&id, &*disk)?;
            Ok(Writer::new(shelf, id, part, left.min(limits.blob_bytes)))
        });
        let writer = beginning.await.unwrap_or_else(|_| Err(gone(session)))?;
        Ok(Box::new(writer))
    }

    async fn read(
        &self,
        session: &SessionId,
        sha256: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Vec<u8>, BlobError> {
        self.reading(session, sha256, move |shelf, session, name| {
            shelf.read(session, name, offset, limit)
        })
        .await
    }

    async fn verify(&self, session: &SessionId, sha256: &str) -> Result<Kept, BlobError> {
        self.reading(session, sha256, Shelf::verify).await
    }

    async fn erase(&self, session: &SessionId) -> Result<(), BlobError> {
        let (shelf, id) = (self.shelf.clone(), session.clone());
        let erasing = tokio::task::spawn_blocking(move || shelf.erase(&id));
        erasing.await.unwrap_or_else(|_| Err(gone(session)))
    }
}

/// Classes an error of the operating system, as the logs' are.
fn from_io(error: std::io::Error, doing: &str, path: &std::path::Path) -> BlobError {
    let error = error::from_io(error, doing, path);
    let mut moved = BlobError::new((&error.kind).into(), error.context);
    moved.source = error.source;
    moved
}

fn full(session: &SessionId, most: u64) -> BlobError {
    let context = format!(
        "session {session} keeps the {most} bytes of outputs that one may keep: go on in another \
         session, or allow more"
    );
    BlobError::new(BlobErrorKind::Full, context)
}

/// A thread ended before it answered, which happens only as the runtime ends.
fn gone(session: &SessionId) -> BlobError {
    let context = format!("the runtime ended before an output of {session} was kept or read");
    BlobError::new(BlobErrorKind::Io, context)
}
