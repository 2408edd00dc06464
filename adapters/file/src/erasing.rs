//! Erasing: a session's units are marked as erased and overwritten, wherever they stand.
//!
//! A file of the session's name says first that it is being erased. Whoever finds it, after a crash,
//! takes the session as erased and goes on. A count of erasures tells other store objects that what
//! they know of segments may not hold any more.

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
use crate::format::{self, HEAD, Head, Key, Place};
use crate::index::{Index, Unusable};
use crate::map::{Damage, Map};
use crate::places::{self, Places};
use crate::remains::each_unit;
use crate::scan::{Ending, Refused, scan};
use crate::upkeep::hold_cold;

pub(crate) use sweep::sweep;

/// How much is overwritten at once.
const PIECE: usize = 256 * 1024;

/// How the units are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Search {
    /// By the indexes of sealed segments; those without one are read. It finds all of a session
    /// whose log is sound and of which nothing is erased yet.
    Indexed,
    /// By reading all segments, whatever an index says: an attempt before may have erased a part, or
    /// the log is damaged.
    Whole,
}

/// Whether a session is being erased.
pub(crate) fn is_begun(places: &Places, session: &SessionId) -> bool {
    places.erasing(session).exists()
}

/// Says that a session is being erased, for good. Answers how what there is of it is to be found.
pub(crate) fn begin(places: &Places, session: &SessionId) -> Result<Search, StoreError> {
    let search = match is_begun(places, session) {
        true => Search::Whole,
        false => Search::Indexed,
    };
    let path = places.erasing(session);
    let begun = places::put(&path, b"", true).and_then(|()| File::open(places.root())?.sync_all());
    begun.map_err(|error| error::from_io(error, "erasing a session by", &path))?;
    Ok(search)
}

/// Erases what the segments have of sessions, in one pass over them, and what else is kept of these.
/// Answers how many segments were read for it.
pub(crate) fn finish(
    places: &Places,
    disk: &dyn Disk,
    sessions: &[SessionId],
    search: Search,
) -> Result<u64, StoreError> {
    let keys: BTreeSet<Key> = sessions.iter().map(Key::of).collect();
    let folder = places.lanes();
    let at = |error| error::from_io(error, "erasing a session in", &folder);
    // Nothing of it is written anew meanwhile.
    let _cold = hold_cold(places).map_err(at)?;
    let mut whole = 0;
    for place in places.list_all().map_err(at)? {
        let path = places.segment(place);
        let erased = erase_all(places, disk, place, &keys, search);
        let was_read = match erased {
            Ok(was_read) => was_read,
            Err(Refused::Io(error)) => {
                return Err(error::from_io(error, "erasing a session in", &path));
            }
            Err(Refused::Newer(format)) => return Err(error::newer(&path, format)),
        };
        whole += u64::from(was_read);
    }
    sweep::unfinished(places, sessions).map_err(at)?;
    for session in sessions {
        let path = places.snapshot(session);
        remove(&path).map_err(|error| error::from_io(error, "erasing", &path))?;
        let path = places.blobs(session);
        remove_tree(&path).map_err(|error| error::from_io(error, "erasing", &path))?;
    }
    note(places).map_err(at)?;
    for session in sessions {
        let path = places.erasing(session);
        remove(&path).map_err(|error| error::from_io(error, "erasing", &path))?;
    }
    Ok(whole)
}

/// Erases all that a segment has of sessions. Answers whether it was read for that.
fn erase_all(
    places: &Places,
    disk: &dyn Disk,
    place: Place,
    keys: &BTreeSet<Key>,
    search: Search,
) -> Result<bool, Refused> {
    let Some(file) = places::open_to_read(&places.segment(place))? else {
        return Ok(false);
    };
    if search == Search::Indexed
        && let Ok(units) = indexed(places, &file, place, keys)
    {
        mark(places, disk, place, &units)?;
        return Ok(false);
    }
    let units = units(&file, place, |head| keys.contains(&head.key))?;
    mark(places, disk, place, &units)?;
    if search == Search::Whole {
        let mut map = Map::empty(place, 0);
        scan(&file, &mut map, Ending::Sealed)?;
        for damage in &map.damages {
            let of = keys.iter().find(|key| Some(key.half()) == damage.half);
            if let Some(key) = of {
                blank(places, disk, place, *key, damage, Seq::ZERO)?;
            }
        }
    }
    Ok(true)
}

