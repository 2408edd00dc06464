//! The medium of the pipeline: admits sessions by their locks, and keeps groups of units in a lane.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::SessionId;
use windlass_kit_log::{End, Medium, Seat, Sessions, Unit};
use windlass_ports::{Repair, StoreError};

use crate::disk::Disk;
use crate::erasing::{self, Search};
use crate::error;
use crate::format::{Key, Place};
use crate::keeper::Keeper;
use crate::lane::{self, Appended, Writer};
use crate::locks::Locks;
use crate::log::Log;
use crate::map::Map;
use crate::places::{self, Places};
use crate::shelf::{Shelf, Standing};
use crate::upkeep::Upkeep;

/// How often a session is looked at anew because an index did not say what its segment says.
const TRIES: u32 = 8;

/// The medium of a file store.
pub(crate) struct FileMedium {
    // Fields are dropped in this order: what was written is settled before others may write.
    keeper: Keeper,
    writer: Option<Writer>,
    locks: Locks,
    pub(crate) shelf: Arc<Shelf>,
    disk: Arc<dyn Disk>,
    admitted: Sessions<Key>,
    /// The keys of the admitted sessions, by seat.
    keys: Vec<Key>,
    /// Sessions that were let go while nobody knew what the disk holds of them.
    unsettled: Vec<Key>,
    /// Bytes that were cut off, by session.
    cut: HashMap<Key, u64>,
    /// The number of erasures that all that is known comes after.
    erasures: u64,
    segment_bytes: u64,
}

impl FileMedium {
    pub(crate) fn new(
        shelf: Arc<Shelf>,
        disk: Arc<dyn Disk>,
        segment_bytes: u64,
        upkeep: Upkeep,
    ) -> Self {
        Self {
            keeper: Keeper::new(upkeep),
            writer: None,
            locks: Locks::default(),
            shelf,
            disk,
            admitted: Sessions::default(),
            keys: Vec::new(),
            unsettled: Vec::new(),
            cut: HashMap::new(),
            erasures: 0,
            segment_bytes,
        }
    }

    /// The lane's writer, which the first that is admitted takes.
    pub(crate) fn writer(&mut self) -> Result<&mut Writer, StoreError> {
        if self.writer.is_none() {
            self.erasures = erasing::count(self.shelf.places());
            let (writer, torn) =
                Writer::take(self.shelf.clone(), self.disk.clone(), self.segment_bytes)?;
            for (key, bytes) in torn.into_iter().flat_map(|torn| torn.parts) {
                *self.cut.entry(key).or_default() += bytes;
            }
            self.writer = Some(writer);
        }
        let writer = self.writer.as_mut();
        writer.ok_or_else(|| error::crowded(self.shelf.places().root()))
    }

    /// Takes back what failed, and gives the locks back that waited for that.
    fn settle(&mut self) -> Result<(), StoreError> {
        if let Some(writer) = self.writer.as_mut() {
            writer.settle()?;
        }
        for key in self.unsettled.drain(..) {
            self.locks.give_back(key);
        }
        Ok(())
    }

    /// Admits a session whose lock is held.
    fn find(
        &mut self,
        session: &SessionId,
        key: Key,
        seat: Seat,
    ) -> Result<(End, u64), StoreError> {
        let shelf = self.shelf.clone();
        self.writer()?;
        self.settle()?;
        self.notice_erasures()?;
        if erasing::is_begun(shelf.places(), session) {
            self.finish_erasing(session, key, Search::Whole)?;
        }
        let log = Log {
            shelf: &shelf,
            session,
        };
        let mut end = None;
        for _ in 0..TRIES {
            let standing = shelf.standing(session)?;
            if self.settle_others(session, &standing)? {
                continue;
            }
            let (_, _, last) = log.follow(&standing)?;
            if let Some(part) = last
                && !log.is_latest(part)?
                && shelf.distrust(part.place)?
            {
                continue;
            }
            end = Some(log.end(&standing)?);
            break;
        }
        let end = end.ok_or_else(|| error::restless(session))?;
        let end = end.unwrap_or_else(|| End::none(session));
        let cut = self.cut.remove(&key).unwrap_or_default();
        self.writer()?.note(seat, key, &end);
        Ok((end, cut))
    }

