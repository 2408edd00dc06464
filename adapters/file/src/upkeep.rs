//! Upkeep: settled sessions of old segments are written together into segments that nobody appends
//! to, segments in which nothing is left that counts are removed, and, where it is asked for, sessions
//! that nobody has touched for long are erased.
//!
//! Each step leaves a whole store: a new segment is durable and has its name before an old one goes,
//! and what stands in both is the same, by position and link.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use windlass_core::{SessionId, Timestamp};
use windlass_ports::{Link, StoreError};

use crate::disk::{Disk, RealDisk, write_all_at};
use crate::erasing::Search;
use crate::format::{self, Draft, FIRST, Group, Key, MOST_SERIES, Opening, Place, segment_head};
use crate::lane::SEGMENT;
use crate::locks::Locks;
use crate::log::Log;
use crate::map::{Added, Map, UnitAt};
use crate::places::{self, COLD, Places};
use crate::shelf::{Listing, Part, Shelf, Standing};
use crate::store::FileStore;
use crate::{erasing, error, index};

/// About how many bytes of facts a unit of a settled session has.
const UNIT: usize = 256 * 1024;
/// The most sessions that are erased at once: as many are kept from others meanwhile.
const MOST_ERASED: usize = 256;
/// Logs of more bytes stay where they are.
const MOST_LOG: u64 = 512 * 1024 * 1024;

/// What a store does about sessions that have settled: nothing is open in them, and no input waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upkeep {
    /// From when on after its last change a settled session is written together, so that the
    /// segments it stood in can go; `None` for never.
    pub gather_after: Option<Duration>,
    /// From when on after its last change a settled session is erased; `None` for never.
    pub erase_after: Option<Duration>,
}

impl Default for Upkeep {
    /// Gathers after an hour, and erases nothing.
    fn default() -> Self {
        Self {
            gather_after: Some(Duration::from_secs(60 * 60)),
            erase_after: None,
        }
    }
}

/// What upkeep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kept {
    /// Sessions that were written together.
    pub gathered: u64,
    /// Sessions that were erased.
    pub erased: u64,
    /// Segments that were removed.
    pub removed: u64,
}

impl FileStore {
    /// Does a store's upkeep from outside until there is nothing left to do. Lanes that a process
    /// writes to are left to that process.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `Corrupt`, `Io`.
    pub fn compact(dir: &Path, upkeep: Upkeep) -> Result<Kept, StoreError> {
        let shelf = Arc::new(Shelf::new(Arc::new(Places::new(dir.to_owned()))));
        let mut all = Kept::default();
        loop {
            let piece = Piece::new(&shelf, &RealDisk, upkeep, None, SEGMENT).run()?;
            all.gathered += piece.gathered;
            all.erased += piece.erased;
            all.removed += piece.removed;
            if piece == Kept::default() {
                return Ok(all);
            }
        }
    }
}

/// A bounded piece of upkeep: one new segment at most.
pub(crate) struct Piece<'a> {
    shelf: &'a Shelf,
    disk: &'a dyn Disk,
    upkeep: Upkeep,
    /// The lane that this store object holds.
    own: Option<u16>,
    most: u64,
    now: Timestamp,
}

/// A session that is to be written together, and the position that its log ends at.
type Settled = BTreeMap<SessionId, Standing>;

