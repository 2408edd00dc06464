//! Changes of cached segments: removal, invalidation, and results of reads.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::sync::Arc;

use windlass_ports::{SessionSummary, StoreError};

use crate::catalog::reading::{drop_erased, erased};
use crate::catalog::{CatalogSegment, LogPart, SegmentCatalog};
use crate::format::{SegmentId, SessionKey};
use crate::segment_map::SegmentMap;
use crate::witness::record::SegmentState;
use crate::{erasing, error, index, paths, witness};

impl SegmentCatalog {
    /// Hashes the state of the lanes of other processes. The value changes after each write of
    /// theirs.
    pub(crate) fn fingerprint(&self) -> Result<u64, StoreError> {
        let mut lanes = self.writers();
        self.refresh(&mut lanes)?;
        let mut fingerprint = DefaultHasher::new();
        for (lane, view) in lanes.iter().filter(|(_, view)| !view.ours) {
            lane.hash(&mut fingerprint);
            let Some((number, segment)) = view.segments.iter().next_back() else {
                continue;
            };
            (number, view.segments.len()).hash(&mut fingerprint);
            if let CatalogSegment::Open(map) = segment {
                (map.end, map.damages.len(), map.torn.is_some()).hash(&mut fingerprint);
            }
        }
        Ok(fingerprint.finish())
    }

    /// Forgets a lane that this store object no longer writes.
    pub(crate) fn forget_own_writer(&self, lane: u16) {
        let mut lanes = self.writers();
        lanes.remove(&lane);
        *self.own() = None;
    }

    /// Drops cached state that an erasure may have changed.
    pub(crate) fn forget_all(&self) -> Result<(), StoreError> {
        {
            let mut lanes = self.writers();
            lanes.retain(|_, view| view.ours);
            let segments = lanes.values_mut().flat_map(|view| view.segments.values_mut());
            for segment in segments {
                if matches!(segment, CatalogSegment::Mapped(_)) {
                    *segment = CatalogSegment::Sealed;
                }
            }
        }
        let mut own = self.own();
        let Some(map) = own.as_mut() else {
            return Ok(());
        };
        let path = self.paths.segment(map.segment);
        let at = |error| error::reading(error, &path);
        if let Some(file) = paths::open_to_read(&path).map_err(at)? {
            drop_erased(&file, map).map_err(at)?;
        }
        Ok(())
    }

    /// Forgets a lane of another process.
    pub(crate) fn forget_foreign_writer(&self, lane: u16) {
        let mut lanes = self.writers();
        if lanes.get(&lane).is_some_and(|view| !view.ours) {
            lanes.remove(&lane);
        }
    }

    /// Caches the summary of a log part whose segment is in memory.
    pub(crate) fn note_summary(
        &self,
        key: SessionKey,
        part: &LogPart,
        summary: Option<&SessionSummary>,
    ) {
        let note = |map: &mut SegmentMap| {
            let track = map.tracks.get_mut(&key);
            let run = track.and_then(|track| track.runs.get_mut(part.number));
            if let Some(run) = run
                && run.extent.last == part.extent.last
            {
                run.extent.summary = summary.cloned();
            }
        };
        if let Some(map) = self.own().as_mut()
            && map.segment == part.segment
        {
            note(map);
            return;
        }
        let mut lanes = self.writers();
        let lane = lanes.get_mut(&part.segment.writer);
        match lane.and_then(|lane| lane.segments.get_mut(&part.segment.number)) {
            Some(CatalogSegment::Open(map)) => note(map),
            Some(CatalogSegment::Mapped(map)) => note(Arc::make_mut(map)),
            Some(CatalogSegment::Own | CatalogSegment::Sealed) | None => {}
        }
    }

    /// Writes the index of a sealed segment, unless a session was erased from it since.
    pub(crate) fn write_index(&self, map: &SegmentMap) -> io::Result<()> {
        let busy = || io::Error::other("a session is being erased from it");
        let _lock = self.paths.lock_content()?.ok_or_else(busy)?;
        let Some(file) = paths::open_to_read(&self.paths.segment(map.segment))? else {
            return Ok(());
        };
        match erased(&file, map)?.is_empty() {
            true => index::write(&self.paths, map),
            false => Err(busy()),
        }
    }

    /// Writes the witness of a sealed segment, unless the segment was removed.
    pub(crate) fn put_witness(&self, map: &SegmentMap) -> io::Result<()> {
        let _writing = self.witnesses.lock();
        match self.paths.segment(map.segment).exists() {
            true => witness::put(&self.paths, map, SegmentState::Sealed),
            false => Ok(()),
        }
    }

    /// Removes a segment, first its witness, so that a crash leaves no claim without its segment.
    pub(crate) fn remove(&self, place: SegmentId) -> io::Result<()> {
        let _writing = self.witnesses.lock();
        witness::remove(&self.paths, place)?;
        erasing::remove(&self.paths.segment(place))?;
        erasing::remove(&self.paths.index(place))?;
        if let Some(lane) = self.writers().get_mut(&place.writer) {
            lane.segments.remove(&place.number);
        }
        Ok(())
    }
}