/// A unit that is to be erased.
#[derive(Debug, Clone, Copy)]
struct Doomed {
    offset: u64,
    word: [u8; 4],
    len: u32,
}

/// Marks a session's units behind position `after` of a segment as erased and overwrites what they
/// held. Answers how many bytes that were. A unit with positions on both sides is erased too.
pub(crate) fn erase(
    places: &Places,
    disk: &dyn Disk,
    place: Place,
    key: Key,
    after: Seq,
) -> io::Result<u64> {
    let Some(reading) = places::open_to_read(&places.segment(place))? else {
        return Ok(0);
    };
    let units = units(&reading, place, |head| {
        head.key == key && head.last() > after
    })?;
    mark(places, disk, place, &units)?;
    Ok(units.iter().map(|unit| u64::from(unit.len)).sum())
}

/// Marks units as erased and overwrites what they held.
fn mark(places: &Places, disk: &dyn Disk, place: Place, units: &[Doomed]) -> io::Result<()> {
    if units.is_empty() {
        return Ok(());
    }
    let path = places.segment(place);
    // An index tells of what is erased. It is made anew from what is left.
    remove(&places.index(place))?;
    let file = disk.take(places::open_to_write(&path, false)?, &path);
    for Doomed { offset, word, len } in units {
        write_all_at(&*file, word, *offset)?;
        zero(&*file, offset + HEAD as u64, offset + u64::from(*len))?;
    }
    file.sync()
}

/// Makes a session's damaged unit an erased one. Answers how many bytes that were.
pub(crate) fn blank(
    places: &Places,
    disk: &dyn Disk,
    place: Place,
    key: Key,
    damage: &Damage,
    after: Seq,
) -> io::Result<u64> {
    let len = damage.end.saturating_sub(damage.offset);
    let Some(head) = format::erased_head(place, damage.offset, key, after.next(), len) else {
        return Ok(0);
    };
    let path = places.segment(place);
    let file = disk.take(places::open_to_write(&path, false)?, &path);
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

/// Units of a segment, those that are marked already among them, for they may not be overwritten yet.
fn units(
    file: &dyn LogFile,
    place: Place,
    doomed: impl Fn(&Head) -> bool,
) -> io::Result<Vec<Doomed>> {
    let mut found = Vec::new();
    each_unit(file, place, &mut |offset, head, _| {
        if doomed(head) {
            found.push(Doomed {
                offset,
                word: head.erased_word(),
                len: head.len,
            });
        }
    })?;
    Ok(found)
}

/// The units of sessions in a sealed segment, by its index as far as the segment bears it out.
fn indexed(
    places: &Places,
    file: &File,
    place: Place,
    keys: &BTreeSet<Key>,
) -> Result<Vec<Doomed>, Unusable> {
    let index = Index::open(places, place, file.len()?)?;
    let mut found = Vec::new();
    for key in keys {
        let stretches = index.find(*key)?.map_or(0, |entry| entry.stretches.len());
        for stretch in 0..stretches {
            for unit in index.units(*key, stretch)? {
                let (offset, mut bytes) = (u64::from(unit.offset), [0; HEAD]);
                read_full_at(file, &mut bytes, offset)?;
                let head = format::read_head(place, offset, &bytes);
                let fits = |head: &Head| head.key == *key && head.len == unit.len && !head.erased;
                let head = head.filter(fits).ok_or(Unusable)?;
                found.push(Doomed {
                    offset,
                    word: head.erased_word(),
                    len: head.len,
                });
            }
        }
    }
    Ok(found)
}

/// A number that is another one after each erasure.
pub(crate) fn count(places: &Places) -> u64 {
    fs::metadata(counter(places)).map_or(0, |found| found.len())
}

/// Notes an erasure.
pub(crate) fn note(places: &Places) -> io::Result<()> {
    let file = places::open_to_write(&counter(places), true)?;
    // Two at the same time may count as one: to be another number is enough.
    let len = file.metadata()?.len();
    file.set_len(len + 1)
}

fn counter(places: &Places) -> PathBuf {
    places.root().join("erasures")
}

/// Removes a file where it is there, for good.
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

/// Removes a folder with all that is in it where it is there, for good.
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
