//! Erasing: marks all units of a session as erased and overwrites their content.
//!
//! A file named after the session first records that erasing has begun. After a crash, the next
//! claim or maintenance finds it and continues. A counter of erasures tells other store objects to
//! drop cached segments.

mod offline;
mod sweep;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use windlass_core::{Seq, SessionId};
use windlass_ports::StoreError;

use crate::disk::{Disk, LogFile, read_full_at, write_all_at};
use crate::error;
use crate::format::{self, HEAD, SegmentId, SessionKey, UnitHeader};
use crate::index::{SegmentIndex, UnusableIndex};
use crate::locks::{lock_erasing, lock_merged};
use crate::paths::{self, MERGED_WRITER, StorePaths};
use crate::salvage::each_unit;
use crate::scan::{self, ExpectedEnd, ScanError, scan};
use crate::segment_map::{Damage, SegmentMap};
use crate::{witness, writer};

pub(crate) use sweep::sweep;

/// Bytes to overwrite at once.
const PIECE: usize = 256 * 1024;

/// Method to find a session's units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UnitSearch {
    /// Uses the indexes of sealed segments and reads segments without one. It finds all units of a
    /// sound log that no erasure has touched.
    Indexed,
    /// Reads all segments. Needed if an earlier erasure was interrupted or the log is damaged.
    Whole,
}

/// Returns true while a session is being erased.
pub(crate) fn is_begun(paths: &StorePaths, session: &SessionId) -> bool {
    paths.erasing(session).exists()
}

/// Records durably that a session is being erased. Returns the search that its units need.
pub(crate) fn begin(paths: &StorePaths, session: &SessionId) -> Result<UnitSearch, StoreError> {
    let search = match is_begun(paths, session) {
        true => UnitSearch::Whole,
        false => UnitSearch::Indexed,
    };
    let path = paths.erasing(session);
    let begun = paths::put(&path, b"", true).and_then(|()| File::open(paths.root())?.sync_all());
    begun.map_err(|error| error::from_io(error, "erasing a session by", &path))?;
    Ok(search)
}

/// Erases sessions from all segments in one pass, with their snapshots and blobs. Returns the
/// number of segments that were read.
pub(crate) fn finish(
    paths: &StorePaths,
    disk: &dyn Disk,
    sessions: &[SessionId],
    search: UnitSearch,
) -> Result<u64, StoreError> {
    let keys: BTreeSet<SessionKey> = sessions.iter().map(SessionKey::of).collect();
    let folder = paths.writers_folder();
    let at = |error| error::from_io(error, "erasing a session in", &folder);
    // Nothing of it is written anew meanwhile.
    let _lock = lock_merged(paths).map_err(at)?;
    let mut whole = 0;
    for place in paths.list_all().map_err(at)? {
        let path = paths.segment(place);
        let erased = erase_all(paths, disk, place, &keys, search);
        let was_read = match erased {
            Ok(was_read) => was_read,
            Err(ScanError::Io(error)) => {
                return Err(error::from_io(error, "erasing a session in", &path));
            }
            Err(ScanError::Newer(format)) => return Err(error::newer(&path, format)),
        };
        whole += u64::from(was_read);
    }
    witness::erase(paths, |key| keys.contains(&key)).map_err(at)?;
    cut_torn_tails(paths, disk)?;
    sweep::unfinished(paths, sessions).map_err(at)?;
    for session in sessions {
        let path = paths.checkpoint(session);
        remove(&path).map_err(|error| error::from_io(error, "erasing", &path))?;
        let path = paths.truncating(session);
        remove(&path).map_err(|error| error::from_io(error, "erasing", &path))?;
        let path = paths.blobs(session);
        remove_tree(&path).map_err(|error| error::from_io(error, "erasing", &path))?;
    }
    note(paths).map_err(at)?;
    for session in sessions {
        let path = paths.erasing(session);
        remove(&path).map_err(|error| error::from_io(error, "erasing", &path))?;
    }
    Ok(whole)
}

/// Cuts off unfinished appends of dead processes. What is left of a unit may not name its session.
fn cut_torn_tails(paths: &StorePaths, disk: &dyn Disk) -> Result<(), StoreError> {
    let folder = paths.writers_folder();
    let at = |error| error::from_io(error, "erasing a session in", &folder);
    for lane in paths.list_writers().map_err(at)? {
        let last = paths.list_present(lane).map_err(at)?.into_iter().max();
        let Some(number) = last.filter(|_| lane != MERGED_WRITER) else {
            continue;
        };
        // A process that writes to the lane cuts its own.
        let Some(_lock) = paths.lock_writer(lane).map_err(at)? else {
            continue;
        };
        let mut map = SegmentMap::empty(SegmentId { writer: lane, number }, 0);
        let path = paths.segment(map.segment);
        let Ok(file) = paths::open_to_write(&path, false) else {
            continue;
        };
        let known = scan::witness(paths, &map);
        let file = disk.wrap(file, &path);
        let _torn = writer::settle(&*file, &mut map, &path, known.as_ref())?;
    }
    Ok(())
}

