//! What a lane's writer holds: the lane's lock, and the segment that is appended to.

use std::fs::File;
use std::path::PathBuf;

use crate::disk::{LogFile, write_all_at};
use crate::format::Place;
use crate::places::Identity;

/// What keeps other processes from a lane, as long as it stands at its path.
pub(super) struct Lock {
    pub(super) identity: Identity,
    pub(super) path: PathBuf,
    pub(super) _file: File,
}

/// The segment that is appended to.
pub(super) struct Segment {
    pub(super) place: Place,
    pub(super) path: PathBuf,
    pub(super) identity: Identity,
    pub(super) file: Box<dyn LogFile>,
    /// Where what is durable ends.
    pub(super) end: u64,
    /// Where the prepared room ends; everything from `end` to here is zeros.
    pub(super) room_end: u64,
    /// Whether nobody knows what stands behind `end`.
    pub(super) unsettled: bool,
}

impl Segment {
    /// Fills the file with zeros some way ahead, so that the syncs of the next appends find blocks
    /// that are allocated and need no change of the file's metadata. Answers whether it could.
    ///
    /// It is a matter of speed alone: when it fails, as on a full disk, the log goes on without.
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
