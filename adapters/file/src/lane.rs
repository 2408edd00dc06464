//! The writer of a lane: appends groups of units to the lane's last segment, each group with one
//! write and one sync, and begins the next segment when one is full.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use windlass_core::Seq;
use windlass_ports::StoreError;
use windlass_store::{End, Unit};

use crate::disk::{Disk, LogFile, read_full_at, write_all_at};
use crate::error;
use crate::format::{self, Draft, FIRST, Group, Key, MOST_SERIES, Opening, Place, segment_head};
use crate::index;
use crate::map::{Added, Map, Torn, UnitAt};
use crate::places::{self, MOST_LANES};
use crate::scan::{Ending, Refused, scan};
use crate::shelf::Shelf;

/// From how many bytes on a segment is sealed.
pub(crate) const SEGMENT: u64 = 32 * 1024 * 1024;
/// Room that is prepared ahead at least, and at most.
const LEAST_AHEAD: u64 = 64 * 1024;
const MOST_AHEAD: u64 = 8 * 1024 * 1024;
/// A group of more bytes changes the file's length so seldom a byte that no room is prepared for it.
const LARGE_GROUP: u64 = 2 * 1024 * 1024;

/// The writer of a lane.
pub(crate) struct Writer {
    shelf: Arc<Shelf>,
    disk: Arc<dyn Disk>,
    lane: u16,
    /// It keeps other processes from the lane.
    _lock: File,
    segment: Option<Segment>,
    /// The number that the next segment will have.
    next: u32,
    /// The last position of each session that goes on in the segment at hand without an opening.
    lasts: HashMap<Key, Seq>,
    buffer: Vec<u8>,
    /// Whether room is prepared ahead: not any more once the disk was full.
    ahead: bool,
    indexing: Option<JoinHandle<()>>,
    /// The number of the next group.
    series: u8,
    most: u64,
}

/// The segment that is appended to.
struct Segment {
    place: Place,
    path: PathBuf,
    file: Box<dyn LogFile>,
    /// Where what is durable ends.
    end: u64,
    /// Where the prepared room ends; everything from `end` to here is zeros.
    room_end: u64,
    /// Whether nobody knows what stands behind `end`.
    unsettled: bool,
}

