//! File restorer: puts earlier contents of files of a workspace back.

use std::fmt;

/// Restores files of one workspace, if nobody has changed them since. Its methods block.
///
/// A file is replaced in one step, so a crash leaves the one content or the other, and a repetition
/// continues. Nothing outside of the workspace is written, and no link is followed.
pub trait FileRestorer: fmt::Debug + Send + Sync {
    /// Restores a file that has the expected content.
    fn restore(&self, file: &FileToRestore) -> RestoreResult;

    /// Returns the result that [`restore`](Self::restore) would have, and changes nothing.
    fn preview(&self, file: &FileToRestore) -> RestoreResult;
}

/// File to restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileToRestore {
    /// Path relative to the workspace.
    pub path: String,
    /// Content that the file must have now; `None` if there must be no file.
    pub expected: Option<Vec<u8>>,
    /// Content that it gets; `None` if it is deleted.
    pub content: Option<Vec<u8>>,
    /// Permission bits of a file that is created again.
    pub mode: Option<u32>,
}

/// Result of restoring a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestoreResult {
    /// The file has the earlier content now.
    Restored,
    /// The file had the earlier content already.
    Unchanged,
    /// The file was left as it is.
    Left {
        /// Reason in words.
        reason: String,
    },
}
