//! Erasing: a session's units are marked as erased and overwritten, wherever they stand.
//!
//! A file of the session's name says first that it is being erased. Whoever finds it, after a crash,
//! takes the session as erased and goes on. A count of erasures tells other store objects that what
//! they know of segments may not hold any more.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use windlass_core::{Seq, SessionId};
use windlass_ports::StoreError;

use crate::disk::{Disk, LogFile, write_all_at};
use crate::error;
use crate::format::{self, HEAD, Key, Place};
use crate::map::Damage;
use crate::places::{self, Places};
use crate::remains::each_unit;
use crate::upkeep::hold_cold;

/// How much is overwritten at once.
const PIECE: usize = 256 * 1024;

/// Whether a session is being erased.
pub(crate) fn is_begun(places: &Places, session: &SessionId) -> bool {
    places.erasing(session).exists()
}

/// Says that a session is being erased, for good.
pub(crate) fn begin(places: &Places, session: &SessionId) -> Result<(), StoreError> {
    let path = places.erasing(session);
    let begun = places::put(&path, b"", true).and_then(|()| File::open(places.root())?.sync_all());
    begun.map_err(|error| error::from_io(error, "erasing a session by", &path))
}

/// Erases what the segments have of a session, and what else is kept of it.
///
/// All segments are looked through, whatever an index says: nothing may be left.
pub(crate) fn finish(
    places: &Places,
    disk: &dyn Disk,
    session: &SessionId,
) -> Result<(), StoreError> {
    let key = Key::of(session);
    let folder = places.lanes();
    let at = |error| error::from_io(error, "erasing a session in", &folder);
    // Nothing of it is written anew meanwhile.
    let _cold = hold_cold(places).map_err(at)?;
    for lane in places.list_lanes().map_err(at)? {
        for number in places.list_segments(lane).map_err(at)? {
            let place = Place { lane, number };
            let path = places.segment(place);
            let erased = erase(places, disk, place, key, Seq::ZERO);
            erased.map_err(|error| error::from_io(error, "erasing a session in", &path))?;
        }
    }
    for path in [places.old_log(session), places.snapshot(session)] {
        remove(&path).map_err(|error| error::from_io(error, "erasing", &path))?;
    }
    note(places).map_err(at)?;
    let path = places.erasing(session);
    let ended = remove(&path);
    ended.map_err(|error| error::from_io(error, "erasing", &path))
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
    let path = places.segment(place);
    let Some(reading) = places::open_to_read(&path)? else {
        return Ok(0);
    };
    let units = units(&reading, place, key, after)?;
    if units.is_empty() {
        return Ok(0);
    }
    // An index tells of what is erased. It is made anew from what is left.
    remove(&places.index(place))?;
    let file = disk.take(places::open_to_write(&path, false)?, &path);
    let mut bytes = 0;
    for (offset, word, len) in units {
        write_all_at(&*file, &word, offset)?;
        zero(&*file, offset + HEAD as u64, offset + u64::from(len))?;
        bytes += u64::from(len);
    }
    file.sync()?;
    Ok(bytes)
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

/// The units of a session in a segment, those that are marked already among them, for they may not
/// be overwritten yet.
fn units(
    file: &dyn LogFile,
    place: Place,
    key: Key,
    after: Seq,
) -> io::Result<Vec<(u64, [u8; 4], u32)>> {
    let mut found = Vec::new();
    each_unit(file, place, &mut |offset, head, _| {
        if head.key == key && head.last() > after {
            found.push((offset, head.erased_word(), head.len));
        }
    })?;
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