impl<'a> Piece<'a> {
    pub(crate) fn new(
        shelf: &'a Shelf,
        disk: &'a dyn Disk,
        upkeep: Upkeep,
        own: Option<u16>,
        most: u64,
    ) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
        Self {
            shelf,
            disk,
            upkeep,
            own,
            most,
            now: Timestamp(now),
        }
    }

    pub(crate) fn run(&self) -> Result<Kept, StoreError> {
        let places = self.shelf.places();
        if !places.lanes().is_dir() {
            return Ok(Kept::default());
        }
        let at = |error| error::from_io(error, "keeping up", places.root());
        let mut kept = Kept {
            erased: self.erase()?,
            ..Kept::default()
        };
        if self.upkeep.gather_after.is_none() {
            return Ok(kept);
        }
        // Whoever erases a session holds this lock too, so nothing is written anew that is erased.
        let Some(_cold) = places.lock_lane(COLD).map_err(at)? else {
            return Ok(kept);
        };
        let cold = places.lane(COLD);
        places::create(&cold)
            .and_then(|()| erasing::sweep(places))
            .map_err(at)?;
        // Lanes are kept from others as long as their segments are judged.
        let mut held = Vec::new();
        for lane in places.list_lanes().map_err(at)? {
            if lane == COLD || self.own == Some(lane) {
                held.push((lane, None));
            } else if let Some(lock) = places.lock_lane(lane).map_err(at)? {
                held.push((lane, Some(lock)));
            }
        }
        let mut sealed = Vec::new();
        for (lane, _) in &held {
            let mut numbers = places.list_segments(*lane).map_err(at)?;
            if *lane != COLD {
                numbers.pop();
            }
            let lane = *lane;
            sealed.extend(numbers.into_iter().map(|number| Place { lane, number }));
        }
        kept.gathered = self.gather(&sealed)?;
        kept.removed = self.remove(&sealed)?;
        Ok(kept)
    }

    /// Erases settled sessions whose time has come, with one pass over the segments.
    fn erase(&self) -> Result<u64, StoreError> {
        let places = self.shelf.places();
        let mut locks = Locks::default();
        let mut due = Vec::new();
        let begun = self.begin_erasing(&mut locks, &mut due);
        let done = begun.and_then(|search| match due.is_empty() {
            true => Ok(()),
            false => erasing::finish(places, self.disk, &due, search).map(|_| ()),
        });
        for id in &due {
            locks.give_back(Key::of(id));
        }
        done?;
        if !due.is_empty() {
            self.shelf.forget_all()?;
        }
        Ok(due.len() as u64)
    }

    /// Locks sessions whose time has come, and those whose erasing was cut short, and says that they
    /// are being erased.
    fn begin_erasing(
        &self,
        locks: &mut Locks,
        due: &mut Vec<SessionId>,
    ) -> Result<Search, StoreError> {
        let places = self.shelf.places();
        let at = |error| error::from_io(error, "erasing a session in", places.root());
        let mut sessions = places.list_erasings().map_err(at)?;
        if self.upkeep.erase_after.is_some() {
            sessions.extend(self.settled(self.upkeep.erase_after)?.into_keys());
        }
        sessions.sort_unstable();
        sessions.dedup();
        let mut search = Search::Indexed;
        for id in sessions {
            if due.len() == MOST_ERASED {
                break;
            }
            // One that is claimed stays.
            let key = Key::of(&id);
            if !locks.try_take(places, key).map_err(at)? {
                continue;
            }
            match self.begin_erasing_one(&id) {
                Ok(Some(how)) => {
                    search = search.max(how);
                    due.push(id);
                }
                Ok(None) => locks.give_back(key),
                Err(error) => {
                    locks.give_back(key);
                    return Err(error);
                }
            }
        }
        Ok(search)
    }

    /// Says that a session is being erased whose lock is held, if its time has come indeed.
    fn begin_erasing_one(&self, id: &SessionId) -> Result<Option<Search>, StoreError> {
        let places = self.shelf.places();
        if !erasing::is_begun(places, id) {
            // It may have gone on before it was locked.
            let standing = self.shelf.standing(id)?;
            if !self.has_settled(id, &standing, self.upkeep.erase_after) {
                return Ok(None);
            }
        }
        erasing::begin(places, id).map(Some)
    }

    /// The sessions that have settled for so long.
    fn settled(&self, after: Option<Duration>) -> Result<Settled, StoreError> {
        let Listing { parts, damages } = self.shelf.all()?;
        let mut settled = Settled::new();
        for (id, part) in parts {
            settled.entry(id).or_default().parts.push(part);
        }
        for (id, standing) in &mut settled {
            let key = Key::of(id);
            let of = damages.iter().filter(|(_, damage)| damage.may_be_of(key));
            standing.damages = of.cloned().collect();
        }
        settled.retain(|id, standing| self.has_settled(id, standing, after));
        Ok(settled)
    }

    fn has_settled(&self, id: &SessionId, standing: &Standing, after: Option<Duration>) -> bool {
        let Some(after) = after else {
            return false;
        };
        let log = Log {
            shelf: self.shelf,
            session: id,
        };
        // What is damaged is left for a person to look at.
        let end = log.end(standing).ok().flatten();
        let after = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        end.and_then(|end| end.summary).is_some_and(|summary| {
            !summary.is_open() && self.now.0.saturating_sub(summary.changed.0) >= after
        })
    }

    /// Writes settled sessions of sealed segments together, as many as one segment takes.
    fn gather(&self, sealed: &[Place]) -> Result<u64, StoreError> {
        let mut chosen = Vec::new();
        let mut bytes = 0;
        for (id, standing) in self.settled(self.upkeep.gather_after)? {
            let last = standing.parts.iter().map(|part| part.stretch.last).max();
            let gathered = |part: &Part| {
                part.place.lane == COLD
                    && part.stretch.base.0 == 0
                    && Some(part.stretch.last) == last
            };
            let old = |part: &Part| part.place.lane != COLD && sealed.contains(&part.place);
            let size: u64 = standing.parts.iter().map(|part| part.stretch.bytes).sum();
            let parts = &standing.parts;
            if parts.iter().any(gathered) || !parts.iter().any(old) || size > MOST_LOG {
                continue;
            }
            if bytes > 0 && bytes + size > self.most {
                break;
            }
            bytes += size;
            chosen.push((id, standing));
        }
        if chosen.is_empty() {
            return Ok(0);
        }
        let places = self.shelf.places();
        let numbers = places.list_segments(COLD);
        let numbers = numbers.map_err(|error| error::from_io(error, "listing", places.root()))?;
        let place = Place {
            lane: COLD,
            number: numbers.last().map_or(1, |last| last.saturating_add(1)),
        };
        let gathered = self.write(place, &chosen)?;
        Ok(gathered)
    }

    /// Writes a segment of settled sessions, and gives it its name once it is durable.
    fn write(&self, place: Place, chosen: &[(SessionId, Standing)]) -> Result<u64, StoreError> {
        let places = self.shelf.places();
        let path = places.segment(place);
        let part = path.with_extension("part");
        let at = |error| error::from_io(error, "writing", &part);
        let file = places::open_to_write(&part, true).map_err(at)?;
        let file = self.disk.take(file, &part);
        file.set_len(0).map_err(at)?;
        let mut map = Map::empty(place, FIRST);
        let mut buffer = segment_head(place);
        let mut written = 0;
        for (id, standing) in chosen {
            let mut units = Units {
                place,
                map: &mut map,
                key: Key::of(id),
                id,
                texts: Vec::new(),
                bytes: 0,
                last: 0,
                link: Link::genesis(id),
            };
            let log = Log {
                shelf: self.shelf,
                session: id,
            };
            let mut failed = None;
            let end = log.texts(standing, &mut |text, link| {
                units.texts.push(text.to_vec());
                units.bytes += text.len();
                units.link = link;
                if units.bytes >= UNIT
                    && let Err(error) = units.flush(&mut buffer, written)
                {
                    failed.get_or_insert(error);
                }
                if buffer.len() > 4 * UNIT {
                    match write_all_at(&*file, &buffer, written) {
                        Ok(()) => written += buffer.len() as u64,
                        Err(error) => {
                            failed.get_or_insert(at(error));
                        }
                    }
                    buffer.clear();
                }
                failed.is_none()
            });
            if let Some(error) = failed {
                return Err(error);
            }
            end?;
            units.flush(&mut buffer, written)?;
            let summary = log.end(standing)?.and_then(|end| end.summary);
            let track = map.tracks.get_mut(&Key::of(id));
            if let Some(run) = track.and_then(|track| track.runs.last_mut()) {
                run.stretch.summary = summary;
            }
        }
        write_all_at(&*file, &buffer, written).map_err(at)?;
        file.sync().map_err(at)?;
        let named = fs::rename(&part, &path).and_then(|()| places.sync_lane(COLD));
        named.map_err(at)?;
        if let Err(error) = index::write(places, &map) {
            tracing::debug!(%error, "a segment has no index for now");
        }
        Ok(chosen.len() as u64)
    }

    /// Removes the sealed segments of which all that counts stands together elsewhere.
    fn remove(&self, sealed: &[Place]) -> Result<u64, StoreError> {
        let places = self.shelf.places();
        let Listing { parts, damages } = self.shelf.all()?;
        let mut whole: BTreeMap<&SessionId, &Part> = BTreeMap::new();
        let mut of: BTreeMap<Place, Vec<(&SessionId, &Part)>> = BTreeMap::new();
        for (id, part) in &parts {
            of.entry(part.place).or_default().push((id, part));
            let farther =
                |old: &&Part| (part.stretch.last, part.place) > (old.stretch.last, old.place);
            if part.place.lane == COLD
                && part.stretch.base.0 == 0
                && whole.get(id).is_none_or(farther)
            {
                whole.insert(id, part);
            }
        }
        let mut removed = 0;
        for place in sealed {
            let stands = |(id, part): &(&SessionId, &Part)| {
                let other = whole.get(id).filter(|other| other.place != *place);
                other.is_some_and(|other| other.stretch.last >= part.stretch.last)
            };
            let held = of.get(place).map(Vec::as_slice).unwrap_or_default();
            let damaged = damages.iter().any(|(damaged, _)| damaged == place);
            if damaged || !held.iter().all(stands) {
                continue;
            }
            let at = |error| error::from_io(error, "removing", &places.segment(*place));
            erasing::remove(&places.segment(*place)).map_err(at)?;
            erasing::remove(&places.index(*place)).map_err(at)?;
            self.shelf.remove(*place);
            removed += 1;
        }
        Ok(removed)
    }
}

