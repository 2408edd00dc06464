//! The writer of a lane: appends groups of units to the lane's last segment, each group with one
//! write and one sync, and begins the next segment when one is full.

mod group;
mod pace;
mod segment;
mod settling;

use std::fs;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use windlass_ports::StoreError;

use crate::disk::{Disk, write_all_at};
use crate::error;
use crate::format::{FIRST, MOST_SERIES, Place, segment_head};
use crate::index;
use crate::map::{Map, Torn};
use crate::places::{self, Identity, MOST_LANES};
use crate::shelf::Shelf;

pub(crate) use group::Appended;
pub(crate) use settling::settle;

use group::Last;
use pace::Pace;
use segment::{Lock, Segment};

/// From how many bytes on a segment is sealed.
pub(crate) const SEGMENT: u64 = 32 * 1024 * 1024;
/// How long what was found to be there is taken to be there still, where nothing is written.
const LATELY: Duration = Duration::from_millis(5);
/// The bytes of a group that are kept as room for the next.
const BUFFER: usize = 2 * 1024 * 1024;

/// The writer of a lane.
pub(crate) struct Writer {
    shelf: Arc<Shelf>,
    disk: Arc<dyn Disk>,
    lane: u16,
    /// It keeps other processes from the lane.
    lock: Lock,
    segment: Option<Segment>,
    /// The number that the next segment will have.
    next: u32,
    /// The sessions that are appended to, by seat.
    lasts: Vec<Option<Last>>,
    buffer: Vec<u8>,
    pace: Pace,
    /// Whether room is prepared ahead: not any more once the disk was full.
    ahead: bool,
    indexing: Option<JoinHandle<()>>,
    /// The number of the next group.
    series: u8,
    most: u64,
    /// Whether what it writes to was found to be gone from its place.
    gone: bool,
    /// When it was last found to be there.
    seen: Option<Instant>,
}

impl Writer {
    /// Takes the first lane that no process has, and settles what a process left there that died.
    /// Answers what was cut off as well.
    pub(crate) fn take(
        shelf: Arc<Shelf>,
        disk: Arc<dyn Disk>,
        most: u64,
    ) -> Result<(Self, Option<Torn>), StoreError> {
        for lane in 0..MOST_LANES {
            if let Some(taken) = Self::take_lane(shelf.clone(), disk.clone(), lane, most)? {
                return Ok(taken);
            }
        }
        Err(error::crowded(shelf.places().root()))
    }

    /// Takes a lane, if no process has it.
    pub(crate) fn take_lane(
        shelf: Arc<Shelf>,
        disk: Arc<dyn Disk>,
        lane: u16,
        most: u64,
    ) -> Result<Option<(Self, Option<Torn>)>, StoreError> {
        let folder = shelf.places().lane(lane);
        let at = |error| error::from_io(error, "claiming in", &folder);
        let Some(lock) = shelf.places().lock_lane(lane).map_err(at)? else {
            return Ok(None);
        };
        places::create(&folder).map_err(at)?;
        let numbers = shelf.places().list_segments(lane).map_err(at)?;
        let last = numbers.last().copied();
        if last.is_some() {
            // Whoever began the last segment may have died before its name was durable.
            shelf.places().sync_lane(lane).map_err(at)?;
        }
        let lock = Lock {
            identity: Identity::of(&lock).map_err(at)?,
            path: shelf.places().lane_lock(lane),
            _file: lock,
        };
        let mut writer = Self {
            shelf,
            disk,
            lane,
            lock,
            segment: None,
            next: last.map_or(1, |last| last.saturating_add(1)),
            lasts: Vec::new(),
            buffer: Vec::new(),
            pace: Pace::default(),
            ahead: true,
            indexing: None,
            series: 0,
            most,
            gone: false,
            seen: None,
        };
        let (map, torn) = match last {
            Some(number) => writer.recover(number)?,
            None => (None, None),
        };
        writer.shelf.set_ours(lane, &numbers, map);
        Ok(Some((writer, torn)))
    }

