//! A read buffer that loads neighbouring units of a segment at once.

use std::fs::File;
use std::io;

use crate::disk::read_full_at;
use crate::format::{HEAD, MOST_UNIT, TAIL};
use crate::segment_map::UnitLocation;

/// Bytes to read at once.
const AHEAD: u64 = 256 * 1024;
/// Largest gap between units that are read at once.
const NEAR: u64 = 4 * 1024;

/// Bytes of some units.
#[derive(Default)]
pub(crate) struct ReadWindow {
    start: u64,
    bytes: Vec<u8>,
}

impl ReadWindow {
    /// Returns the bytes of the first unit. Loads its neighbours with it.
    pub(crate) fn load(&mut self, file: &File, units: &[UnitLocation]) -> io::Result<&[u8]> {
        let Some(first) = units.first() else {
            return Ok(&[]);
        };
        let start = u64::from(first.offset);
        let covered = self.start + self.bytes.len() as u64;
        if start < self.start || first.end() > covered {
            let mut end = first.end();
            for unit in units.iter().skip(1) {
                if u64::from(unit.offset) > end + NEAR || unit.end() > start + AHEAD {
                    break;
                }
                end = unit.end();
            }
            let mut size = usize::try_from(end - start).unwrap_or(usize::MAX);
            if end - start > AHEAD {
                // What an index claims is not believed beyond the file's end and the longest unit.
                let there = file.metadata()?.len().saturating_sub(start);
                let there = usize::try_from(there).unwrap_or(usize::MAX);
                size = size.min(there).min(MOST_UNIT + HEAD + TAIL);
            }
            self.bytes.resize(size, 0);
            let read = read_full_at(file, &mut self.bytes, start)?;
            self.bytes.truncate(read);
            self.start = start;
        }
        let from = usize::try_from(start - self.start).unwrap_or(usize::MAX);
        let to = from.saturating_add(first.len as usize);
        let bytes = self.bytes.get(from..to.min(self.bytes.len()));
        Ok(bytes.unwrap_or_default())
    }
}
