//! The lock of a lane and its current segment.

use std::fs::File;
use std::path::PathBuf;

use crate::disk::{LogFile, write_all_at};
use crate::format::SegmentId;
use crate::paths::FileIdentity;

/// The lock file of a lane. It excludes other processes while it is at its path.
pub(super) struct WriterLock {
    pub(super) identity: FileIdentity,
    pub(super) path: PathBuf,
    pub(super) _file: File,
}

/// The segment to append to.
pub(super) struct OpenSegment {
    pub(super) id: SegmentId,
    pub(super) path: PathBuf,
    pub(super) identity: FileIdentity,
    pub(super) file: Box<dyn LogFile>,
    /// End of the durable bytes.
    pub(super) end: u64,
    /// End of the prepared room; the bytes from `end` to here are zeros.
    pub(super) room_end: u64,
    /// True if its format is an older one, so that the next segment begins with the next append.
    pub(super) older: bool,
    /// True if the bytes behind `end` are unknown.
    pub(super) unsettled: bool,
}

impl OpenSegment {
    /// Writes zeros ahead, so that the next syncs need no change of the file's metadata. Returns
    /// false if it fails, for example on a full disk; the log continues without room.
    pub(super) fn prepare(&mut self, end: u64, ahead: u64, most: u64) -> bool {
        let room_end = ((end / 4096 + 1) * 4096 + ahead).min(most.max(end));
        let zeros = vec![0; usize::try_from(room_end - end).unwrap_or_default()];
        if write_all_at(&*self.file, &zeros, end).is_err() {
            self.room_end = end;
            // What of the zeros was written holds nothing, whether it can be cut or not.
            let _ = self.file.set_len(end);
            return false;
        }
        self.room_end = room_end;
        true
    }
}
