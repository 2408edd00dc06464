//! The segment catalog: the segments of the store and the sessions in each. It caches the content
//! of files; opening a store reads none of them.

mod batch;
mod changes;
mod reading;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use windlass_core::{Seq, SessionId};
use windlass_ports::StoreError;
use windlass_ports::sync::{Mutex, MutexGuard};

use crate::catalog::reading::{collect, grew, is_unchanged, list, list_parts, of_map, place_parts};
use crate::error;
use crate::format::{SegmentId, SessionKey};
use crate::index::{self, IndexEntry, SegmentIndex, UnusableIndex};
use crate::paths::{self, MERGED_WRITER, StorePaths};
use crate::scan::{ExpectedEnd, ScanError, scan_stored};
use crate::segment_map::{AddedUnit, Damage, Extent, SegmentMap, UnitLocation, slice};
use crate::witness::Witness;

pub(crate) use batch::UnitLayout;

/// Attempts to read a segment that looks damaged, with a pause between them. Another process may be
/// in the middle of a write.
pub(crate) const LOOKS: u32 = 4;
pub(crate) const PAUSE: Duration = Duration::from_millis(1);

/// Caches the segments of all lanes.
#[derive(Debug)]
pub(crate) struct SegmentCatalog {
    paths: Arc<StorePaths>,
    writers: Mutex<BTreeMap<u16, WriterSegments>>,
    /// The segment that this store object appends to, up to its durable end.
    own: Mutex<Option<SegmentMap>>,
    /// Held while a segment is removed with its witness, or its witness is written.
    witnesses: Mutex<()>,
}

#[derive(Debug, Default)]
struct WriterSegments {
    segments: BTreeMap<u32, CatalogSegment>,
    /// True if this store object writes the lane, so no other process changes it.
    ours: bool,
}

#[derive(Debug)]
enum CatalogSegment {
    /// Sealed; its index is read or built on demand.
    Sealed,
    /// Sealed, without a usable index.
    Mapped(Arc<SegmentMap>),
    /// Last segment of its lane, which another process may append to.
    Open(Box<SegmentMap>),
    /// The segment that this store object appends to.
    Own,
}

/// A part of a session's log in one segment.
#[derive(Debug, Clone)]
pub(crate) struct LogPart {
    pub(crate) segment: SegmentId,
    /// Number of the extent in that segment.
    pub(crate) number: usize,
    pub(crate) extent: Extent,
    /// True if another process may append to that segment.
    pub(crate) open: bool,
}

/// Parts of a session's log in all segments, and damage that may belong to it.
#[derive(Debug, Default)]
pub(crate) struct SessionLayout {
    pub(crate) parts: Vec<LogPart>,
    /// Damage that may belong to the session.
    pub(crate) damages: Vec<(SegmentId, Damage)>,
    /// Bytes of unfinished appends of the session.
    pub(crate) torn_bytes: u64,
    /// Lanes of those bytes.
    pub(crate) torn_in: Vec<u16>,
}

/// All sessions and damage of all segments.
#[derive(Debug, Default)]
pub(crate) struct CatalogListing {
    /// Parts of the log of each session.
    pub(crate) parts: BTreeMap<SessionId, Vec<LogPart>>,
    pub(crate) damages: Vec<(SegmentId, Damage)>,
}

impl SegmentCatalog {
    pub(crate) fn new(paths: Arc<StorePaths>) -> Self {
        Self {
            paths,
            writers: Mutex::default(),
            own: Mutex::default(),
            witnesses: Mutex::default(),
        }
    }

    pub(crate) fn paths(&self) -> &StorePaths {
        &self.paths
    }

    /// Records the segment that this store object now appends to.
    pub(crate) fn set_own(&self, map: SegmentMap) {
        let mut lanes = self.writers();
        let lane = lanes.entry(map.segment.writer).or_default();
        lane.ours = true;
        lane.segments.insert(map.segment.number, CatalogSegment::Own);
        *self.own() = Some(map);
    }

    /// Records a lane that this store object now writes: its segments, and the content of the last
    /// one if the writer continues it.
    pub(crate) fn set_ours(&self, lane: u16, numbers: &[u32], own: Option<SegmentMap>) {
        let segments = numbers.iter().map(|number| (*number, CatalogSegment::Sealed));
        let mut view = WriterSegments { segments: segments.collect(), ours: true };
        let mut lanes = self.writers();
        if let Some(map) = &own {
            view.segments.insert(map.segment.number, CatalogSegment::Own);
        }
        *self.own() = own;
        lanes.insert(lane, view);
    }

