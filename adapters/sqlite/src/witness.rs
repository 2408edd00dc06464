//! The witness: how many commits the database had, in a file of its own. SQLite takes a damaged end
//! of its write-ahead log for one that was never written, and an emptied file for a new database.
//! With fewer commits than the witness states, it has lost some.
//!
//! It is written after each commit without a sync, so it is never ahead of what was durable, and of
//! several processes the last one counts.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use windlass_ports::StoreError;

use crate::error::io_error;
use crate::folder::StoreFolder;

const MAGIC: &[u8; 8] = b"wlsqlw 1";
const BYTES: usize = 8 + 8 + 4;

/// Writer of a witness.
#[derive(Debug)]
pub(crate) struct Witness {
    file: File,
    folder: StoreFolder,
}

impl Witness {
    pub(crate) fn open(folder: &StoreFolder) -> Result<Self, StoreError> {
        let path = folder.witness();
        let opened =
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = opened.map_err(|error| io_error("opening", &path, error))?;
        Ok(Self { file, folder: folder.clone() })
    }

    /// States that the database has this many commits.
    pub(crate) fn state(&self, commits: i64) -> Result<(), StoreError> {
        let written = self.file.write_all_at(&encode(commits), 0);
        written.map_err(|error| io_error("writing", &self.folder.witness(), error))
    }
}

/// Reads how many commits a database had; `None` if nothing states it.
pub(crate) fn stated(folder: &StoreFolder) -> Result<Option<i64>, StoreError> {
    let path = folder.witness();
    match fs::read(&path) {
        Ok(bytes) => Ok(decode(&bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("reading", &path, error)),
    }
}

fn encode(commits: i64) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    let (head, crc) = bytes.split_at_mut(16);
    head[..8].copy_from_slice(MAGIC);
    head[8..].copy_from_slice(&commits.to_le_bytes());
    crc.copy_from_slice(&crc32c::crc32c(head).to_le_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Option<i64> {
    let (head, crc) = bytes.split_at_checked(16)?;
    let (magic, commits) = head.split_first_chunk::<8>()?;
    let sound = magic == MAGIC && crc == crc32c::crc32c(head).to_le_bytes();
    sound.then(|| i64::from_le_bytes(commits.try_into().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_witness_that_was_changed_states_nothing() {
        let sound = encode(0x0102_0304);
        assert_eq!(decode(&sound), Some(0x0102_0304));
        for bit in 0..sound.len() * 8 {
            let mut changed = sound;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&changed), None, "bit {bit}");
        }
        assert_eq!(decode(&sound[..19]), None);
        assert_eq!(decode(&[]), None);
    }
}