    /// Takes over the lane's last segment. Answers what it holds, where the log goes on in it.
    fn recover(&mut self, number: u32) -> Result<(Option<Map>, Option<Torn>), StoreError> {
        let place = Place {
            lane: self.lane,
            number,
        };
        let path = self.shelf.places().segment(place);
        let at = |error| error::from_io(error, "claiming", &path);
        let file = places::open_to_write(&path, false).map_err(at)?;
        let identity = Identity::of(&file).map_err(at)?;
        let file = self.disk.take(file, &path);
        let mut map = Map::empty(place, 0);
        let settled = settle(&*file, &mut map, &path)?;
        let Some(torn) = settled else {
            // What is damaged stays as it is, and the log goes on in the next segment.
            return Ok((None, None));
        };
        self.series = (map.series + 1) % MOST_SERIES;
        self.segment = Some(Segment {
            place,
            end: map.end,
            room_end: file.len().map_err(at)?.max(map.end),
            path,
            identity,
            file,
            unsettled: false,
        });
        Ok((Some(map), torn))
    }

    pub(crate) fn lane(&self) -> u16 {
        self.lane
    }

    /// Whether nobody knows what the disk holds of the last group.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.segment
            .as_ref()
            .is_some_and(|segment| segment.unsettled)
    }

    /// Whether what it writes to was found to be gone: nothing can be written any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Checks that the lock and the segment stand where they are looked for.
    ///
    /// Somebody may have removed or moved the folder, or a file in it. What is written is lost
    /// then, or in nobody's log; and without the lock the segment may be another process's.
    pub(crate) fn check_there(&mut self) -> Result<(), StoreError> {
        let segment = self.segment.as_ref();
        let segment = segment.map(|segment| (segment.identity, &segment.path));
        for (identity, path) in [Some((self.lock.identity, &self.lock.path)), segment]
            .into_iter()
            .flatten()
        {
            let stands = identity.stands_at(path);
            if !stands.map_err(|error| error::from_io(error, "looking at", path))? {
                self.gone = true;
                return Err(error::removed(path));
            }
        }
        self.seen = Some(Instant::now());
        Ok(())
    }

    /// The same where the last look is not a moment ago, for who writes nothing.
    pub(crate) fn check_lately_there(&mut self) -> Result<(), StoreError> {
        match self.seen {
            Some(seen) if !self.gone && seen.elapsed() < LATELY => Ok(()),
            Some(_) | None => self.check_there(),
        }
    }

    /// Takes back what an append left that failed.
    ///
    /// After a sync that failed the system may believe that what it could not write is on the disk
    /// (see "fsyncgate"). So the group is cut off, and counts for nothing.
    pub(crate) fn settle(&mut self) -> Result<(), StoreError> {
        if !self.is_unsettled() {
            return Ok(());
        }
        self.check_there()?;
        let Some(segment) = self.segment.as_mut() else {
            return Ok(());
        };
        let cut = segment
            .file
            .set_len(segment.end)
            .and_then(|()| segment.file.sync());
        cut.map_err(|error| {
            error::from_io(error, "taking back a failed append to", &segment.path)
        })?;
        segment.room_end = segment.end;
        segment.unsettled = false;
        Ok(())
    }

    /// Appends units as one group; durable when it returns.
    pub(crate) fn append(&mut self, units: &[Appended<'_>]) -> Result<(), StoreError> {
        self.settle()?;
        self.check_there()?;
        let bytes: u64 = units
            .iter()
            .map(|unit| unit.unit.batch.bytes as u64 + 128)
            .sum();
        let full = |segment: &Segment| segment.end > FIRST && segment.end + bytes > self.most;
        if self.segment.as_ref().is_some_and(full) {
            self.rotate()?;
        }
        if self.segment.is_none() {
            self.begin()?;
        }
        let (place, start) = match &self.segment {
            Some(segment) => (segment.place, segment.end),
            None => return Ok(()),
        };
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let encoded = self.encode(place, start, units, &mut buffer);
        let kept = encoded.and_then(|added| {
            self.write(&buffer)?;
            Ok(added)
        });
        buffer.shrink_to(BUFFER);
        self.buffer = buffer;
        if kept.is_err() {
            // Nobody knows where these logs end: they are noted anew before anything follows.
            for unit in units {
                if let Some(last) = self.lasts.get_mut(unit.seat.index()) {
                    *last = None;
                }
            }
        }
        let added = kept?;
        let series = self.series;
        self.series = (series + 1) % MOST_SERIES;
        let end = self.segment.as_ref().map_or(start, |segment| segment.end);
        self.shelf.add_to_own(start, end, series, added);
        Ok(())
    }

    /// Writes bytes at the segment's end and makes them durable.
    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let Some(segment) = self.segment.as_mut() else {
            return Ok(());
        };
        let end = segment.end + bytes.len() as u64;
        if let Err(cause) = write_all_at(&*segment.file, bytes, segment.end) {
            self.ahead = false;
            segment.unsettled = true;
            let error = error::from_io(cause, "appending to", &segment.path);
            // Where this fails too, the next one to write or to claim tries it again.
            let _ = self.settle();
            return Err(error);
        }
        self.pace.wrote(bytes.len() as u64);
        if self.ahead
            && end > segment.room_end
            && let Some(room) = self.pace.room(end)
        {
            self.ahead = segment.prepare(end, room, self.most);
        }
        segment.room_end = segment.room_end.max(end);
        let begun = Instant::now();
        if let Err(cause) = segment.file.sync() {
            segment.unsettled = true;
            return Err(error::from_io(cause, "making durable", &segment.path));
        }
        self.pace.synced(begun.elapsed());
        let there = self.check_there();
        if let Some(segment) = self.segment.as_mut() {
            match there {
                Ok(()) => segment.end = end,
                Err(_) => segment.unsettled = true,
            }
        }
        there
    }

    /// Seals the segment at hand.
    fn rotate(&mut self) -> Result<(), StoreError> {
        let Some(segment) = self.segment.as_mut() else {
            return Ok(());
        };
        if segment.room_end > segment.end {
            let cut = segment
                .file
                .set_len(segment.end)
                .and_then(|()| segment.file.sync());
            cut.map_err(|error| error::from_io(error, "sealing", &segment.path))?;
        }
        self.segment = None;
        self.open_all();
        if let Some(map) = self.shelf.seal_own() {
            self.index(map);
        }
        Ok(())
    }

    /// Writes the index of a segment that was sealed, beside the appends that go on.
    fn index(&mut self, map: Arc<Map>) {
        self.finish_indexing();
        if !map.damages.is_empty() {
            return;
        }
        let shelf = self.shelf.clone();
        let index = move || match index::write(shelf.places(), &map) {
            Ok(()) => shelf.forget(map.place),
            Err(error) => tracing::debug!(%error, "a segment has no index for now"),
        };
        let thread = std::thread::Builder::new().name("windlass-file-index".to_owned());
        // Without a thread it is written when it is asked for.
        self.indexing = thread.spawn(index).ok();
    }

    pub(crate) fn finish_indexing(&mut self) {
        if let Some(indexing) = self.indexing.take()
            && indexing.join().is_err()
        {
            tracing::error!("the thread that writes an index panicked");
        }
    }

    /// Begins the next segment.
    fn begin(&mut self) -> Result<(), StoreError> {
        let place = Place {
            lane: self.lane,
            number: self.next,
        };
        let path = self.shelf.places().segment(place);
        let begun = (|| {
            let file = places::open_to_write(&path, true)?;
            let identity = Identity::of(&file)?;
            let file = self.disk.take(file, &path);
            // An attempt before may have left something, of which nothing was acknowledged.
            file.set_len(0)?;
            write_all_at(&*file, &segment_head(place), 0)?;
            file.sync()?;
            self.shelf.places().sync_lane(self.lane)?;
            Ok((identity, file))
        })();
        let (identity, file) =
            begun.map_err(|error: io::Error| error::from_io(error, "beginning", &path))?;
        self.next = self.next.saturating_add(1);
        self.open_all();
        self.shelf.set_own(Map::empty(place, FIRST));
        self.segment = Some(Segment {
            place,
            path,
            identity,
            file,
            end: FIRST,
            room_end: FIRST,
            unsettled: false,
        });
        Ok(())
    }
}

impl Drop for Writer {
    /// Leaves the segment as long as what it holds, and none where it holds nothing.
    fn drop(&mut self) {
        let _ = self.settle();
        self.finish_indexing();
        // What is gone from its place may be another's by now.
        let there = self.check_there();
        let Some(segment) = self.segment.as_ref().filter(|_| there.is_ok()) else {
            return;
        };
        if segment.unsettled {
            return;
        }
        let left = if segment.end <= FIRST {
            fs::remove_file(&segment.path)
        } else if segment.room_end > segment.end {
            segment.file.set_len(segment.end)
        } else {
            Ok(())
        };
        if let Err(error) = left {
            let path = segment.path.display();
            tracing::debug!(%path, %error, "a segment was left with room behind its end");
        }
    }
}