    /// Records that the current segment is sealed, and returns its content.
    pub(crate) fn seal_own(&self) -> Option<Arc<SegmentMap>> {
        // Whoever finds no segment at hand waits for the catalog, and finds it there.
        let mut lanes = self.writers();
        let map = Arc::new(self.own().take()?);
        let lane = lanes.entry(map.segment.writer).or_default();
        let sealed = CatalogSegment::Mapped(map.clone());
        lane.segments.insert(map.segment.number, sealed);
        Some(map)
    }

    /// Changes the content of the current segment, if there is one.
    pub(crate) fn with_own<T>(&self, change: impl FnOnce(&mut SegmentMap) -> T) -> Option<T> {
        self.own().as_mut().map(change)
    }

    /// Adds a committed group at `start..end` to the current segment.
    pub(crate) fn add_to_own(&self, start: u64, end: u64, series: u8, units: Vec<AddedUnit>) {
        self.with_own(|map| {
            map.group = start;
            map.end = end;
            map.series = series;
            units.into_iter().for_each(|unit| map.add(unit));
        });
    }

    /// Drops the cached content of a sealed segment.
    pub(crate) fn forget(&self, place: SegmentId) {
        let mut lanes = self.writers();
        let lane = lanes.get_mut(&place.writer);
        let segment = lane.and_then(|lane| lane.segments.get_mut(&place.number));
        if let Some(segment) = segment
            && matches!(segment, CatalogSegment::Mapped(_))
        {
            *segment = CatalogSegment::Sealed;
        }
    }

    /// Finds the parts of a session's log.
    pub(crate) fn layout(&self, session: &SessionId) -> Result<SessionLayout, StoreError> {
        self.find(session, true)
    }

    /// Finds the parts of a session's log in the segments that are known, without a look for others.
    pub(crate) fn known_layout(&self, session: &SessionId) -> Result<SessionLayout, StoreError> {
        self.find(session, false)
    }

    fn find(&self, session: &SessionId, refresh: bool) -> Result<SessionLayout, StoreError> {
        let key = SessionKey::of(session);
        let mut layout = SessionLayout::default();
        self.each_segment(refresh, &mut |content| {
            match content {
                SegmentContent::Map(map, open) => collect(map, key, open, &mut layout),
                SegmentContent::Index(place, index) => {
                    place_parts(place, index.find(key)?, &mut layout);
                }
            }
            Ok(())
        })?;
        Ok(layout)
    }

