//! The shelf: which segments there are, and what each tells of a session. All of it is a cache of
//! what the files say; opening a store reads none of them.

mod changes;
mod looks;
mod own;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use windlass_core::{Seq, SessionId};
use windlass_kit_log::Seat;
use windlass_ports::StoreError;

use crate::error;
use crate::format::{Key, Place};
use crate::index::{self, Entry, Index};
use crate::map::{Added, Damage, Map, Stretch, UnitAt, slice};
use crate::places::{self, COLD, Places};
use crate::scan::{Ending, Refused, scan};
use crate::shelf::looks::{collect, grew, list, list_entry, of_map, place_parts, stands};
use crate::shelf::own::Own;

/// How often, and after which pause, what looks damaged is looked at again. Another process may
/// be in the middle of a write; one write takes far less than these together.
pub(crate) const LOOKS: u32 = 4;
pub(crate) const PAUSE: Duration = Duration::from_millis(1);

/// Which segments there are, and what is known of them.
#[derive(Debug)]
pub(crate) struct Shelf {
    places: Arc<Places>,
    lanes: Mutex<BTreeMap<u16, Lane>>,
    /// The segment that this store object appends to, as far as it is durable.
    own: Mutex<Option<Arc<Mutex<Own>>>>,
}

#[derive(Debug, Default)]
struct Lane {
    segments: BTreeMap<u32, Segment>,
    /// Whether this store object appends to it, so that nobody else changes it.
    ours: bool,
}

#[derive(Debug)]
enum Segment {
    /// It has an index, or will be given one when it is asked.
    Sealed,
    /// It is sealed, and has no index that is of use.
    Mapped(Arc<Map>),
    /// Its lane's last: another process may append to it.
    Open(Box<Map>),
    /// This store object appends to it.
    Own,
}

/// A part of a session's log.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) place: Place,
    /// Which of the stretches in that segment.
    pub(crate) number: usize,
    pub(crate) stretch: Stretch,
    /// Whether another process may append to that segment.
    pub(crate) open: bool,
}

/// All that is known of a session.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    pub(crate) parts: Vec<Part>,
    /// Damage that may be the session's.
    pub(crate) damages: Vec<(Place, Damage)>,
    /// Bytes of the session that were never acknowledged.
    pub(crate) torn_bytes: u64,
    /// The lanes in which those are.
    pub(crate) torn_in: Vec<u16>,
}

/// A session in a listing of a segment: its id, and a part of its log there.
pub(crate) type Listed = (SessionId, Part);

/// All that the segments tell of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) parts: Vec<Listed>,
    pub(crate) damages: Vec<(Place, Damage)>,
}

impl Shelf {
    pub(crate) fn new(places: Arc<Places>) -> Self {
        Self {
            places,
            lanes: Mutex::default(),
            own: Mutex::default(),
        }
    }

    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// Notes that this store object appends to a segment from now on.
    pub(crate) fn set_own(&self, map: Map) {
        let mut lanes = self.lanes();
        let lane = lanes.entry(map.place.lane).or_default();
        lane.ours = true;
        lane.segments.insert(map.place.number, Segment::Own);
        *self.own() = Some(Arc::new(Mutex::new(Own::new(map))));
    }

    /// Notes that a lane is this store object's, with the segments that it has and, where it goes on
    /// with the last of these, what that holds.
    pub(crate) fn set_ours(&self, lane: u16, numbers: &[u32], own: Option<Map>) {
        let segments = numbers.iter().map(|number| (*number, Segment::Sealed));
        let mut view = Lane {
            segments: segments.collect(),
            ours: true,
        };
        let mut lanes = self.lanes();
        if let Some(map) = &own {
            view.segments.insert(map.place.number, Segment::Own);
        }
        *self.own() = own.map(|map| Arc::new(Mutex::new(Own::new(map))));
        lanes.insert(lane, view);
    }

    /// Notes that this store object's segment is sealed, and answers what it holds.
    pub(crate) fn seal_own(&self) -> Option<Arc<Map>> {
        // Whoever finds no segment at hand waits for the shelf, and finds it there.
        let mut lanes = self.lanes();
        let own = self.own().take()?;
        let map = match Arc::try_unwrap(own) {
            Ok(own) => {
                let own = own.into_inner().unwrap_or_else(PoisonError::into_inner);
                own.into_map()
            }
            Err(own) => lock(&own).map().clone(),
        };
        let map = Arc::new(map);
        let lane = lanes.entry(map.place.lane).or_default();
        let sealed = Segment::Mapped(map.clone());
        lane.segments.insert(map.place.number, sealed);
        Some(map)
    }

    /// Changes what is known of this store object's segment.
    pub(crate) fn with_own<T>(&self, change: impl FnOnce(&mut Map) -> T) -> Option<T> {
        let own = self.own().clone()?;
        let mut own = lock(&own);
        Some(change(own.map()))
    }

    /// Notes a group that this store object has appended, from `start` to `end` of its segment.
    pub(crate) fn add_to_own(&self, start: u64, end: u64, series: u8, units: Vec<(Seat, Added)>) {
        let own = self.own().clone();
        if let Some(own) = own {
            lock(&own).add(start, end, series, units);
        }
    }

