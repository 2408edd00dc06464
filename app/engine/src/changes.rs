//! Changes of files: what a session changed, from its log, and the difference, from its blobs.

use std::sync::Arc;

use windlass_core::{ChangedFile, ChangedFiles, FileVersion, Seq, SessionChanges, SessionId};
use windlass_ports::{BlobErrorKind, BlobReader, LogReader, LogStore, StoreError, unified_diff};

/// Most bytes that the differences of all files together have.
pub const MAX_DIFF_BYTES: usize = 1 << 20;
/// Most bytes of contents that are compared.
const MAX_READ_BYTES: u64 = 32 << 20;

/// Reads the changes of a session from its log.
///
/// # Errors
/// [`StoreError`] when the log cannot be read.
pub async fn read_changes(
    store: Arc<dyn LogStore>,
    session: &SessionId,
) -> Result<SessionChanges, StoreError> {
    let mut changes = SessionChanges::default();
    let mut facts = LogReader::new(store, session.clone(), Seq::ZERO, usize::MAX);
    while let Some(recorded) = facts.next().await? {
        changes.apply(&recorded);
    }
    Ok(changes)
}

/// Differences of files as texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangesDiff {
    /// One entry a path, in the order of the paths.
    pub files: Vec<FileDiff>,
    /// Paths that were left out, since all together would be longer than [`MAX_DIFF_BYTES`].
    pub left_out: Vec<String>,
}

/// Difference of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// Path relative to the workspace.
    pub path: String,
    /// Unified diff, or the reason why there is none.
    pub diff: Result<String, String>,
}

/// Compares the contents of changed files before and after. Bounded: what does not fit is named.
pub async fn diff_changes(blobs: &BlobReader, changed: &ChangedFiles) -> ChangesDiff {
    let mut shown = ChangesDiff::default();
    let (mut bytes, mut unread) = (MAX_DIFF_BYTES, MAX_READ_BYTES);
    for file in changed.files.values() {
        let stored = [&file.before, &file.after].into_iter().filter_map(|it| it.stored());
        let length = stored.fold(0_u64, |sum, stored| sum.saturating_add(stored.bytes));
        let diff = match length <= unread {
            true => Some(diff(blobs, file).await),
            false => None,
        };
        let fits = |diff: &Result<String, String>| match diff {
            Ok(text) | Err(text) => text.len() <= bytes,
        };
        let Some(diff) = diff.filter(fits) else {
            shown.left_out.push(file.path.clone());
            continue;
        };
        unread = unread.saturating_sub(length);
        bytes = bytes.saturating_sub(diff.as_ref().map_or_else(String::len, String::len));
        shown.files.push(FileDiff { path: file.path.clone(), diff });
    }
    shown
}

async fn diff(blobs: &BlobReader, file: &ChangedFile) -> Result<String, String> {
    let before = text(content(blobs, &file.before).await?)?;
    let after = text(content(blobs, &file.after).await?)?;
    let path = file.path.clone();
    // Long texts take their time.
    let compared = tokio::task::spawn_blocking(move || {
        unified_diff(&path, before.as_deref(), after.as_deref())
    });
    compared.await.map_err(|_| "it could not be compared".to_owned())
}

fn text(content: Option<Vec<u8>>) -> Result<Option<String>, String> {
    let text = content.map(String::from_utf8).transpose();
    text.map_err(|_| "it is no text".to_owned())
}

/// Reads the content of a file at a time; `None` if there was no file.
///
/// # Errors
/// The reason in words when the content is not available.
pub(crate) async fn content(
    blobs: &BlobReader,
    version: &FileVersion,
) -> Result<Option<Vec<u8>>, String> {
    let stored = match version {
        FileVersion::Absent => return Ok(None),
        FileVersion::NotStored { bytes } => {
            return Err(format!("its {bytes} bytes were not stored"));
        }
        FileVersion::Stored(stored) => stored,
    };
    let read = blobs.read(&stored.sha256, stored.bytes).await;
    read.map(Some).map_err(|error| match error.kind {
        BlobErrorKind::NotFound | BlobErrorKind::Disabled => {
            "its content is not in this store".to_owned()
        }
        BlobErrorKind::Full | BlobErrorKind::Corrupt | BlobErrorKind::Io => {
            tracing::warn!(%error, "the content of a changed file cannot be read");
            "its content cannot be read".to_owned()
        }
    })
}
