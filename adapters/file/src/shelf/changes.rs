//! Changes to what is known of segments: what is gone, what may not hold any more, what was found out.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use windlass_ports::{StoreError, Summary};

use crate::error;
use crate::format::{Key, Place};
use crate::map::Map;
use crate::places;
use crate::shelf::looks::drop_erased;
use crate::shelf::{Part, Segment, Shelf, lock};

impl Shelf {
    /// What the lanes of others look like: another number once one of them has written anything.
    pub(crate) fn signs(&self) -> Result<u64, StoreError> {
        let mut lanes = self.lanes();
        self.refresh(&mut lanes)?;
        let mut signs = DefaultHasher::new();
        for (lane, view) in lanes.iter().filter(|(_, view)| !view.ours) {
            lane.hash(&mut signs);
            let Some((number, segment)) = view.segments.iter().next_back() else {
                continue;
            };
            (number, view.segments.len()).hash(&mut signs);
            if let Segment::Open(map) = segment {
                (map.end, map.damages.len(), map.torn.is_some()).hash(&mut signs);
            }
        }
        Ok(signs.finish())
    }

    /// Notes that a lane is not this store object's any more.
    pub(crate) fn give_up(&self, lane: u16) {
        let mut lanes = self.lanes();
        lanes.remove(&lane);
        *self.own() = None;
    }

    /// Forgets what may not hold any more because a session was erased.
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
        let Some(own) = self.own().clone() else {
            return Ok(());
        };
        let mut own = lock(&own);
        let map = own.map();
        let path = self.places.segment(map.place);
        let at = |error| error::reading(error, &path);
        if let Some(file) = places::open_to_read(&path).map_err(at)? {
            drop_erased(&file, map).map_err(at)?;
        }
        Ok(())
    }

    /// Forgets what is known of a lane that is not this store object's.
    pub(crate) fn forget_lane_of_others(&self, lane: u16) {
        let mut lanes = self.lanes();
        if lanes.get(&lane).is_some_and(|view| !view.ours) {
            lanes.remove(&lane);
        }
    }

    /// Notes what a part of a log folds to, where its segment is in memory.
    pub(crate) fn note_summary(&self, key: Key, part: &Part, summary: Option<&Summary>) {
        let note = |map: &mut Map| {
            let track = map.tracks.get_mut(&key);
            let run = track.and_then(|track| track.runs.get_mut(part.number));
            if let Some(run) = run
                && run.stretch.last == part.stretch.last
            {
                run.stretch.summary = summary.cloned();
            }
        };
        if let Some(own) = self.own().clone() {
            let mut own = lock(&own);
            let map = own.map();
            if map.place == part.place {
                note(map);
                return;
            }
        }
        let mut lanes = self.lanes();
        let lane = lanes.get_mut(&part.place.lane);
        match lane.and_then(|lane| lane.segments.get_mut(&part.place.number)) {
            Some(Segment::Open(map)) => note(map),
            Some(Segment::Mapped(map)) => note(Arc::make_mut(map)),
            Some(Segment::Own | Segment::Sealed) | None => {}
        }
    }

    /// Notes that a segment is gone.
    pub(crate) fn remove(&self, place: Place) {
        if let Some(lane) = self.lanes().get_mut(&place.lane) {
            lane.segments.remove(&place.number);
        }
    }
}
