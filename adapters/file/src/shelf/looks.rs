//! Looking at a segment: whether it still has what is known, and what it has of a session.

use std::io;

use windlass_core::Seq;

use crate::disk::{LogFile, read_full_at};
use crate::format::{self, HEAD, Head, Key, Place};
use crate::index::Entry;
use crate::map::{Map, Torn, UnitAt};
use crate::shelf::{Listed, Listing, Part, Standing};

/// Whether a segment still has what a map says: its writer may have cut it off.
pub(super) fn stands(file: &dyn LogFile, map: &Map) -> io::Result<bool> {
    if file.len()? < map.end || map.torn.is_some() || !map.damages.is_empty() {
        return Ok(false);
    }
    let latest = map
        .tracks
        .values()
        .flat_map(|track| &track.runs)
        .filter_map(|run| run.units.last())
        .max_by_key(|unit| unit.offset);
    let Some(latest) = latest else {
        return Ok(map.end == 0);
    };
    let head = head_at(file, map.place, u64::from(latest.offset))?;
    let same = head.is_some_and(|head| head.len == latest.len && !head.erased);
    Ok(same && latest.end() == map.end)
}

/// Whether something stands behind what a map knows.
pub(super) fn grew(file: &dyn LogFile, map: &Map) -> io::Result<bool> {
    let mut next = [0; HEAD];
    let read = read_full_at(file, &mut next, map.end)?;
    Ok(next.iter().take(read).any(|byte| *byte != 0))
}

pub(super) fn of_map(
    map: &Map,
    key: Key,
    number: usize,
    after: Seq,
    limit: usize,
) -> (Option<UnitAt>, Vec<UnitAt>) {
    let track = map.tracks.get(&key);
    let run = track.and_then(|track| track.runs.get(number));
    run.map_or_else(Default::default, |run| run.units(after, limit))
}

pub(super) fn collect(map: &Map, key: Key, open: bool, standing: &mut Standing) {
    let runs = map.tracks.get(&key).map(|track| &track.runs);
    for (number, run) in runs.into_iter().flatten().enumerate() {
        standing.parts.push(Part {
            place: map.place,
            number,
            stretch: run.stretch.clone(),
            open,
        });
    }
    let damages = map.damages.iter().filter(|damage| damage.may_be_of(key));
    let damages = damages.map(|damage| (map.place, damage.clone()));
    standing.damages.extend(damages);
    if let Some(Torn { parts, .. }) = &map.torn {
        let bytes = parts.iter().filter(|(of, _)| *of == key);
        let bytes: u64 = bytes.map(|(_, bytes)| bytes).sum();
        if bytes > 0 {
            standing.torn_bytes += bytes;
            standing.torn_in.push(map.place.lane);
        }
    }
}

pub(super) fn place_parts(place: Place, entry: Option<Entry>, standing: &mut Standing) {
    let stretches = entry.into_iter().flat_map(|entry| entry.stretches);
    for (number, stretch) in stretches.enumerate() {
        standing.parts.push(Part {
            place,
            number,
            stretch,
            open: false,
        });
    }
}

pub(super) fn list(map: &Map, all: &mut Listing) {
    for track in map.tracks.values() {
        let stretches = track.runs.iter().map(|run| run.stretch.clone()).collect();
        let entry = Entry {
            id: track.id.clone(),
            stretches,
        };
        list_entry(map.place, entry, &mut all.parts);
    }
    all.damages
        .extend(map.damages.iter().map(|damage| (map.place, damage.clone())));
}

pub(super) fn list_entry(place: Place, entry: Entry, all: &mut Vec<Listed>) {
    for (number, stretch) in entry.stretches.into_iter().enumerate() {
        let part = Part {
            place,
            number,
            stretch,
            open: false,
        };
        all.push((entry.id.clone(), part));
    }
}

/// Drops the sessions of a map whose units were erased.
pub(super) fn drop_erased(file: &dyn LogFile, map: &mut Map) -> io::Result<()> {
    let mut erased = Vec::new();
    for (key, track) in &map.tracks {
        let latest = track.runs.last().map(|run| u64::from(run.stretch.latest));
        let Some(latest) = latest else { continue };
        let head = head_at(file, map.place, latest)?;
        if head.is_some_and(|head| head.erased) {
            erased.push(*key);
        }
    }
    for key in erased {
        map.tracks.remove(&key);
    }
    Ok(())
}

fn head_at(file: &dyn LogFile, place: Place, offset: u64) -> io::Result<Option<Head>> {
    let mut head = [0; HEAD];
    let read = read_full_at(file, &mut head, offset)?;
    Ok(format::read_head(
        place,
        offset,
        head.get(..read).unwrap_or_default(),
    ))
}
