//! Reads of a segment: validation of its cached content, and parts of a session's log.

use std::io;

use windlass_core::{Seq, SessionId};

use crate::catalog::{CatalogListing, LogPart, SessionLayout};
use crate::disk::{LogFile, read_full_at};
use crate::format::{self, HEAD, SegmentId, SessionKey, UnitHeader};
use crate::index::IndexEntry;
use crate::segment_map::{Extent, SegmentMap, TornTail, UnitLocation};

/// Returns true if a segment still has the cached content. Its writer may have cut it off.
pub(super) fn is_unchanged(file: &dyn LogFile, map: &SegmentMap) -> io::Result<bool> {
    if file.len()? < map.end || map.torn.is_some() || !map.damages.is_empty() {
        return Ok(false);
    }
    let Some(latest) = map.latest else {
        return Ok(map.end == 0);
    };
    let head = head_at(file, map.segment, u64::from(latest.offset))?;
    let same = head.is_some_and(|head| head.len == latest.len && !head.erased);
    Ok(same && latest.end() == map.end)
}

/// Returns true if a segment has bytes behind its cached content.
pub(super) fn grew(file: &dyn LogFile, map: &SegmentMap) -> io::Result<bool> {
    let mut next = [0; HEAD];
    let read = read_full_at(file, &mut next, map.end)?;
    Ok(next.iter().take(read).any(|byte| *byte != 0))
}

pub(super) fn of_map(
    map: &SegmentMap,
    key: SessionKey,
    number: usize,
    after: Seq,
    limit: usize,
) -> (Option<UnitLocation>, Vec<UnitLocation>) {
    let track = map.tracks.get(&key);
    let run = track.and_then(|track| track.runs.get(number));
    run.map_or_else(Default::default, |run| run.units(after, limit))
}

pub(super) fn collect(map: &SegmentMap, key: SessionKey, open: bool, layout: &mut SessionLayout) {
    let runs = map.tracks.get(&key).map(|track| &track.runs);
    for (number, run) in runs.into_iter().flatten().enumerate() {
        layout.parts.push(LogPart {
            segment: map.segment,
            number,
            extent: run.extent.clone(),
            open,
        });
    }
    let damages = map.damages.iter().filter(|damage| damage.may_be_of(key));
    let damages = damages.map(|damage| (map.segment, damage.clone()));
    layout.damages.extend(damages);
    if let Some(TornTail { parts, .. }) = &map.torn {
        let bytes = parts.iter().filter(|(of, _)| *of == key);
        let bytes: u64 = bytes.map(|(_, bytes)| bytes).sum();
        if bytes > 0 {
            layout.torn_bytes += bytes;
            layout.torn_in.push(map.segment.writer);
        }
    }
}

pub(super) fn place_parts(place: SegmentId, entry: Option<IndexEntry>, layout: &mut SessionLayout) {
    let extents = entry.into_iter().flat_map(|entry| entry.extents);
    for (number, extent) in extents.enumerate() {
        layout.parts.push(LogPart { segment: place, number, extent, open: false });
    }
}

pub(super) fn list(map: &SegmentMap, after: Option<&SessionId>, all: &mut CatalogListing) {
    for track in map.tracks.values() {
        let extents = track.runs.iter().map(|run| run.extent.clone());
        list_parts(map.segment, &track.id, extents, after, all);
    }
    all.damages.extend(map.damages.iter().map(|damage| (map.segment, damage.clone())));
}

pub(super) fn list_parts(
    segment: SegmentId,
    id: &SessionId,
    extents: impl IntoIterator<Item = Extent>,
    after: Option<&SessionId>,
    all: &mut CatalogListing,
) {
    if after.is_some_and(|after| id <= after) {
        return;
    }
    for (number, extent) in extents.into_iter().enumerate() {
        let part = LogPart { segment, number, extent, open: false };
        match all.parts.get_mut(id) {
            Some(parts) => parts.push(part),
            // Most sessions have one part, and need room for no more.
            None => {
                all.parts.insert(id.clone(), vec![part]);
            }
        }
    }
}

/// Removes the sessions of a map whose units were erased.
pub(super) fn drop_erased(file: &dyn LogFile, map: &mut SegmentMap) -> io::Result<()> {
    for key in erased(file, map)? {
        map.tracks.remove(&key);
    }
    Ok(())
}

/// Returns the sessions of a map whose units were erased.
pub(crate) fn erased(file: &dyn LogFile, map: &SegmentMap) -> io::Result<Vec<SessionKey>> {
    let mut erased = Vec::new();
    for (key, track) in &map.tracks {
        let latest = track.runs.last().map(|run| u64::from(run.extent.latest));
        let Some(latest) = latest else { continue };
        let head = head_at(file, map.segment, latest)?;
        if head.is_some_and(|head| head.erased) {
            erased.push(*key);
        }
    }
    Ok(erased)
}

fn head_at(file: &dyn LogFile, place: SegmentId, offset: u64) -> io::Result<Option<UnitHeader>> {
    let mut head = [0; HEAD];
    let read = read_full_at(file, &mut head, offset)?;
    Ok(format::read_header(place, offset, head.get(..read).unwrap_or_default()))
}