    /// Passes the content of each segment to `visit`, first after a look for new segments and units
    /// if `refresh` is true. An index that `visit` cannot use is rebuilt, and its segment is passed
    /// again.
    fn each_segment(
        &self,
        refresh: bool,
        visit: &mut SegmentVisitor<'_>,
    ) -> Result<(), StoreError> {
        // A map has no index to rebuild.
        let pass = |visit: &mut SegmentVisitor<'_>, map: &SegmentMap, open| {
            let (Ok(()) | Err(UnusableIndex)) = visit(SegmentContent::Map(map, open));
        };
        // First the segment at hand: sealed meanwhile, it is found twice and not missed.
        let first = self.with_own(|map| {
            pass(visit, map, false);
            map.segment
        });
        let mut lanes = self.writers();
        if refresh {
            self.refresh(&mut lanes)?;
        }
        for (lane, view) in lanes.iter_mut() {
            let mut gone = Vec::new();
            for (number, segment) in &mut view.segments {
                let place = SegmentId { writer: *lane, number: *number };
                match segment {
                    CatalogSegment::Own if first == Some(place) => {}
                    // It came to hand since.
                    CatalogSegment::Own => {
                        self.with_own(|map| pass(visit, map, false));
                    }
                    CatalogSegment::Open(map) => pass(visit, map, true),
                    CatalogSegment::Mapped(map) => pass(visit, map, false),
                    CatalogSegment::Sealed => {
                        let index = self.open_index(place);
                        let used =
                            index.and_then(|index| visit(SegmentContent::Index(place, &index)));
                        let Err(UnusableIndex) = used else { continue };
                        let rebuilt = self.rebuild(place, segment);
                        match rebuilt.map_err(|refused| self.refused(place, refused))? {
                            Some(map) => pass(visit, &map, false),
                            None => gone.push(*number),
                        }
                    }
                }
            }
            for number in gone {
                view.segments.remove(&number);
            }
        }
        Ok(())
    }

    /// Returns the units of a part behind position `after` until they hold `limit` facts, and the
    /// unit before them.
    pub(crate) fn units(
        &self,
        key: SessionKey,
        part: &LogPart,
        after: Seq,
        limit: usize,
    ) -> Result<(Option<UnitLocation>, Vec<UnitLocation>), StoreError> {
        if let Some(units) = self.units_of_own(key, part, after, limit) {
            return Ok(units);
        }
        let mut lanes = self.writers();
        let lane = lanes.get_mut(&part.segment.writer);
        let Some(segment) = lane.and_then(|lane| lane.segments.get_mut(&part.segment.number))
        else {
            return Ok((None, Vec::new()));
        };
        match segment {
            // It came to hand since.
            CatalogSegment::Own => {
                return Ok(self.units_of_own(key, part, after, limit).unwrap_or_default());
            }
            CatalogSegment::Open(map) => return Ok(of_map(map, key, part.number, after, limit)),
            CatalogSegment::Mapped(map) => return Ok(of_map(map, key, part.number, after, limit)),
            CatalogSegment::Sealed => {}
        }
        let units = self.open_index(part.segment).and_then(|index| index.units(key, part.number));
        if let Ok(units) = units {
            return Ok(slice(&units, after, limit));
        }
        let map = self
            .rebuild(part.segment, segment)
            .map_err(|refused| self.refused(part.segment, refused))?;
        Ok(map.map_or_else(Default::default, |map| of_map(&map, key, part.number, after, limit)))
    }

    /// Returns the units of a part as [`Self::units`] does, if it is in the segment at hand.
    fn units_of_own(
        &self,
        key: SessionKey,
        part: &LogPart,
        after: Seq,
        limit: usize,
    ) -> Option<(Option<UnitLocation>, Vec<UnitLocation>)> {
        let own = self.own();
        let map = own.as_ref().filter(|map| map.segment == part.segment)?;
        Some(of_map(map, key, part.number, after, limit))
    }

    /// Lists the sessions behind `after`, and all damage.
    pub(crate) fn all(&self, after: Option<&SessionId>) -> Result<CatalogListing, StoreError> {
        let mut all = CatalogListing::default();
        self.each_segment(true, &mut |content| {
            match content {
                SegmentContent::Map(map, _) => list(map, after, &mut all),
                SegmentContent::Index(place, index) => {
                    for (_, IndexEntry { id, extents }) in index.all()? {
                        list_parts(place, &id, extents, after, &mut all);
                    }
                }
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// Path of a segment.
    pub(crate) fn path(&self, place: SegmentId) -> PathBuf {
        self.paths.segment(place)
    }

    /// Rebuilds the index of a sealed segment that contradicts it. Returns false if the segment has
    /// none.
    pub(crate) fn rebuild_index(&self, place: SegmentId) -> Result<bool, StoreError> {
        let mut lanes = self.writers();
        let lane = lanes.get_mut(&place.writer);
        let segment = lane.and_then(|lane| lane.segments.get_mut(&place.number));
        match segment {
            Some(segment @ CatalogSegment::Sealed) => {
                let rebuilt = self.rebuild(place, segment);
                rebuilt.map_err(|refused| self.refused(place, refused))?;
                Ok(true)
            }
            Some(CatalogSegment::Mapped(_) | CatalogSegment::Open(_) | CatalogSegment::Own)
            | None => Ok(false),
        }
    }

    /// Opens the index of a sealed segment, which has the size of its content.
    fn open_index(&self, place: SegmentId) -> Result<SegmentIndex, UnusableIndex> {
        let len = std::fs::symlink_metadata(self.paths.segment(place))?;
        let len = Some(len).filter(std::fs::Metadata::is_file).ok_or(UnusableIndex)?.len();
        SegmentIndex::open(&self.paths, place, len).or_else(|unusable| {
            // Bytes behind the content are no part of it.
            let known = Witness::read(&self.paths, place)?.and_then(|known| known.sealed_at());
            let sealed = known.filter(|sealed| *sealed < len).ok_or(unusable)?;
            SegmentIndex::open(&self.paths, place, sealed)
        })
    }

    /// Scans a sealed segment and writes its index if possible.
    fn rebuild(
        &self,
        place: SegmentId,
        segment: &mut CatalogSegment,
    ) -> Result<Option<Arc<SegmentMap>>, ScanError> {
        let mut map = SegmentMap::empty(place, 0);
        // An index of what is erased meanwhile would be wrong for good.
        let lock = self.paths.lock_content().ok().flatten();
        if !scan_stored(&self.paths, &mut map, ExpectedEnd::Sealed)? {
            return Ok(None);
        }
        let map = Arc::new(map);
        // What cannot be read now may be read later.
        if map.damages.iter().any(|damage| damage.unreadable) {
            return Ok(Some(map));
        }
        *segment = CatalogSegment::Mapped(map.clone());
        // Without an index, as in a folder that cannot be written to, the map stays in memory.
        let indexed =
            lock.is_some() && map.damages.is_empty() && index::write(&self.paths, &map).is_ok();
        if indexed && self.open_index(place).is_ok() {
            *segment = CatalogSegment::Sealed;
        }
        Ok(Some(map))
    }

    /// Finds new segments, and new units of other processes.
    fn refresh(&self, lanes: &mut BTreeMap<u16, WriterSegments>) -> Result<(), StoreError> {
        let folder = self.paths.writers_folder();
        let at = |error| error::reading(error, &folder);
        let listed = self.paths.list_writers().map_err(at)?;
        lanes.retain(|lane, view| view.ours || listed.contains(lane));
        for lane in listed {
            let view = lanes.entry(lane).or_default();
            if view.ours {
                continue;
            }
            let last = view.segments.keys().next_back().copied();
            let next =
                SegmentId { writer: lane, number: last.map_or(0, |last| last.saturating_add(1)) };
            if last.is_none()
                || self.paths.segment(next).exists()
                || self.paths.witness(next).exists()
            {
                let numbers = self.paths.list_segments(lane).map_err(at)?;
                // What was the last one may have been cut or gone on since.
                view.segments.retain(|number, segment| {
                    numbers.contains(number) && !matches!(segment, CatalogSegment::Open(_))
                });
                for number in numbers {
                    view.segments.entry(number).or_insert(CatalogSegment::Sealed);
                }
            }
            if lane != MERGED_WRITER {
                self.read_new_units(lane, view)?;
            }
        }
        Ok(())
    }

    /// Reads new units of the last segment of another process's lane.
    fn read_new_units(&self, lane: u16, view: &mut WriterSegments) -> Result<(), StoreError> {
        let Some((number, segment)) = view.segments.iter_mut().next_back() else {
            return Ok(());
        };
        let place = SegmentId { writer: lane, number: *number };
        let path = self.paths.segment(place);
        // What cannot be opened is damage, as a scan finds it.
        let file = paths::open_to_read(&path).ok().flatten();
        let mut map = match (std::mem::replace(segment, CatalogSegment::Sealed), &file) {
            (CatalogSegment::Open(map), Some(file))
                if is_unchanged(file, &map).unwrap_or(false) =>
            {
                *map
            }
            (
                CatalogSegment::Open(_)
                | CatalogSegment::Sealed
                | CatalogSegment::Mapped(_)
                | CatalogSegment::Own,
                _,
            ) => SegmentMap::empty(place, 0),
        };
        if map.end == 0 || file.is_none_or(|file| grew(&file, &map).unwrap_or(true)) {
            let scanned = self.scan_open(&mut map);
            scanned.map_err(|refused| self.refused(place, refused))?;
        }
        *segment = CatalogSegment::Open(Box::new(map));
        Ok(())
    }

    /// Scans a segment that another process may append to. Repeats the scan, since damage may be
    /// an unfinished write.
    fn scan_open(&self, map: &mut SegmentMap) -> Result<(), ScanError> {
        let before = map.clone();
        for look in 0..LOOKS {
            if look > 0 {
                thread::sleep(PAUSE);
            }
            map.clone_from(&before);
            let _there = scan_stored(&self.paths, map, ExpectedEnd::Open)?;
            if map.damages.len() == before.damages.len() {
                break;
            }
        }
        Ok(())
    }

    fn refused(&self, place: SegmentId, refused: ScanError) -> StoreError {
        let path = self.paths.segment(place);
        match refused {
            ScanError::Io(error) => error::reading(error, &path),
            ScanError::Newer(format) => error::newer(&path, format),
        }
    }

    fn writers(&self) -> MutexGuard<'_, BTreeMap<u16, WriterSegments>> {
        self.writers.lock()
    }

    fn own(&self) -> MutexGuard<'_, Option<SegmentMap>> {
        self.own.lock()
    }
}

/// Receives the content of segments.
type SegmentVisitor<'v> = dyn FnMut(SegmentContent<'_>) -> Result<(), UnusableIndex> + 'v;

/// Content of a segment.
enum SegmentContent<'a> {
    /// In memory. True if another process may append to the segment.
    Map(&'a SegmentMap, bool),
    Index(SegmentId, &'a SegmentIndex),
}