    /// Settles what stands in the lanes of others and may not be durable, or is torn. Answers whether
    /// anything is to be looked at anew.
    ///
    /// The session's lock is held, so whoever wrote it has let it go or is dead. One that lives
    /// syncs before it lets go.
    fn settle_others(
        &mut self,
        session: &SessionId,
        standing: &Standing,
    ) -> Result<bool, StoreError> {
        let key = Key::of(session);
        let mut lanes = standing.torn_in.clone();
        let open = standing.parts.iter().filter(|part| part.open);
        lanes.extend(open.map(|part| part.place.lane));
        lanes.sort_unstable();
        lanes.dedup();
        let mut changed = false;
        for lane in lanes {
            let places = self.shelf.places();
            let folder = places.lane(lane);
            let at = |error| error::from_io(error, "claiming in", &folder);
            let locked = places.lock_lane(lane).map_err(at)?;
            let numbers = places.list_segments(lane).map_err(at)?;
            let Some(number) = numbers.last().copied() else {
                continue;
            };
            let place = Place { lane, number };
            let path = places.segment(place);
            let file = places::open_to_write(&path, false).map_err(at)?;
            let file = self.disk.take(file, &path);
            if locked.is_none() {
                file.sync().map_err(at)?;
                continue;
            }
            let mut map = Map::empty(place, 0);
            let settled = lane::settle(&*file, &mut map, &path)?;
            for (of, bytes) in settled.flatten().into_iter().flat_map(|torn| torn.parts) {
                *self.cut.entry(of).or_default() += bytes;
                changed |= of == key;
            }
            self.shelf.forget_lane_of_others(lane);
        }
        Ok(changed)
    }

    /// Looks anew at all that is known, if a session was erased by another process.
    fn notice_erasures(&mut self) -> Result<(), StoreError> {
        let erasures = erasing::count(self.shelf.places());
        if erasures != self.erasures {
            self.shelf.forget_all()?;
            self.erasures = erasures;
        }
        Ok(())
    }

    fn finish_erasing(
        &mut self,
        session: &SessionId,
        key: Key,
        search: Search,
    ) -> Result<(), StoreError> {
        if let Some(writer) = self.writer.as_mut() {
            writer.settle()?;
            writer.finish_indexing();
        }
        let one = std::slice::from_ref(session);
        let done = erasing::finish(self.shelf.places(), &*self.disk, one, search);
        self.shelf.forget_all()?;
        self.shelf.with_own(|map| map.tracks.remove(&key));
        done?;
        let erasures = erasing::count(self.shelf.places());
        // Another's erasure meanwhile is noticed by the next look.
        if erasures == self.erasures + 1 {
            self.erasures = erasures;
        }
        Ok(())
    }

    /// The writer of one lane and no other.
    pub(crate) fn writer_of(&mut self, lane: u16) -> Result<&mut Writer, StoreError> {
        if self
            .writer
            .as_ref()
            .is_some_and(|writer| writer.lane() != lane)
            && let Some(writer) = self.writer.take()
        {
            let lane = writer.lane();
            drop(writer);
            self.shelf.give_up(lane);
        }
        if self.writer.is_none() {
            let (shelf, disk) = (self.shelf.clone(), self.disk.clone());
            let taken = Writer::take_lane(shelf, disk, lane, self.segment_bytes)?;
            self.writer = taken.map(|(writer, _)| writer);
        }
        let writer = self.writer.as_mut();
        writer.ok_or_else(|| error::busy_lane(&self.shelf.places().lane(lane)))
    }