/// A unit to be written, and where its session's log ended before.
pub(crate) struct Appended<'a> {
    pub(crate) key: Key,
    pub(crate) unit: &'a Unit,
    pub(crate) before: &'a End,
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
        let mut writer = Self {
            shelf,
            disk,
            lane,
            _lock: lock,
            segment: None,
            next: last.map_or(1, |last| last.saturating_add(1)),
            lasts: HashMap::new(),
            buffer: Vec::new(),
            ahead: true,
            indexing: None,
            series: 0,
            most,
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
        let file = self.disk.take(file, &path);
        let mut map = Map::empty(place, 0);
        let settled = settle(&*file, &mut map, &path)?;
        let Some(torn) = settled else {
            // What is damaged stays as it is, and the log goes on in the next segment.
            return Ok((None, None));
        };
        self.series = (map.series + 1) % MOST_SERIES;
        for (key, track) in &map.tracks {
            let last = track.runs.last().map(|run| run.stretch.last);
            self.lasts.extend(last.map(|last| (*key, last)));
        }
        self.segment = Some(Segment {
            place,
            end: map.end,
            room_end: file.len().map_err(at)?.max(map.end),
            path,
            file,
            unsettled: false,
        });
        Ok((Some(map), torn))
    }

    pub(crate) fn lane(&self) -> u16 {
        self.lane
    }

    /// Notes where a session's log ends: whether it goes on from what stands in the segment at hand.
    pub(crate) fn note(&mut self, key: Key, last: Seq) {
        let goes_on = self.shelf.with_own(|map| {
            let run = map.tracks.get(&key).and_then(|track| track.runs.last());
            run.is_some_and(|run| run.stretch.last == last)
        });
        match goes_on {
            Some(true) => self.lasts.insert(key, last),
            Some(false) | None => self.lasts.remove(&key),
        };
    }

    /// Whether nobody knows what the disk holds of the last group.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.segment
            .as_ref()
            .is_some_and(|segment| segment.unsettled)
    }

    /// Takes back what an append left that failed.
    ///
    /// After a sync that failed the system may believe that what it could not write is on the disk
    /// (see "fsyncgate"). So the group is cut off, and counts for nothing.
    pub(crate) fn settle(&mut self) -> Result<(), StoreError> {
        let Some(segment) = self.segment.as_mut().filter(|segment| segment.unsettled) else {
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
        buffer.shrink_to(LARGE_GROUP as usize);
        self.buffer = buffer;
        if kept.is_err() {
            // Whatever follows tells its session's beginning anew.
            for unit in units {
                self.lasts.remove(&unit.key);
            }
        }
        let added = kept?;
        let series = self.series;
        self.series = (series + 1) % MOST_SERIES;
        let end = self.segment.as_ref().map_or(start, |segment| segment.end);
        self.shelf.with_own(|map| {
            map.group = start;
            map.series = series;
            map.end = end;
            added.into_iter().for_each(|unit| map.add(unit));
        });
        Ok(())
    }

    /// The bytes of a group, and what they add to the segment. Notes where its sessions' logs end with
    /// it.
    fn encode(
        &mut self,
        place: Place,
        start: u64,
        units: &[Appended<'_>],
        buffer: &mut Vec<u8>,
    ) -> Result<Vec<Added>, StoreError> {
        let mut added = Vec::with_capacity(units.len());
        for Appended { key, unit, before } in units {
            let batch = &unit.batch;
            let last = self.lasts.insert(*key, unit.end.last);
            let opening = (last != Some(batch.after)).then(|| Opening {
                id: batch.session.clone(),
                link: before.link,
                summary: before.summary.clone(),
            });
            let first = batch.after.next();
            let draft = Draft {
                key: *key,
                first,
                link: unit.end.link,
                opening,
                group: Group {
                    first: buffer.is_empty(),
                    series: self.series,
                },
                texts: &batch.texts,
            };
            let offset = start + buffer.len() as u64;
            let len = format::encode_unit(buffer, place, offset, &draft);
            let offset = u32::try_from(offset).ok();
            let (Some(len), Some(offset)) = (len, offset) else {
                return Err(error::too_large(
                    &batch.session,
                    "an append",
                    batch.bytes,
                    format::MOST_UNIT as u64,
                ));
            };
            added.push(Added {
                key: *key,
                at: UnitAt {
                    offset,
                    len,
                    first,
                    count: u32::try_from(batch.texts.len()).unwrap_or(u32::MAX),
                },
                opening: draft.opening,
                link: unit.end.link,
                summary: unit.end.summary.clone(),
            });
        }
        Ok(added)
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
        if self.ahead && end > segment.room_end && (bytes.len() as u64) < LARGE_GROUP {
            self.ahead = segment.prepare(end, self.most);
        }
        segment.room_end = segment.room_end.max(end);
        if let Err(cause) = segment.file.sync() {
            segment.unsettled = true;
            return Err(error::from_io(cause, "making durable", &segment.path));
        }
        segment.end = end;
        Ok(())
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
        self.lasts.clear();
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
            let file = self.disk.take(places::open_to_write(&path, true)?, &path);
            // An attempt before may have left something, of which nothing was acknowledged.
            file.set_len(0)?;
            write_all_at(&*file, &segment_head(place), 0)?;
            file.sync()?;
            self.shelf
                .places()
                .sync(&self.shelf.places().lane(self.lane))?;
            Ok(file)
        })();
        let file = begun.map_err(|error: io::Error| error::from_io(error, "beginning", &path))?;
        self.next = self.next.saturating_add(1);
        self.lasts.clear();
        self.shelf.set_own(Map::empty(place, FIRST));
        self.segment = Some(Segment {
            place,
            path,
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
        let Some(segment) = &self.segment else {
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

impl Segment {
    /// Fills the file with zeros some way ahead, so that the syncs of the next appends find blocks
    /// that are allocated and need no change of the file's metadata. Answers whether it could.
    ///
    /// It is a matter of speed alone: when it fails, as on a full disk, the log goes on without.
    fn prepare(&mut self, end: u64, most: u64) -> bool {
        let ahead = (end / 4).clamp(LEAST_AHEAD, MOST_AHEAD) / 4096 * 4096;
        let room_end = ((end / 4096 + 1) * 4096 + ahead).min(most.max(end));
        let zeros = vec![0; usize::try_from(room_end - end).unwrap_or_default()];
        if write_all_at(&*self.file, &zeros, end).is_err() {
            self.room_end = end;
            // What of the zeros was written holds nothing, whether it can be cut or not.
            let _ = self.file.set_len(end);
            return false;
        }
        self.room_end = room_end;
        true
    }
}

/// Makes durable what a lane's last segment holds, and removes what it does not count. Answers
/// nothing where the segment is damaged, and is left as it is.
///
/// The last group may be in the system's memory alone: its writer may have died before the sync, or
/// the sync may have failed. Writing it again makes the next sync tell the truth about it.
pub(crate) fn settle(
    file: &dyn LogFile,
    map: &mut Map,
    path: &std::path::Path,
) -> Result<Option<Option<Torn>>, StoreError> {
    let at = |error| error::from_io(error, "claiming", path);
    scan(file, map, Ending::Open).map_err(|refused| of_refused(refused, path))?;
    if !map.damages.is_empty() {
        return Ok(None);
    }
    if map.end < FIRST {
        file.set_len(0).map_err(at)?;
        write_all_at(file, &segment_head(map.place), 0).map_err(at)?;
        file.sync().map_err(at)?;
        map.end = FIRST;
        map.group = FIRST;
        return Ok(Some(None));
    }
    let torn = map.torn.take();
    if let Some(torn) = &torn {
        tracing::warn!(
            path = %path.display(), bytes = torn.bytes, sessions = torn.parts.len(),
            "the remains of appends that were never acknowledged were cut off"
        );
        file.set_len(map.end).map_err(at)?;
    }
    let size = usize::try_from(map.end - map.group).unwrap_or_default();
    let mut group = vec![0; size];
    if read_full_at(file, &mut group, map.group).map_err(at)? != size {
        return Err(at(io::ErrorKind::UnexpectedEof.into()));
    }
    write_all_at(file, &group, map.group).map_err(at)?;
    file.sync().map_err(at)?;
    Ok(Some(torn))
}

fn of_refused(refused: Refused, path: &std::path::Path) -> StoreError {
    match refused {
        Refused::Io(error) => error::from_io(error, "checking", path),
        Refused::Newer(format) => error::newer(path, format),
    }
}
