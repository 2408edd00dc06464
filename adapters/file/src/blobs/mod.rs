//! The blob port over a folder of files, each named by the digest of its content.

mod folder;
mod partial;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{SessionId, StoredOutput};
use windlass_ports::{
    BlobCapabilities, BlobError, BlobErrorKind, BlobStore, BlobWriter, Durability, is_blob_name,
};

use crate::disk::{Disk, RealDisk};
use crate::error;
use folder::BlobFolder;
use writer::FileBlobWriter;

/// Size limits of blobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobLimits {
    /// Most bytes of one blob.
    pub blob_bytes: u64,
    /// Most bytes of all blobs of a session. Concurrent writes are each limited to the bytes that
    /// were left when they began.
    pub session_bytes: u64,
}

impl Default for BlobLimits {
    /// Returns 64 MiB per blob and 1 GiB per session.
    fn default() -> Self {
        Self { blob_bytes: 64 * 1024 * 1024, session_bytes: 1024 * 1024 * 1024 }
    }
}

/// Stores blobs in a folder of the local filesystem, beside the logs that name them.
///
/// Call its methods within a Tokio runtime.
pub struct FileBlobs {
    folder: Arc<BlobFolder>,
    disk: Arc<dyn Disk>,
    limits: BlobLimits,
}

impl fmt::Debug for FileBlobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileBlobs")
            .field("folder", &self.folder)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl FileBlobs {
    /// Opens the blobs below the folder `dir`, which may also hold the logs. Creates nothing before
    /// the first write.
    #[must_use]
    pub fn new(dir: PathBuf) -> Self {
        Self::with_limits(dir, BlobLimits::default())
    }

    /// Opens the blobs with other limits.
    #[must_use]
    pub fn with_limits(dir: PathBuf, limits: BlobLimits) -> Self {
        Self::on(Arc::new(RealDisk), dir, limits)
    }

    pub(crate) fn on(disk: Arc<dyn Disk>, dir: PathBuf, limits: BlobLimits) -> Self {
        Self { folder: Arc::new(BlobFolder::new(dir)), disk, limits }
    }

    /// Reads a blob on a thread that may block.
    async fn reading<T: Send + 'static>(
        &self,
        session: &SessionId,
        sha256: &str,
        read: impl FnOnce(&BlobFolder, &SessionId, &str) -> Result<T, BlobError> + Send + 'static,
    ) -> Result<T, BlobError> {
        if !is_blob_name(sha256) {
            return Err(BlobError::not_found(session, sha256));
        }
        let (folder, id, name) = (self.folder.clone(), session.clone(), sha256.to_owned());
        let reading = tokio::task::spawn_blocking(move || read(&folder, &id, &name));
        reading.await.unwrap_or_else(|_| Err(gone(session)))
    }
}

#[async_trait]
impl BlobStore for FileBlobs {
    fn capabilities(&self) -> BlobCapabilities {
        BlobCapabilities { durability: Durability::Power, max_bytes: self.limits.blob_bytes }
    }

    async fn begin(&self, session: &SessionId) -> Result<Box<dyn BlobWriter>, BlobError> {
        let (folder, disk, id) = (self.folder.clone(), self.disk.clone(), session.clone());
        let limits = self.limits;
        let beginning = tokio::task::spawn_blocking(move || {
            let held = folder.open(&id)?;
            let left = limits.session_bytes.saturating_sub(held);
            if left == 0 {
                return Err(full(&id, limits.session_bytes));
            }
            let part = folder.begin(&id, &*disk)?;
            Ok(FileBlobWriter::new(folder, id, part, left.min(limits.blob_bytes)))
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
        self.reading(session, sha256, move |folder, session, name| {
            folder.read(session, name, offset, limit)
        })
        .await
    }

    async fn verify(&self, session: &SessionId, sha256: &str) -> Result<StoredOutput, BlobError> {
        self.reading(session, sha256, BlobFolder::verify).await
    }

    async fn erase(&self, session: &SessionId) -> Result<(), BlobError> {
        let (folder, id) = (self.folder.clone(), session.clone());
        let erasing = tokio::task::spawn_blocking(move || folder.erase(&id));
        erasing.await.unwrap_or_else(|_| Err(gone(session)))
    }
}

/// Classifies an error of the operating system like those of logs.
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

/// Returns the error of a thread that ended with the runtime.
fn gone(session: &SessionId) -> BlobError {
    let context = format!("the runtime ended before an output of {session} was kept or read");
    BlobError::new(BlobErrorKind::Io, context)
}
