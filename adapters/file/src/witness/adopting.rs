//! Witnesses of segments that have none, or an unfinished one: those of an earlier version, and
//! those of processes that died.

use std::io;

use windlass_ports::StoreError;

use crate::disk::{Disk, LogFile as _};
use crate::format::SegmentId;
use crate::index::SegmentIndex;
use crate::paths::{self, MERGED_WRITER, StorePaths};
use crate::scan::{ExpectedEnd, ScanError, scan};
use crate::segment_map::{SegmentMap, SessionExtents, UnitRun};
use crate::witness::record::SegmentState;
use crate::witness::{Witness, put};
use crate::writer;

/// Completes the witnesses of a lane's sealed segments. The caller holds the lane.
pub(crate) fn adopt(paths: &StorePaths, lane: u16, sealed: &[u32]) {
    for number in sealed {
        let segment = SegmentId { writer: lane, number: *number };
        if let Err(error) = adopt_sealed(paths, segment) {
            tracing::debug!(?error, ?segment, "a segment has no witness for now");
        }
    }
}

/// Writes the witness of a sealed segment. One that is damaged keeps what it has.
fn adopt_sealed(paths: &StorePaths, segment: SegmentId) -> Result<(), ScanError> {
    let known = Witness::read(paths, segment)?;
    if known.is_some_and(|known| known.sealed_at().is_some()) {
        return Ok(());
    }
    let Some(file) = paths::open_to_read(&paths.segment(segment))? else {
        return Ok(());
    };
    let map = match known {
        None => indexed(paths, segment, file.len()?),
        Some(_) => None,
    };
    let map = match map {
        Some(map) => map,
        None => {
            let mut map = SegmentMap::empty(segment, 0);
            scan(&file, &mut map, ExpectedEnd::Sealed, known.as_ref())?;
            // Bytes in which nothing was acknowledged are no part of the segment.
            let first = map.damages.iter().map(|damage| damage.offset).min();
            if let Some(sealed) = known.and_then(|known| known.sealed_before(first?)) {
                map = SegmentMap::empty(segment, 0);
                scan(&file, &mut map, ExpectedEnd::Sealed, Some(&sealed))?;
            }
            map
        }
    };
    match map.damages.is_empty() {
        true => Ok(put(paths, &map, SegmentState::Sealed)?),
        false => Ok(()),
    }
}

/// Reads the content of a segment from its index, without units.
fn indexed(paths: &StorePaths, segment: SegmentId, len: u64) -> Option<SegmentMap> {
    let index = SegmentIndex::open(paths, segment, len).ok()?;
    let mut map = SegmentMap::empty(segment, len);
    for (key, entry) in index.all().ok()? {
        let runs = entry.extents.into_iter();
        let runs = runs.map(|extent| UnitRun { extent, units: Vec::new() }).collect();
        map.tracks.insert(key, SessionExtents { id: entry.id, runs });
    }
    Some(map)
}

/// Completes the witnesses of lanes that no process writes to.
pub(crate) fn adopt_others(paths: &StorePaths, disk: &dyn Disk, own: u16) -> io::Result<()> {
    for lane in paths.list_writers()? {
        let numbers = paths.list_segments(lane)?;
        let witnessed = paths.list_witnessed(lane)?;
        if lane == own || numbers.iter().all(|number| witnessed.contains(number)) {
            continue;
        }
        let Some(_lock) = paths.lock_writer(lane)? else {
            continue;
        };
        let (last, sealed) = match numbers.split_last() {
            Some((last, sealed)) if lane != MERGED_WRITER => (Some(*last), sealed),
            Some(_) | None => (None, numbers.as_slice()),
        };
        adopt(paths, lane, sealed);
        let last = last.filter(|last| !witnessed.contains(last));
        if let Some(segment) = last.map(|number| SegmentId { writer: lane, number })
            && let Err(error) = adopt_last(paths, disk, segment)
        {
            tracing::debug!(%error, "a segment has no witness for now");
        }
    }
    Ok(())
}

/// Writes the witness of a lane's last segment once it is durable. A torn one is left to its next
/// writer, which reports what it cuts off.
fn adopt_last(paths: &StorePaths, disk: &dyn Disk, segment: SegmentId) -> Result<(), StoreError> {
    let path = paths.segment(segment);
    let at = |error: io::Error| crate::error::from_io(error, "claiming", &path);
    let Ok(file) = paths::open_to_write(&path, false) else {
        return Ok(());
    };
    let file = disk.wrap(file, &path);
    let mut map = SegmentMap::empty(segment, 0);
    let scanned = scan(&*file, &mut map, ExpectedEnd::Open, None);
    if scanned.is_err() || map.torn.is_some() || map.end < crate::format::FIRST {
        return Ok(());
    }
    map = SegmentMap::empty(segment, 0);
    match writer::settle(&*file, &mut map, &path, None)? {
        Some(_) => put(paths, &map, SegmentState::Closed).map_err(at),
        None => Ok(()),
    }
}
