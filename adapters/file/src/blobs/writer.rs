//! The writer of one blob. It accesses the disk on a thread that may block.

use std::io;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{SessionId, StoredOutput};
use windlass_ports::{BlobError, BlobErrorKind, BlobWriter};

use super::folder::BlobFolder;
use super::partial::PartialBlob;
use super::{from_io, gone};

/// Bytes to buffer before a write.
const GATHERED: usize = 256 * 1024;

/// Writes one blob.
pub(super) struct FileBlobWriter {
    session: SessionId,
    /// `None` once a write has failed or was abandoned.
    work: Option<BlobWork>,
}

/// State that moves to the blocking thread and back.
struct BlobWork {
    folder: Arc<BlobFolder>,
    partial: PartialBlob,
    /// Bytes that may still be stored.
    room: u64,
    gathered: Vec<u8>,
}

impl FileBlobWriter {
    pub(super) fn new(
        folder: Arc<BlobFolder>,
        session: SessionId,
        part: PartialBlob,
        room: u64,
    ) -> Self {
        let work = BlobWork { folder, partial: part, room, gathered: Vec::new() };
        Self { session, work: Some(work) }
    }

    fn take_work(&mut self) -> Result<BlobWork, BlobError> {
        let work = self.work.take();
        work.ok_or_else(|| {
            let context = format!(
                "an output of {} cannot be kept: an earlier write of it failed or was abandoned",
                self.session
            );
            BlobError::new(BlobErrorKind::Io, context)
        })
    }
}

#[async_trait]
impl BlobWriter for FileBlobWriter {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        let mut work = self.take_work()?;
        work.gather(bytes);
        if work.gathered.len() >= GATHERED {
            let writing = tokio::task::spawn_blocking(move || work.flush().map(|()| work));
            let written = writing.await;
            work = written.unwrap_or_else(|_| Err(gone(&self.session)))?;
        }
        self.work = Some(work);
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<StoredOutput, BlobError> {
        let work = self.take_work()?;
        let session = self.session.clone();
        let finishing = tokio::task::spawn_blocking(move || work.finish(&session));
        let finished = finishing.await;
        finished.unwrap_or_else(|_| Err(gone(&self.session)))
    }
}

impl BlobWork {
    /// Buffers the part of `bytes` that fits the limit.
    fn gather(&mut self, bytes: &[u8]) {
        let room = usize::try_from(self.room).unwrap_or(usize::MAX);
        let kept = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        self.gathered.extend_from_slice(kept);
        self.room = self.room.saturating_sub(kept.len() as u64);
    }

    fn flush(&mut self) -> Result<(), BlobError> {
        let written = self.partial.write(&self.gathered);
        written.map_err(|error| failed(error, self.partial.path()))?;
        self.gathered.clear();
        Ok(())
    }

    fn finish(mut self, session: &SessionId) -> Result<StoredOutput, BlobError> {
        self.flush()?;
        let path = self.partial.path().to_owned();
        let folder = self.folder;
        let named = |path: &Path, name: &str| folder.name(session, path, name);
        let finished = self.partial.finish(named);
        finished.map_err(|error| failed(error, &path))
    }
}

fn failed(error: io::Error, path: &Path) -> BlobError {
    from_io(error, "keeping an output in", path)
}
