//! Records of repairs in progress, so that an interrupted one is known and the same repair finishes
//! it.
//!
//! A record is written once the data to be removed is saved, and before anything is removed. It has
//! the path of the saved data.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use windlass_core::{Seq, SessionId};
use windlass_ports::StoreError;

use crate::erasing;
use crate::error;
use crate::paths::{self, StorePaths};
use crate::store::FileStore;
use crate::unattributed::DamageLocation;

/// Most bytes of a record.
const MOST: u64 = 64 * 1024;

/// Maintenance of a store that was interrupted. The same command finishes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnfinishedMaintenance {
    /// A session is being erased. It exists no more, and some of its facts are still in the files.
    Erasure(SessionId),
    /// A log is being cut off behind a position.
    Truncation(SessionId, Seq),
    /// Damage is being discarded.
    Discard(DamageLocation),
}

/// Cut of a log that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BegunTruncation {
    pub(crate) at: Seq,
    /// Path of the saved data, if any was saved.
    pub(crate) saved: Option<PathBuf>,
}

impl FileStore {
    /// Lists interrupted maintenance. Takes no lock, so it also lists what is still running.
    ///
    /// # Errors
    /// `Io`.
    pub fn unfinished(dir: &Path) -> Result<Vec<UnfinishedMaintenance>, StoreError> {
        let paths = StorePaths::new(dir.to_owned());
        let at = |error| error::reading(error, dir);
        let erasures = paths.list_erasings().map_err(at)?.into_iter();
        let mut all: Vec<_> = erasures.map(UnfinishedMaintenance::Erasure).collect();
        for name in paths::names(&paths.repairs()).map_err(at)? {
            if let Some(place) = name.strip_prefix('@') {
                let place = place.replacen('-', "/", 1).replacen('-', "@", 1);
                all.extend(place.parse().map(UnfinishedMaintenance::Discard));
            } else if let Ok(session) = SessionId::new(&name)
                && let Some(begun) = truncation(&paths, &session).map_err(at)?
            {
                all.push(UnfinishedMaintenance::Truncation(session, begun.at));
            }
        }
        Ok(all)
    }
}

/// Refuses a session whose log is being cut off: some of the facts behind the position are gone.
pub(crate) fn check(paths: &StorePaths, session: &SessionId) -> Result<(), StoreError> {
    let begun = truncation(paths, session);
    match begun.map_err(|error| error::reading(error, &paths.repairs()))? {
        Some(begun) => Err(error::unfinished_repair(session, paths.root(), begun.at)),
        None => Ok(()),
    }
}

/// Reads the record of a session's truncation.
pub(crate) fn truncation(
    paths: &StorePaths,
    session: &SessionId,
) -> io::Result<Option<BegunTruncation>> {
    let Some((at, saved)) = read(&paths.truncating(session))? else {
        return Ok(None);
    };
    Ok(at.parse().ok().map(|at| BegunTruncation { at: Seq(at), saved }))
}

/// Records durably that a log is being cut off.
pub(crate) fn begin_truncation(
    paths: &StorePaths,
    session: &SessionId,
    at: Seq,
    saved: Option<&Path>,
) -> io::Result<()> {
    write(paths, &paths.truncating(session), &at.0.to_string(), saved)
}

/// Reads the record of a discard, with the path of the data that it saved.
pub(crate) fn discard(
    paths: &StorePaths,
    at: DamageLocation,
) -> io::Result<Option<Option<PathBuf>>> {
    Ok(read(&paths.discarding(at))?.map(|(_, saved)| saved))
}

/// Records durably that damage is being discarded.
pub(crate) fn begin_discard(
    paths: &StorePaths,
    at: DamageLocation,
    saved: Option<&Path>,
) -> io::Result<()> {
    write(paths, &paths.discarding(at), "", saved)
}

/// Removes a record.
pub(crate) fn end(record: &Path) -> io::Result<()> {
    erasing::remove(record)
}

fn write(paths: &StorePaths, record: &Path, what: &str, saved: Option<&Path>) -> io::Result<()> {
    let mut bytes = what.as_bytes().to_vec();
    bytes.push(b'\n');
    bytes.extend_from_slice(saved.map_or(OsStr::new(""), Path::as_os_str).as_bytes());
    paths::put(record, &bytes, true)?;
    File::open(paths.root())?.sync_all()
}

fn read(record: &Path) -> io::Result<Option<(String, Option<PathBuf>)>> {
    let Some(file) = paths::open_to_read(record)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(file, MOST), &mut bytes)?;
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (what, saved) = bytes.split_at(end);
    let saved = saved.get(1..).filter(|saved| !saved.is_empty());
    let saved = saved.map(|saved| PathBuf::from(OsStr::from_bytes(saved)));
    Ok(Some((String::from_utf8_lossy(what).into_owned(), saved)))
}