/// Erases sessions from one segment. Returns true if the segment was read.
fn erase_all(
    paths: &StorePaths,
    disk: &dyn Disk,
    place: SegmentId,
    keys: &BTreeSet<SessionKey>,
    search: UnitSearch,
) -> Result<bool, ScanError> {
    let Some(file) = paths::open_to_read(&paths.segment(place))? else {
        return Ok(false);
    };
    if search == UnitSearch::Indexed
        && let Ok(units) = indexed(paths, &file, place, keys)
    {
        mark(paths, disk, place, &units)?;
        return Ok(false);
    }
    let units = units(&file, place, |head| keys.contains(&head.key))?;
    mark(paths, disk, place, &units)?;
    if search == UnitSearch::Whole {
        let mut map = SegmentMap::empty(place, 0);
        scan(&file, &mut map, ExpectedEnd::Sealed, None)?;
        for damage in &map.damages {
            let of = keys.iter().find(|key| Some(key.half()) == damage.half);
            if let Some(key) = of {
                overwrite(paths, disk, place, *key, damage, Seq::ZERO)?;
            }
        }
    }
    Ok(true)
}

/// A unit to mark as erased.
#[derive(Debug, Clone, Copy)]
struct EraseTarget {
    offset: u64,
    word: [u8; 4],
    len: u32,
}

/// Erases a session's units with positions behind `after` from a segment, even if they begin before
/// it. Returns their bytes.
pub(crate) fn erase(
    paths: &StorePaths,
    disk: &dyn Disk,
    place: SegmentId,
    key: SessionKey,
    after: Seq,
) -> io::Result<u64> {
    let Some(reading) = paths::open_to_read(&paths.segment(place))? else {
        return Ok(0);
    };
    let units = units(&reading, place, |head| head.key == key && head.last() > after)?;
    mark(paths, disk, place, &units)?;
    Ok(units.iter().map(|unit| u64::from(unit.len)).sum())
}

/// Marks units as erased and overwrites their content.
fn mark(
    paths: &StorePaths,
    disk: &dyn Disk,
    place: SegmentId,
    units: &[EraseTarget],
) -> io::Result<()> {
    if units.is_empty() {
        return Ok(());
    }
    let path = paths.segment(place);
    // An index tells of what is erased. It is made anew from what is left, and not before.
    let _lock = lock_erasing(paths)?;
    remove(&paths.index(place))?;
    let file = disk.wrap(paths::open_to_write(&path, false)?, &path);
    for EraseTarget { offset, word, len } in units {
        write_all_at(&*file, word, *offset)?;
        zero(&*file, offset + HEAD as u64, offset + u64::from(*len))?;
    }
    file.sync()
}

/// Replaces a session's damaged unit by an erased one. Returns its bytes.
pub(crate) fn overwrite(
    paths: &StorePaths,
    disk: &dyn Disk,
    place: SegmentId,
    key: SessionKey,
    damage: &Damage,
    after: Seq,
) -> io::Result<u64> {
    let len = damage.end.saturating_sub(damage.offset);
    let Some(head) = format::erased_header(place, damage.offset, key, after.next(), len) else {
        return Ok(0);
    };
    let path = paths.segment(place);
    let file = disk.wrap(paths::open_to_write(&path, false)?, &path);
    write_all_at(&*file, &head, damage.offset)?;
    zero(&*file, damage.offset + HEAD as u64, damage.end)?;
    file.sync()?;
    Ok(len)
}

fn zero(file: &dyn LogFile, from: u64, to: u64) -> io::Result<()> {
    let mut at = from;
    while at < to {
        let size = usize::try_from(to - at).unwrap_or(PIECE).min(PIECE);
        write_all_at(file, &vec![0; size], at)?;
        at += size as u64;
    }
    Ok(())
}

/// Finds units in a segment. Includes units that are marked already, since their content may not be
/// overwritten yet.
fn units(
    file: &dyn LogFile,
    place: SegmentId,
    doomed: impl Fn(&UnitHeader) -> bool,
) -> io::Result<Vec<EraseTarget>> {
    let mut found = Vec::new();
    each_unit(file, place, &mut |offset, head, _| {
        if doomed(head) {
            found.push(EraseTarget { offset, word: head.erased_word(), len: head.len });
        }
    })?;
    Ok(found)
}

/// Finds the units of sessions by the index of a sealed segment, checked against the segment.
fn indexed(
    paths: &StorePaths,
    file: &File,
    place: SegmentId,
    keys: &BTreeSet<SessionKey>,
) -> Result<Vec<EraseTarget>, UnusableIndex> {
    let index = SegmentIndex::open(paths, place, file.len()?)?;
    let mut found = Vec::new();
    for key in keys {
        let extents = index.find(*key)?.map_or(0, |entry| entry.extents.len());
        for extent in 0..extents {
            for unit in index.units(*key, extent)? {
                let (offset, mut bytes) = (u64::from(unit.offset), [0; HEAD]);
                read_full_at(file, &mut bytes, offset)?;
                let head = format::read_header(place, offset, &bytes);
                let fits =
                    |head: &UnitHeader| head.key == *key && head.len == unit.len && !head.erased;
                let head = head.filter(fits).ok_or(UnusableIndex)?;
                found.push(EraseTarget { offset, word: head.erased_word(), len: head.len });
            }
        }
    }
    Ok(found)
}

/// Number of erasures in this store.
pub(crate) fn count(paths: &StorePaths) -> u64 {
    fs::metadata(counter(paths)).map_or(0, |found| found.len())
}

/// Counts an erasure.
pub(crate) fn note(paths: &StorePaths) -> io::Result<()> {
    let file = paths::open_to_write(&counter(paths), true)?;
    // Two at the same time may count as one: to be another number is enough.
    let len = file.metadata()?.len();
    file.set_len(len + 1)
}

fn counter(paths: &StorePaths) -> PathBuf {
    paths.root().join("erasures")
}

/// Removes a file durably, if it exists.
pub(crate) fn remove(path: &std::path::Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Ok(()) => match path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes a folder and its content durably, if it exists.
fn remove_tree(path: &std::path::Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Ok(()) => match path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
