//! Checkpoints: one file a session, beside the database, since they are a cache and need no commit.
//! One is valid only while the log has the recorded link.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;
use windlass_core::{Seq, SessionId};
use windlass_ports::{ChainLink, StoreError, StoreErrorKind, StoredCheckpoint};

use crate::error::{corrupt, io_error, sqlite_error};
use crate::folder::StoreFolder;
use crate::read::{link_at, written};

/// Most bytes of a checkpoint.
pub(crate) const MOST: usize = 64 * 1024 * 1024;

const MAGIC: &[u8; 8] = b"wlsqlc 1";
/// Bytes before the version: the magic word, the position, the link, the version's length.
const HEAD: usize = 8 + 8 + ChainLink::BYTES + 8;

/// Replaces the checkpoint of a session.
pub(crate) fn write(
    folder: &StoreFolder,
    db: &mut Connection,
    session: &SessionId,
    new: &StoredCheckpoint,
) -> Result<(), StoreError> {
    let doing = format!("storing a checkpoint of session {session} in");
    let failed = |error| sqlite_error(&doing, &folder.dir, error);
    let refused = |kind, what: String| {
        let dir = folder.dir.display();
        Err(StoreError::new(kind, format!("{doing} the SQLite store {dir}: {what}")))
    };
    if new.bytes.len() > MOST {
        let what = format!("it has {} bytes, and at most {MOST} are taken", new.bytes.len());
        return refused(StoreErrorKind::TooLarge, what);
    }
    let snapshot = db.transaction().map_err(failed)?;
    let row = written(folder, &snapshot, session)?;
    if new.seq > row.end.last {
        let what = format!("it is at {}, and the log ends at {}", new.seq, row.end.last);
        return refused(StoreErrorKind::Invalid, what);
    }
    let Some(link) = link_at(&snapshot, session, row.log, new.seq).map_err(failed)? else {
        return Err(corrupt(&folder.dir, session, Seq::ZERO, "its fact is missing"));
    };
    let path = path(folder, session);
    put(folder, session, &encode(new, &link)).map_err(|error| io_error("writing", &path, error))
}

/// Reads the checkpoint of this version, if the log has its link.
pub(crate) fn read(
    folder: &StoreFolder,
    db: &mut Connection,
    session: &SessionId,
    version: &str,
) -> Result<Option<StoredCheckpoint>, StoreError> {
    let doing = format!("reading the checkpoint of session {session} in");
    let failed = |error| sqlite_error(&doing, &folder.dir, error);
    let snapshot = db.transaction().map_err(failed)?;
    let row = written(folder, &snapshot, session)?;
    let path = path(folder, session);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error("reading", &path, error)),
    };
    let Some((checkpoint, link)) = decode(bytes) else {
        return Ok(None);
    };
    let here = link_at(&snapshot, session, row.log, checkpoint.seq).map_err(failed)?;
    let sound =
        checkpoint.version == version && checkpoint.seq <= row.end.last && here == Some(link);
    Ok(sound.then_some(checkpoint))
}

/// Removes the checkpoint of a session, with what an interrupted write of one left.
pub(crate) fn remove(folder: &StoreFolder, session: &SessionId) -> Result<(), StoreError> {
    let dir = folder.checkpoints();
    let failed = |error| io_error("removing a checkpoint in", &dir, error);
    let unfinished = format!("{session}~");
    for entry in fs::read_dir(&dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name == session.as_str() || name.starts_with(&unfinished) {
            match fs::remove_file(entry.path()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                Ok(()) | Err(_) => {}
            }
        }
    }
    Ok(())
}

fn path(folder: &StoreFolder, session: &SessionId) -> PathBuf {
    folder.checkpoints().join(session.as_str())
}

/// Writes a file under another name, which no session has, and renames it.
fn put(folder: &StoreFolder, session: &SessionId, bytes: &[u8]) -> io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let new = folder.checkpoints().join(format!("{session}~{process}-{number}"));
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    let done = file.write_all(bytes).and_then(|()| fs::rename(&new, path(folder, session)));
    if done.is_err() {
        let _ = fs::remove_file(&new);
    }
    done
}

fn encode(checkpoint: &StoredCheckpoint, link: &ChainLink) -> Vec<u8> {
    let version = checkpoint.version.as_bytes();
    let mut bytes = Vec::with_capacity(HEAD + version.len() + checkpoint.bytes.len() + 4);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&checkpoint.seq.0.to_le_bytes());
    bytes.extend_from_slice(&link.0);
    bytes.extend_from_slice(&(version.len() as u64).to_le_bytes());
    bytes.extend_from_slice(version);
    bytes.extend_from_slice(&checkpoint.bytes);
    let crc = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes
}

fn decode(mut bytes: Vec<u8>) -> Option<(StoredCheckpoint, ChainLink)> {
    let end = bytes.len().checked_sub(4)?;
    let crc = bytes.split_off(end);
    let (magic, rest) = bytes.split_first_chunk::<8>()?;
    let (seq, rest) = rest.split_first_chunk::<8>()?;
    let (link, rest) = rest.split_first_chunk::<{ ChainLink::BYTES }>()?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (version, body) = rest.split_at_checked(length)?;
    if magic != MAGIC || crc != crc32c::crc32c(&bytes).to_le_bytes() {
        return None;
    }
    let version = String::from_utf8(version.to_vec()).ok()?;
    let seq = Seq(u64::from_le_bytes(*seq));
    Some((StoredCheckpoint { seq, version, bytes: body.to_vec() }, ChainLink(*link)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_that_was_changed_is_none() {
        let (version, bytes) = (String::from("1"), vec![1, 2, 3]);
        let checkpoint = StoredCheckpoint { seq: Seq(4), version, bytes };
        let sound = encode(&checkpoint, &ChainLink([5; 32]));
        assert_eq!(decode(sound.clone()), Some((checkpoint, ChainLink([5; 32]))));
        for at in 0..sound.len() {
            let mut changed = sound.clone();
            changed[at] ^= 4;
            assert_eq!(decode(changed), None, "byte {at}");
            assert_eq!(decode(sound[..at].to_vec()), None, "the first {at} bytes");
        }
    }
}