    /// Notes that a sealed segment has an index now, or is to be looked at anew.
    pub(crate) fn forget(&self, place: Place) {
        let mut lanes = self.lanes();
        let lane = lanes.get_mut(&place.lane);
        let segment = lane.and_then(|lane| lane.segments.get_mut(&place.number));
        if let Some(segment) = segment
            && matches!(segment, Segment::Mapped(_))
        {
            *segment = Segment::Sealed;
        }
    }

    /// All that is known of a session.
    pub(crate) fn standing(&self, session: &SessionId) -> Result<Standing, StoreError> {
        let key = Key::of(session);
        let mut standing = Standing::default();
        // First the segment at hand: sealed meanwhile, it is found twice and not missed.
        if let Some(own) = self.own().clone() {
            collect(lock(&own).map(), key, false, &mut standing);
        }
        let mut lanes = self.lanes();
        self.refresh(&mut lanes)?;
        for (lane, view) in lanes.iter_mut() {
            let mut gone = Vec::new();
            for (number, segment) in &mut view.segments {
                let place = Place {
                    lane: *lane,
                    number: *number,
                };
                let at = |refused| self.refused(place, refused);
                match segment {
                    Segment::Own => {}
                    Segment::Open(map) => collect(map, key, true, &mut standing),
                    Segment::Mapped(map) => collect(map, key, false, &mut standing),
                    Segment::Sealed => match self.entry(place, key, segment).map_err(at)? {
                        Found::Gone => gone.push(*number),
                        Found::Entry(entry) => place_parts(place, entry, &mut standing),
                        Found::Map(map) => collect(&map, key, false, &mut standing),
                    },
                }
            }
            for number in gone {
                view.segments.remove(&number);
            }
        }
        Ok(standing)
    }

