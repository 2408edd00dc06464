//! Contents of files before and after a change, stored as blobs of the session, so that the change can be
//! shown and undone. Absent on purpose: a failure. A content that cannot be stored is recorded as such.

use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::Stat;
use tokio::runtime::Handle;
use windlass_core::{ChangedFile, FileVersion, StoredOutput};
use windlass_ports::{BlobError, BlobErrorKind, OutputStore};

use super::FileToolContext;
use crate::fault::CallFailure;
use crate::open;
use crate::replace::{FileReplacement, put_in_place, sync};
use crate::root::ResolvedPath;

/// Longest time for storing one content. The change is made without it then.
const STORE_TIME: Duration = Duration::from_secs(10);

/// Records the changes of one call.
#[derive(Debug)]
pub(crate) struct ChangeRecorder {
    /// Blobs of the session, and the runtime that a blocking thread stores them on.
    store: Option<(OutputStore, Handle)>,
    changes: Mutex<Vec<ChangedFile>>,
}

/// Content of a file before a change.
#[derive(Debug, Clone, Copy)]
pub(super) enum ContentBefore<'a> {
    Absent,
    Read(&'a [u8]),
    /// Longer than the limit or not readable, of this length in bytes.
    Unread(u64),
}

impl ChangeRecorder {
    /// Records nothing: for previews.
    pub(crate) const fn disabled() -> Self {
        Self { store: None, changes: Mutex::new(Vec::new()) }
    }

    /// Creates the recorder of a call, on a thread for blocking work.
    pub(crate) fn new(outputs: OutputStore) -> Self {
        Self { store: Some((outputs, Handle::current())), changes: Mutex::new(Vec::new()) }
    }

    /// Returns the recorded changes.
    pub(crate) fn take(&self) -> Vec<ChangedFile> {
        std::mem::take(&mut *self.changes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Stores what a change replaces and what it writes, before it is made. `None` without a store of
    /// blobs, and for a path whose place is not known any more.
    pub(super) fn prepare(
        &self,
        path: &str,
        (before, stat): (ContentBefore<'_>, Option<&Stat>),
        after: Option<&[u8]>,
        bench: &FileToolContext<'_>,
    ) -> Option<ChangedFile> {
        let path = bench.root.canonical(path).ok()?;
        let before = match before {
            ContentBefore::Absent => FileVersion::Absent,
            ContentBefore::Read(content) => self.version(content)?,
            ContentBefore::Unread(bytes) => FileVersion::NotStored { bytes },
        };
        let after = after.map_or(Some(FileVersion::Absent), |content| self.version(content))?;
        Some(ChangedFile { path, before, after, mode: stat.map(|stat| stat.st_mode & 0o777) })
    }

    /// Records a change that was made.
    pub(super) fn note(&self, change: Option<ChangedFile>) {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).extend(change);
    }

    /// Stores a content. `None` if the session has no store. Waits on a channel: the runtime of an
    /// embedder may have no timers.
    fn version(&self, content: &[u8]) -> Option<FileVersion> {
        let (outputs, runtime) = self.store.as_ref()?;
        let (outputs, content) = (outputs.clone(), content.to_vec());
        let bytes = content.len() as u64;
        let (sender, receiver) = sync_channel(1);
        let storing = runtime.spawn(async move {
            // Nobody waits any more where sending fails.
            let _ = sender.send(store(&outputs, &content).await);
        });
        let Ok(stored) = receiver.recv_timeout(STORE_TIME) else {
            storing.abort();
            tracing::warn!("the content of a changed file was not stored in time");
            return Some(FileVersion::NotStored { bytes });
        };
        match stored {
            Ok(stored) if stored.bytes == bytes => Some(FileVersion::Stored(stored)),
            Ok(_) => Some(FileVersion::NotStored { bytes }),
            Err(BlobError { kind: BlobErrorKind::Disabled, .. }) => None,
            Err(error) => {
                tracing::warn!(%error, "the content of a changed file could not be stored");
                Some(FileVersion::NotStored { bytes })
            }
        }
    }
}

async fn store(outputs: &OutputStore, content: &[u8]) -> Result<StoredOutput, BlobError> {
    let mut writer = outputs.begin().await?;
    writer.write(content).await?;
    writer.finish().await
}

/// Puts content in a file's place, and records the change.
pub(super) fn replace(
    put: &FileReplacement<'_>,
    before: ContentBefore<'_>,
    bench: &FileToolContext<'_>,
) -> Result<(), CallFailure> {
    let (path, stat) = (&put.target.shown, put.before.as_ref());
    let change = bench.changes.prepare(path, (before, stat), Some(put.content), bench);
    put_in_place(put)?;
    bench.changes.note(change);
    sync(put.target)
}

/// Reads the file that is to be replaced; `None` if it is longer than the limit or cannot be read.
pub(super) fn read(place: &ResolvedPath, bench: &FileToolContext<'_>) -> Option<Vec<u8>> {
    let most = usize::try_from(bench.config.file_bytes).unwrap_or(usize::MAX);
    let (file, _) = open::file(place).ok()?;
    let content = open::first_bytes(file, most.saturating_add(1)).ok()?;
    (content.len() <= most).then_some(content)
}