    /// Takes a session's lock, and waits a little for it.
    pub(crate) fn lock(&mut self, session: &SessionId, key: Key) -> Result<(), StoreError> {
        self.lock_by(session, key, Locks::take)
    }

    fn lock_by(
        &mut self,
        session: &SessionId,
        key: Key,
        take: fn(&mut Locks, &Places, Key) -> io::Result<bool>,
    ) -> Result<(), StoreError> {
        let places = self.shelf.places();
        let at = |error| {
            let doing = format!("claiming session {session} in");
            error::from_io(error, &doing, places.root())
        };
        places.create().map_err(at)?;
        match take(&mut self.locks, places, key).map_err(at)? {
            true => Ok(()),
            false => Err(error::locked(session, places.root())),
        }
    }
}

impl Medium for FileMedium {
    fn admit(
        &mut self,
        session: &SessionId,
        seat: Seat,
    ) -> Result<(End, Option<Repair>), StoreError> {
        let key = Key::of(session);
        self.check_there()?;
        let held = self.admitted.remove(session).is_some();
        if !held {
            // Whoever asks waits for a lock that another holds; here all appends would.
            self.lock_by(session, key, Locks::try_take)?;
        }
        let (end, cut) = match self.find(session, key, seat) {
            Ok(found) => found,
            Err(error) => {
                self.give_back(key);
                return Err(error);
            }
        };
        let repaired = (cut > 0).then_some(Repair {
            kept: end.last,
            cut_bytes: cut,
        });
        self.admitted.insert(session.clone(), key);
        if self.keys.len() <= seat.index() {
            self.keys.resize(seat.index() + 1, key);
        }
        if let Some(at) = self.keys.get_mut(seat.index()) {
            *at = key;
        }
        Ok((end, repaired))
    }

    fn let_go(&mut self, session: &SessionId) {
        if let Some(key) = self.admitted.remove(session) {
            self.give_back(key);
        }
    }

    fn keep(&mut self, units: &[Box<Unit>]) -> Result<(), StoreError> {
        self.settle()?;
        let mut appended = Vec::with_capacity(units.len());
        for unit in units {
            let Some(&key) = self.keys.get(unit.seat.index()) else {
                return Err(error::gone(&unit.batch.session));
            };
            let seat = unit.seat;
            appended.push(Appended { seat, key, unit });
        }
        let Some(writer) = self.writer.as_mut() else {
            return Err(error::crowded(self.shelf.places().root()));
        };
        writer.append(&appended)
    }

    fn erase(&mut self, session: &SessionId) -> Result<(), StoreError> {
        self.check_there()?;
        self.settle()?;
        let key = Key::of(session);
        let search = erasing::begin(self.shelf.places(), session)?;
        self.finish_erasing(session, key, search)?;
        self.let_go(session);
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.writer.as_ref().is_some_and(Writer::is_gone)
    }

    fn rest(&mut self) -> Result<Option<Duration>, StoreError> {
        if let Some(writer) = &mut self.writer {
            writer.check_lately_there()?;
        }
        self.settle()?;
        let Some(writer) = &self.writer else {
            return Ok(None);
        };
        let (shelf, disk) = (self.shelf.clone(), self.disk.clone());
        let next = self
            .keeper
            .keep(shelf, disk, writer.lane(), self.segment_bytes);
        Ok(next)
    }
}

impl FileMedium {
    /// Checks that what is written to stands where it is looked for.
    fn check_there(&mut self) -> Result<(), StoreError> {
        self.writer.as_mut().map_or(Ok(()), Writer::check_there)
    }

    /// Gives a session's lock back, as soon as what the disk holds of it is known.
    fn give_back(&mut self, key: Key) {
        let settled = self.settle();
        if settled.is_err() && self.writer.as_ref().is_some_and(Writer::is_unsettled) {
            self.unsettled.push(key);
        } else {
            self.locks.give_back(key);
        }
    }
}
