//! The writer of one blob. What waits for the disk is done on a thread that may block.

use std::io;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{Kept, SessionId};
use windlass_ports::{BlobError, BlobErrorKind, BlobWriter};

use super::part::Part;
use super::shelf::Shelf;
use super::{from_io, gone};

/// How much is gathered before it is written.
const GATHERED: usize = 256 * 1024;

/// Writes one blob.
pub(super) struct Writer {
    session: SessionId,
    /// Gone once a write has failed or was abandoned.
    work: Option<Work>,
}

/// What moves to a thread that may block, and back.
struct Work {
    shelf: Arc<Shelf>,
    part: Part,
    /// How many more bytes are kept.
    room: u64,
    gathered: Vec<u8>,
}

impl Writer {
    pub(super) fn new(shelf: Arc<Shelf>, session: SessionId, part: Part, room: u64) -> Self {
        let work = Work {
            shelf,
            part,
            room,
            gathered: Vec::new(),
        };
        Self {
            session,
            work: Some(work),
        }
    }

    fn take(&mut self) -> Result<Work, BlobError> {
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
impl BlobWriter for Writer {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        let mut work = self.take()?;
        work.gather(bytes);
        if work.gathered.len() >= GATHERED {
            let writing = tokio::task::spawn_blocking(move || work.flush().map(|()| work));
            let written = writing.await;
            work = written.unwrap_or_else(|_| Err(gone(&self.session)))?;
        }
        self.work = Some(work);
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<Kept, BlobError> {
        let work = self.take()?;
        let session = self.session.clone();
        let finishing = tokio::task::spawn_blocking(move || work.finish(&session));
        let finished = finishing.await;
        finished.unwrap_or_else(|_| Err(gone(&self.session)))
    }
}

impl Work {
    /// Takes what is kept of `bytes`.
    fn gather(&mut self, bytes: &[u8]) {
        let room = usize::try_from(self.room).unwrap_or(usize::MAX);
        let kept = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        self.gathered.extend_from_slice(kept);
        self.room = self.room.saturating_sub(kept.len() as u64);
    }

    fn flush(&mut self) -> Result<(), BlobError> {
        let written = self.part.write(&self.gathered);
        written.map_err(|error| failed(error, self.part.path()))?;
        self.gathered.clear();
        Ok(())
    }

    fn finish(mut self, session: &SessionId) -> Result<Kept, BlobError> {
        self.flush()?;
        let path = self.part.path().to_owned();
        let shelf = self.shelf;
        let named = |path: &Path, name: &str| shelf.name(session, path, name);
        let finished = self.part.finish(named);
        finished.map_err(|error| failed(error, &path))
    }
}

fn failed(error: io::Error, path: &Path) -> BlobError {
    from_io(error, "keeping an output in", path)
}
