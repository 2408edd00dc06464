//! Snapshots: one file each beside the database, without syncs. The database would never free their
//! space.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_core::{Seq, SessionId};
use windlass_ports::{ChainLink, StoreError, StoreErrorKind, StoredCheckpoint};

use crate::error::{corrupt, fault, io_error};
use crate::open_store::OpenStore;
use crate::read::head_of;
use crate::scan;

/// Most bytes of a snapshot.
pub(crate) const MOST: usize = 16 * 1024 * 1024;

/// Most bytes of a version's name.
const MOST_VERSION: usize = 1024;

const MAGIC: &[u8; 16] = b"windlass-snap-1\n";

/// Separates the session's id and a number in the name of an unfinished file. No id has it.
const UNFINISHED: char = '+';

/// Replaces the snapshot of a session.
pub(crate) fn put(
    shared: &OpenStore,
    session: &SessionId,
    snapshot: &StoredCheckpoint,
) -> Result<(), StoreError> {
    let dir = shared.dir.display();
    let refused = |kind, what: String| {
        let doing = format!("keeping a snapshot of session {session} in the sled store {dir}");
        StoreError::new(kind, format!("{doing}: {what}"))
    };
    let head = head_of(shared, session)?;
    if snapshot.seq > head.seq || snapshot.version.len() > MOST_VERSION {
        let what = format!(
            "it is of position {} and the log ends at {}, or its version has more than \
             {MOST_VERSION} bytes; this is a bug of the caller",
            snapshot.seq, head.seq
        );
        return Err(refused(StoreErrorKind::Invalid, what));
    }
    if snapshot.bytes.len() > MOST {
        let what = format!(
            "it has {} bytes and at most {MOST} are taken; go on without it",
            snapshot.bytes.len()
        );
        return Err(refused(StoreErrorKind::TooLarge, what));
    }
    let link = link_at(shared, session, snapshot.seq)?;
    let folder = folder(&shared.dir);
    let replaced = replace(&folder, session, &encode(session, link, snapshot));
    replaced.map_err(|error| io_error("keeping a snapshot in", &folder, error))
}

/// Returns the snapshot of this version, if the log has its link.
pub(crate) fn get(
    shared: &OpenStore,
    session: &SessionId,
    version: &str,
) -> Result<Option<StoredCheckpoint>, StoreError> {
    let head = head_of(shared, session)?;
    let path = folder(&shared.dir).join(session.as_str());
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error("reading the snapshot", &path, error)),
    };
    let found = decode(session, &bytes);
    let Some((link, snapshot)) = found.filter(|(_, found)| found.version == version) else {
        return Ok(None);
    };
    // A log that is damaged there bears nothing out; whoever reads it is told.
    let stands = snapshot.seq <= head.seq
        && link_at(shared, session, snapshot.seq).is_ok_and(|known| known == link);
    Ok(stands.then_some(snapshot))
}

/// Removes the unfinished files of a dead process.
pub(crate) fn clear_unfinished(dir: &Path) -> Result<(), StoreError> {
    let folder = folder(dir);
    let clear = || -> io::Result<()> {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().contains(UNFINISHED) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    };
    match clear() {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(io_error("clearing", &folder, error)),
    }
}

fn folder(dir: &Path) -> PathBuf {
    dir.join("snapshots")
}

/// Reads the link of a position in a log that reaches it.
fn link_at(shared: &OpenStore, session: &SessionId, seq: Seq) -> Result<ChainLink, StoreError> {
    if seq == Seq::ZERO {
        return Ok(ChainLink::genesis(session));
    }
    let OpenStore { db, dir, .. } = shared;
    let record = scan::record(db, session, seq);
    let record = record.map_err(|found| fault(dir, session, Seq::ZERO, found))?;
    let missing = || corrupt(dir, session, Seq::ZERO, &format!("position {seq} is missing"));
    Ok(record.ok_or_else(missing)?.header.link)
}

fn replace(folder: &Path, session: &SessionId, bytes: &[u8]) -> io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let new = folder.join(format!("{session}{UNFINISHED}{number}"));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = options
        .open(&new)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&new, folder.join(session.as_str())));
    // What is left of a full disk would only make it fuller.
    written.inspect_err(|_| drop(fs::remove_file(&new)))
}

fn encode(session: &SessionId, link: ChainLink, snapshot: &StoredCheckpoint) -> Vec<u8> {
    let StoredCheckpoint { seq, version, bytes } = snapshot;
    let mut file = MAGIC.to_vec();
    file.extend_from_slice(&seq.0.to_le_bytes());
    file.extend_from_slice(&link.0);
    let len = u16::try_from(version.len()).unwrap_or(u16::MAX);
    file.extend_from_slice(&len.to_le_bytes());
    file.extend_from_slice(version.as_bytes());
    file.extend_from_slice(bytes);
    let crc = crc(session, &file);
    file.extend_from_slice(&crc.to_le_bytes());
    file
}

/// Decodes a snapshot and the link of its position; returns `None` if it is invalid or of another
/// session.
fn decode(session: &SessionId, file: &[u8]) -> Option<(ChainLink, StoredCheckpoint)> {
    let (covered, sum) = file.split_last_chunk::<4>()?;
    if crc(session, covered) != u32::from_le_bytes(*sum) {
        return None;
    }
    let rest = covered.strip_prefix(MAGIC)?;
    let (seq, rest) = rest.split_first_chunk::<8>()?;
    let (link, rest) = rest.split_first_chunk::<32>()?;
    let (len, rest) = rest.split_first_chunk::<2>()?;
    let (version, bytes) = rest.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
    let snapshot = StoredCheckpoint {
        seq: Seq(u64::from_le_bytes(*seq)),
        version: std::str::from_utf8(version).ok()?.to_owned(),
        bytes: bytes.to_vec(),
    };
    Some((ChainLink(*link), snapshot))
}

/// Checksum of a snapshot. It covers the session, so that another session's file is invalid.
fn crc(session: &SessionId, covered: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(session.as_str().as_bytes()), covered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_flipped_bit_no_cut_and_no_other_session_passes() {
        let session = SessionId::new("s").unwrap();
        let snapshot = StoredCheckpoint {
            seq: Seq(7),
            version: "1".to_owned(),
            bytes: b"what it folds to".to_vec(),
        };
        let link = ChainLink::genesis(&session);
        let file = encode(&session, link, &snapshot);
        assert_eq!(decode(&session, &file), Some((link, snapshot)));
        assert_eq!(decode(&SessionId::new("t").unwrap(), &file), None);
        for bit in 0..file.len() * 8 {
            let mut flipped = file.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&session, &flipped), None, "bit {bit}");
        }
        for len in 0..file.len() {
            assert_eq!(decode(&session, &file[..len]), None, "cut to {len}");
        }
        assert_eq!(decode(&session, &vec![0; file.len()]), None);
    }

    #[test]
    fn what_was_being_written_is_cleared() {
        let place = tempfile::tempdir().unwrap();
        clear_unfinished(place.path()).unwrap();
        let session = SessionId::new("s").unwrap();
        replace(&folder(place.path()), &session, b"whole").unwrap();
        fs::write(folder(place.path()).join("s+9"), b"ha").unwrap();
        clear_unfinished(place.path()).unwrap();
        let names = fs::read_dir(folder(place.path())).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["s"]);
    }
}