    /// The units of a part that hold positions behind `after`, until they hold `limit`, and the unit
    /// before them.
    pub(crate) fn units(
        &self,
        key: Key,
        part: &Part,
        after: Seq,
        limit: usize,
    ) -> Result<(Option<UnitAt>, Vec<UnitAt>), StoreError> {
        if let Some(own) = self.own().clone() {
            let mut own = lock(&own);
            let map = own.map();
            if map.place == part.place {
                return Ok(of_map(map, key, part.number, after, limit));
            }
        }
        let mut lanes = self.lanes();
        let lane = lanes.get_mut(&part.place.lane);
        let Some(segment) = lane.and_then(|lane| lane.segments.get_mut(&part.place.number)) else {
            return Ok((None, Vec::new()));
        };
        match segment {
            Segment::Own => return Ok((None, Vec::new())),
            Segment::Open(map) => return Ok(of_map(map, key, part.number, after, limit)),
            Segment::Mapped(map) => return Ok(of_map(map, key, part.number, after, limit)),
            Segment::Sealed => {}
        }
        let path = self.places.segment(part.place);
        let len = match std::fs::metadata(&path) {
            Ok(found) => found.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok((None, Vec::new()));
            }
            Err(error) => return Err(error::reading(error, &path)),
        };
        let units = Index::open(&self.places, part.place, len)
            .and_then(|index| index.units(key, part.number));
        if let Ok(units) = units {
            return Ok(slice(&units, after, limit));
        }
        let map = self
            .rebuild(part.place, segment)
            .map_err(|refused| self.refused(part.place, refused))?;
        Ok(map.map_or_else(Default::default, |map| {
            of_map(&map, key, part.number, after, limit)
        }))
    }

    /// All that the segments tell of all sessions.
    pub(crate) fn all(&self) -> Result<Listing, StoreError> {
        let mut all = Listing::default();
        if let Some(own) = self.own().clone() {
            list(lock(&own).map(), &mut all);
        }
        let mut lanes = self.lanes();
        self.refresh(&mut lanes)?;
        for (lane, view) in lanes.iter_mut() {
            for (number, segment) in &mut view.segments {
                let place = Place {
                    lane: *lane,
                    number: *number,
                };
                match segment {
                    Segment::Own => {}
                    Segment::Open(map) => list(map, &mut all),
                    Segment::Mapped(map) => list(map, &mut all),
                    Segment::Sealed => {
                        let len = std::fs::metadata(self.places.segment(place));
                        let len = len.map_or(0, |found| found.len());
                        let entries =
                            Index::open(&self.places, place, len).and_then(|index| index.all());
                        if let Ok(entries) = entries {
                            for (_, entry) in entries {
                                list_entry(place, entry, &mut all.parts);
                            }
                            continue;
                        }
                        let map = self
                            .rebuild(place, segment)
                            .map_err(|refused| self.refused(place, refused))?;
                        if let Some(map) = map {
                            list(&map, &mut all);
                        }
                    }
                }
            }
        }
        Ok(all)
    }

    /// The file of a segment.
    pub(crate) fn path(&self, place: Place) -> PathBuf {
        self.places.segment(place)
    }

    /// Makes a sealed segment's index anew, because it does not say what the segment says.
    pub(crate) fn distrust(&self, place: Place) -> Result<bool, StoreError> {
        let mut lanes = self.lanes();
        let lane = lanes.get_mut(&place.lane);
        let segment = lane.and_then(|lane| lane.segments.get_mut(&place.number));
        match segment {
            Some(segment @ Segment::Sealed) => {
                let rebuilt = self.rebuild(place, segment);
                rebuilt.map_err(|refused| self.refused(place, refused))?;
                Ok(true)
            }
            Some(Segment::Mapped(_) | Segment::Open(_) | Segment::Own) | None => Ok(false),
        }
    }

    fn entry(&self, place: Place, key: Key, segment: &mut Segment) -> Result<Found, Refused> {
        let len = match std::fs::metadata(self.places.segment(place)) {
            Ok(found) => found.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Gone),
            Err(error) => return Err(error.into()),
        };
        let found = Index::open(&self.places, place, len).and_then(|index| index.find(key));
        match found {
            Ok(entry) => Ok(Found::Entry(entry)),
            Err(index::Unusable) => Ok(match self.rebuild(place, segment)? {
                Some(map) => Found::Map(map),
                None => Found::Gone,
            }),
        }
    }

    /// Scans a sealed segment, and writes its index anew where it can.
    fn rebuild(&self, place: Place, segment: &mut Segment) -> Result<Option<Arc<Map>>, Refused> {
        let Some(file) = places::open_to_read(&self.places.segment(place))? else {
            return Ok(None);
        };
        let mut map = Map::empty(place, 0);
        scan(&file, &mut map, Ending::Sealed)?;
        let map = Arc::new(map);
        *segment = Segment::Mapped(map.clone());
        // Without an index, as in a folder that cannot be written to, the map stays in memory.
        if map.damages.is_empty() && index::write(&self.places, &map).is_ok() {
            *segment = Segment::Sealed;
        }
        Ok(Some(map))
    }

    /// Finds out which segments came since, and what was appended to those of others.
    fn refresh(&self, lanes: &mut BTreeMap<u16, Lane>) -> Result<(), StoreError> {
        let folder = self.places.lanes();
        let at = |error| error::reading(error, &folder);
        for lane in self.places.list_lanes().map_err(at)? {
            let view = lanes.entry(lane).or_default();
            if view.ours {
                continue;
            }
            let last = view.segments.keys().next_back().copied();
            let next = Place {
                lane,
                number: last.map_or(0, |last| last.saturating_add(1)),
            };
            if last.is_none() || self.places.segment(next).exists() {
                let numbers = self.places.list_segments(lane).map_err(at)?;
                // What was the last one may have been cut or gone on since.
                view.segments.retain(|number, segment| {
                    numbers.contains(number) && !matches!(segment, Segment::Open(_))
                });
                for number in numbers {
                    view.segments.entry(number).or_insert(Segment::Sealed);
                }
            }
            if lane != COLD {
                self.look(lane, view)?;
            }
        }
        Ok(())
    }

    /// Looks at the last segment of another's lane.
    fn look(&self, lane: u16, view: &mut Lane) -> Result<(), StoreError> {
        let Some((number, segment)) = view.segments.iter_mut().next_back() else {
            return Ok(());
        };
        let place = Place {
            lane,
            number: *number,
        };
        let path = self.places.segment(place);
        let at = |refused| self.refused(place, refused);
        let file = places::open_to_read(&path);
        let Some(file) = file.map_err(|error| error::reading(error, &path))? else {
            *segment = Segment::Open(Box::new(Map::empty(place, 0)));
            return Ok(());
        };
        let mut map = match std::mem::replace(segment, Segment::Sealed) {
            Segment::Open(map) if stands(&file, &map).map_err(|error| at(error.into()))? => *map,
            Segment::Open(_) | Segment::Sealed | Segment::Mapped(_) | Segment::Own => {
                Map::empty(place, 0)
            }
        };
        if map.end == 0 || grew(&file, &map).map_err(|error| at(error.into()))? {
            let before = map.clone();
            scan(&file, &mut map, Ending::Open).map_err(at)?;
            for _ in 1..LOOKS {
                if map.damages.len() == before.damages.len() {
                    break;
                }
                thread::sleep(PAUSE);
                map = before.clone();
                scan(&file, &mut map, Ending::Open).map_err(at)?;
            }
        }
        *segment = Segment::Open(Box::new(map));
        Ok(())
    }

    fn refused(&self, place: Place, refused: Refused) -> StoreError {
        let path = self.places.segment(place);
        match refused {
            Refused::Io(error) => error::reading(error, &path),
            Refused::Newer(format) => error::newer(&path, format),
        }
    }

    fn lanes(&self) -> MutexGuard<'_, BTreeMap<u16, Lane>> {
        lock(&self.lanes)
    }

    fn own(&self) -> MutexGuard<'_, Option<Arc<Mutex<Own>>>> {
        lock(&self.own)
    }
}

/// What a sealed segment has of a session.
enum Found {
    /// The segment is not there any more.
    Gone,
    Entry(Option<Entry>),
    Map(Arc<Map>),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
