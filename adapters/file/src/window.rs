//! A window on a log file: reads ahead, so that small records cost few calls.

use std::io;

use crate::disk::{LogFile, read_full_at};

const AHEAD: usize = 128 * 1024;

/// The part of a file that is in memory.
#[derive(Default)]
pub(crate) struct Window {
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// Gives `len` bytes from `offset` on; fewer when the file ends before.
    pub(crate) fn load(
        &mut self,
        file: &dyn LogFile,
        offset: u64,
        len: usize,
    ) -> io::Result<&[u8]> {
        if !self.covers(offset, len) {
            self.bytes.resize(len.max(AHEAD), 0);
            let read = read_full_at(file, &mut self.bytes, offset)?;
            self.bytes.truncate(read);
            self.start = offset;
        }
        let from = usize::try_from(offset - self.start).unwrap_or(usize::MAX);
        let bytes = self.bytes.get(from..).unwrap_or_default();
        Ok(bytes.get(..len).unwrap_or(bytes))
    }

    fn covers(&self, offset: u64, len: usize) -> bool {
        let end = self.start + self.bytes.len() as u64;
        offset >= self.start && offset.saturating_add(len as u64) <= end
    }
}