/// The units of a settled session as they are written.
struct Units<'a> {
    place: Place,
    map: &'a mut Map,
    key: Key,
    id: &'a SessionId,
    /// The texts of the next unit.
    texts: Vec<Vec<u8>>,
    bytes: usize,
    /// The last position of the units before.
    last: u64,
    link: Link,
}

impl Units<'_> {
    /// Adds a unit to what is to be written, which stands in the segment from `written` on.
    fn flush(&mut self, buffer: &mut Vec<u8>, written: u64) -> Result<(), StoreError> {
        if self.texts.is_empty() {
            return Ok(());
        }
        let opening = (self.last == 0).then(|| Opening {
            id: self.id.clone(),
            link: Link::genesis(self.id),
            summary: None,
        });
        let first = windlass_core::Seq(self.last + 1);
        let offset = written + buffer.len() as u64;
        let draft = Draft {
            key: self.key,
            first,
            link: self.link,
            opening,
            group: Group {
                first: true,
                series: self.map.series,
            },
            texts: &self.texts,
        };
        let len = format::encode_unit(buffer, self.place, offset, &draft);
        let (Some(len), Ok(offset)) = (len, u32::try_from(offset)) else {
            let most = format::MOST_UNIT as u64;
            return Err(error::too_large(self.id, "a unit", self.bytes, most));
        };
        let at = UnitAt {
            offset,
            len,
            first,
            count: u32::try_from(self.texts.len()).unwrap_or(u32::MAX),
        };
        self.last += self.texts.len() as u64;
        self.map.end = at.end();
        self.map.series = (self.map.series + 1) % MOST_SERIES;
        self.map.add(Added {
            key: self.key,
            at,
            opening: draft.opening.map(Box::new),
            link: self.link,
            summary: None,
        });
        self.texts.clear();
        self.bytes = 0;
        Ok(())
    }
}

/// Waits for the lock that keeps the segments of settled sessions as they are.
pub(crate) fn hold_cold(places: &Places) -> std::io::Result<File> {
    let begun = std::time::Instant::now();
    loop {
        if let Some(lock) = places.lock_lane(COLD)? {
            return Ok(lock);
        }
        if begun.elapsed() > Duration::from_secs(30) {
            return Err(std::io::Error::other(
                "another process keeps up the store for longer than 30 s",
            ));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
pub(crate) mod tests;
