//! Changes of cached segments: removal, invalidation, and results of reads.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use windlass_ports::{StoreError, Summary};

use crate::catalog::reading::drop_erased;
use crate::catalog::{LogPart, Segment, SegmentCatalog};
use crate::error;
use crate::format::{Key, SegmentId};
use crate::map::Map;
use crate::paths;

impl SegmentCatalog {
    /// Hashes the state of the lanes of other processes. The value changes after each write of
    /// theirs.
    pub(crate) fn fingerprint(&self) -> Result<u64, StoreError> {
        let mut lanes = self.lanes();
        self.refresh(&mut lanes)?;
        let mut fingerprint = DefaultHasher::new();
        for (lane, view) in lanes.iter().filter(|(_, view)| !view.ours) {
            lane.hash(&mut fingerprint);
            let Some((number, segment)) = view.segments.iter().next_back() else {
                continue;
            };
            (number, view.segments.len()).hash(&mut fingerprint);
            if let Segment::Open(map) = segment {
                (map.end, map.damages.len(), map.torn.is_some()).hash(&mut fingerprint);
            }
        }
        Ok(fingerprint.finish())
    }

    /// Forgets a lane that this store object no longer writes.
    pub(crate) fn give_up(&self, lane: u16) {
        let mut lanes = self.lanes();
        lanes.remove(&lane);
        *self.own() = None;
    }

    /// Drops cached state that an erasure may have changed.
    pub(crate) fn forget_all(&self) -> Result<(), StoreError> {
        {
            let mut lanes = self.lanes();
            lanes.retain(|_, view| view.ours);
            let segments = lanes
                .values_mut()
                .flat_map(|view| view.segments.values_mut());
            for segment in segments {
                if matches!(segment, Segment::Mapped(_)) {
                    *segment = Segment::Sealed;
                }
            }
        }
        let mut own = self.own();
        let Some(map) = own.as_mut() else {
            return Ok(());
        };
        let path = self.paths.segment(map.place);
        let at = |error| error::reading(error, &path);
        if let Some(file) = paths::open_to_read(&path).map_err(at)? {
            drop_erased(&file, map).map_err(at)?;
        }
        Ok(())
    }

    /// Forgets a lane of another process.
    pub(crate) fn forget_lane_of_others(&self, lane: u16) {
        let mut lanes = self.lanes();
        if lanes.get(&lane).is_some_and(|view| !view.ours) {
            lanes.remove(&lane);
        }
    }

    /// Caches the summary of a log part whose segment is in memory.
    pub(crate) fn note_summary(&self, key: Key, part: &LogPart, summary: Option<&Summary>) {
        let note = |map: &mut Map| {
            let track = map.tracks.get_mut(&key);
            let run = track.and_then(|track| track.runs.get_mut(part.number));
            if let Some(run) = run
                && run.extent.last == part.extent.last
            {
                run.extent.summary = summary.cloned();
            }
        };
        if let Some(map) = self.own().as_mut()
            && map.place == part.place
        {
            note(map);
            return;
        }
        let mut lanes = self.lanes();
        let lane = lanes.get_mut(&part.place.lane);
        match lane.and_then(|lane| lane.segments.get_mut(&part.place.number)) {
            Some(Segment::Open(map)) => note(map),
            Some(Segment::Mapped(map)) => note(Arc::make_mut(map)),
            Some(Segment::Own | Segment::Sealed) | None => {}
        }
    }

    /// Forgets a removed segment.
    pub(crate) fn remove(&self, place: SegmentId) {
        if let Some(lane) = self.lanes().get_mut(&place.lane) {
            lane.segments.remove(&place.number);
        }
    }
}
