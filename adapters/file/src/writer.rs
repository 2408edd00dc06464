//! The writer of a lane: appends groups of units to the lane's last segment, with one write and one
//! sync per group, and begins the next segment when one is full.

mod group;
mod segment;
mod settling;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use windlass_ports::StoreError;

use crate::catalog::SegmentCatalog;
use crate::disk::{Disk, read_full_at, write_all_at};
use crate::error;
use crate::format::{
    FIRST, KeyMap, MOST_SERIES, SegmentHeader, SegmentId, read_segment_header, segment_header,
};
use crate::paths::{self, FileIdentity, MAX_WRITERS};
use crate::scan;
use crate::segment_map::{SegmentMap, TornTail};
use crate::witness::{self, WitnessWriter};

pub(crate) use group::KeyedRequest;
pub(crate) use settling::settle;

use group::WrittenEnd;
use segment::{OpenSegment, WriterLock};

/// Size from which a segment is sealed.
pub(crate) const SEGMENT: u64 = 32 * 1024 * 1024;
/// Age up to which a check of the files is still valid for calls that write nothing.
const LATELY: Duration = Duration::from_millis(5);
/// Bytes of the group buffer to keep for the next group.
const BUFFER: usize = 2 * 1024 * 1024;

/// Bytes of zeros to write ahead of small groups. Their syncs then need no change of the file's metadata.
const AHEAD: u64 = 128 * 1024;
/// Size from which a group is written without room ahead: writing its bytes twice costs more.
const LARGE: usize = 64 * 1024;

/// Writes the last segment of a lane.
pub(crate) struct SegmentWriter {
    catalog: Arc<SegmentCatalog>,
    disk: Arc<dyn Disk>,
    id: u16,
    /// Excludes other processes from the lane.
    lock: WriterLock,
    segment: Option<OpenSegment>,
    /// Number of the next segment.
    next: u32,
    lasts: KeyMap<WrittenEnd>,
    buffer: Vec<u8>,
    /// False once the disk was full; no room is prepared then.
    ahead: bool,
    indexing: Option<JoinHandle<()>>,
    /// Witness of the segment; `None` if it cannot be written.
    witness: Option<WitnessWriter>,
    /// Number of the next group.
    series: u8,
    most: u64,
    /// True once its files were found missing.
    gone: bool,
    /// Time of the last successful check of its files.
    seen: Option<Instant>,
}

impl SegmentWriter {
    /// Takes the first free lane and settles its last segment. Returns the units that were cut off.
    pub(crate) fn claim(
        catalog: Arc<SegmentCatalog>,
        disk: Arc<dyn Disk>,
        most: u64,
    ) -> Result<(Self, Option<TornTail>), StoreError> {
        for lane in 0..MAX_WRITERS {
            if let Some(taken) = Self::claim_writer_id(catalog.clone(), disk.clone(), lane, most)? {
                return Ok(taken);
            }
        }
        Err(error::crowded(catalog.paths().root()))
    }

    /// Takes a lane, if no process holds it.
    pub(crate) fn claim_writer_id(
        catalog: Arc<SegmentCatalog>,
        disk: Arc<dyn Disk>,
        lane: u16,
        most: u64,
    ) -> Result<Option<(Self, Option<TornTail>)>, StoreError> {
        let folder = catalog.paths().writer_folder(lane);
        let at = |error| error::from_io(error, "claiming in", &folder);
        let Some(lock) = catalog.paths().lock_writer(lane).map_err(at)? else {
            return Ok(None);
        };
        paths::create(&folder).map_err(at)?;
        let numbers = catalog.paths().list_segments(lane).map_err(at)?;
        let last = numbers.last().copied();
        if last.is_some() {
            // Whoever began the last segment may have died before its name was durable.
            catalog.paths().sync_writer_folder(lane).map_err(at)?;
        }
        let lock = WriterLock {
            identity: FileIdentity::of(&lock).map_err(at)?,
            path: catalog.paths().writer_lock(lane),
            _file: lock,
        };
        let mut writer = Self {
            catalog,
            disk,
            id: lane,
            lock,
            segment: None,
            next: last.map_or(1, |last| last.saturating_add(1)),
            lasts: KeyMap::default(),
            buffer: Vec::new(),
            ahead: true,
            indexing: None,
            witness: None,
            series: 0,
            most,
            gone: false,
            seen: None,
        };
        let (map, torn) = match last {
            Some(number) => writer.recover(number)?,
            None => (None, None),
        };
        let mut sealed = numbers.as_slice();
        if let Some(map) = &map {
            sealed = sealed.split_last().map_or(&[], |(_, sealed)| sealed);
            writer.begin_witness(map);
        }
        witness::adopt(writer.catalog.paths(), lane, sealed);
        writer.catalog.set_ours(lane, &numbers, map);
        Ok(Some((writer, torn)))
    }

    /// Takes over the lane's last segment. Returns its content if the writer continues it.
    fn recover(
        &mut self,
        number: u32,
    ) -> Result<(Option<SegmentMap>, Option<TornTail>), StoreError> {
        let place = SegmentId { writer: self.id, number };
        let path = self.catalog.paths().segment(place);
        let at = |error| error::from_io(error, "claiming", &path);
        let file = match paths::open_to_write(&path, false) {
            Ok(file) => file,
            // What is missing, or is no file, is damage, and the log goes on in the next segment.
            Err(error) if is_no_file(&path, &error) => return Ok((None, None)),
            Err(error) => return Err(at(error)),
        };
        let identity = FileIdentity::of(&file).map_err(at)?;
        let file = self.disk.wrap(file, &path);
        let mut map = SegmentMap::empty(place, 0);
        let known = scan::witness(self.catalog.paths(), &map);
        scan::expect_summaries(self.catalog.paths(), &mut map);
        let settled = settle(&*file, &mut map, &path, known.as_ref())?;
        let Some(torn) = settled else {
            // What is damaged stays as it is, and the log goes on in the next segment.
            return Ok((None, None));
        };
        let mut first = [0; FIRST as usize];
        read_full_at(&*file, &mut first, 0).map_err(at)?;
        let older = read_segment_header(place, &first) == SegmentHeader::Older;
        self.series = (map.series + 1) % MOST_SERIES;
        self.segment = Some(OpenSegment {
            id: place,
            end: map.end,
            room_end: file.len().map_err(at)?.max(map.end),
            path,
            identity,
            older,
            file,
            unsettled: false,
        });
        Ok((Some(map), torn))
    }

    pub(crate) fn id(&self) -> u16 {
        self.id
    }

    /// Returns true if the state of the last group on disk is unknown.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.segment.as_ref().is_some_and(|segment| segment.unsettled)
    }

    /// Returns true once its files were found missing, so that nothing can be written.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Checks that the lock and the segment are still at their paths.
    ///
    /// If someone moved or removed them, writes are lost, and another process may write the
    /// segment.
    pub(crate) fn check_there(&mut self) -> Result<(), StoreError> {
        Self::check_at(&mut self.gone, self.lock.identity, &self.lock.path)?;
        if let Some(segment) = &self.segment {
            Self::check_at(&mut self.gone, segment.identity, &segment.path)?;
        }
        self.seen = Some(Instant::now());
        Ok(())
    }

    /// Checks that a file is still at its path, and notes it if it is not.
    fn check_at(gone: &mut bool, file: FileIdentity, path: &Path) -> Result<(), StoreError> {
        let stands = file.is_at(path);
        if !stands.map_err(|error| error::from_io(error, "looking at", path))? {
            *gone = true;
            return Err(error::removed(path));
        }
        Ok(())
    }

    /// Checks the files unless a recent check succeeded, for calls that write nothing.
    pub(crate) fn check_lately_there(&mut self) -> Result<(), StoreError> {
        match self.seen {
            Some(seen) if !self.gone && seen.elapsed() < LATELY => Ok(()),
            Some(_) | None => self.check_there(),
        }
    }

    /// Rolls back a failed append.
    ///
    /// After a failed sync the system may treat unwritten data as written ("fsyncgate"), so the
    /// group is cut off.
    pub(crate) fn settle(&mut self) -> Result<(), StoreError> {
        if !self.is_unsettled() {
            return Ok(());
        }
        self.check_there()?;
        let Some(segment) = self.segment.as_mut() else {
            return Ok(());
        };
        let cut = segment.file.set_len(segment.end).and_then(|()| segment.file.sync());
        cut.map_err(|error| {
            error::from_io(error, "taking back a failed append to", &segment.path)
        })?;
        segment.room_end = segment.end;
        segment.unsettled = false;
        Ok(())
    }

    /// Appends units as one group and makes them durable.
    pub(crate) fn append(&mut self, units: &[KeyedRequest<'_>]) -> Result<(), StoreError> {
        self.settle()?;
        let bytes: u64 = units.iter().map(|unit| unit.request.batch.bytes as u64 + 128).sum();
        let full = |segment: &OpenSegment| {
            segment.older || (segment.end > FIRST && segment.end + bytes > self.most)
        };
        let is_full = self.segment.as_ref().is_some_and(full);
        match is_full || self.segment.is_none() {
            true => self.check_there()?,
            // Without its lock, another process may write the segment. Its path is checked after the
            // sync: until then the group is in no other file.
            false => Self::check_at(&mut self.gone, self.lock.identity, &self.lock.path)?,
        }
        if is_full {
            self.rotate()?;
        }
        if self.segment.is_none() {
            self.begin()?;
        }
        let (place, start) = match &self.segment {
            Some(segment) => (segment.id, segment.end),
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
                self.lasts.remove(&unit.key);
            }
        }
        let added = kept?;
        let series = self.series;
        self.series = (series + 1) % MOST_SERIES;
        let end = self.segment.as_ref().map_or(start, |segment| segment.end);
        let link = added.last().map(|unit| unit.link);
        self.catalog.add_to_own(start, end, series, added);
        let Some(link) = link else {
            return Ok(());
        };
        self.witnessing(|witness| witness.extend(end, link));
        if self.witness.as_ref().is_some_and(WitnessWriter::is_late) {
            self.catch_up(false);
        }
        Ok(())
    }

    /// Writes what is due of the witness. Returns the delay until more is.
    pub(crate) fn catch_up(&mut self, idle: bool) -> Option<Duration> {
        let catalog = self.catalog.clone();
        self.witnessing(|witness| {
            catalog.with_own(|map| witness.catch_up(map, idle)).unwrap_or(Ok(()))
        });
        self.witness.as_ref().and_then(WitnessWriter::due)
    }

    /// Writes to the witness. One that cannot be written is removed, since it may state too little;
    /// no append fails for that.
    fn witnessing(&mut self, write: impl FnOnce(&mut WitnessWriter) -> io::Result<()>) {
        let Some(Err(error)) = self.witness.as_mut().map(write) else {
            return;
        };
        tracing::warn!(%error, "the witness of a segment cannot be written");
        if let Some(witness) = self.witness.take() {
            witness.abandon();
        }
    }

    /// Begins the witness of the current segment.
    fn begin_witness(&mut self, map: &SegmentMap) {
        let begun = WitnessWriter::begin(self.catalog.paths(), self.disk.clone(), map);
        self.witness =
            begun.inspect_err(|error| tracing::warn!(%error, "a segment has no witness")).ok();
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
        if self.ahead && end > segment.room_end && bytes.len() < LARGE {
            self.ahead = segment.prepare(end, AHEAD, self.most);
        }
        segment.room_end = segment.room_end.max(end);
        if let Err(cause) = segment.file.sync() {
            segment.unsettled = true;
            return Err(error::from_io(cause, "making durable", &segment.path));
        }
        let there = self.check_there();
        if let Some(segment) = self.segment.as_mut() {
            match there {
                Ok(()) => segment.end = end,
                Err(_) => segment.unsettled = true,
            }
        }
        there
    }

    /// Seals the current segment.
    fn rotate(&mut self) -> Result<(), StoreError> {
        let Some(segment) = self.segment.as_mut() else {
            return Ok(());
        };
        if segment.room_end > segment.end {
            let cut = segment.file.set_len(segment.end).and_then(|()| segment.file.sync());
            cut.map_err(|error| error::from_io(error, "sealing", &segment.path))?;
        }
        self.segment = None;
        self.witness = None;
        self.open_all();
        if let Some(map) = self.catalog.seal_own() {
            self.index(map);
        }
        Ok(())
    }

    /// Writes the index and the witness of a sealed segment on another thread.
    fn index(&mut self, map: Arc<SegmentMap>) {
        self.finish_indexing();
        if !map.damages.is_empty() {
            return;
        }
        let catalog = self.catalog.clone();
        let index = move || {
            match catalog.write_index(&map) {
                Ok(()) => catalog.forget(map.segment),
                Err(error) => tracing::debug!(%error, "a segment has no index for now"),
            }
            if let Err(error) = catalog.put_witness(&map) {
                tracing::debug!(%error, "a segment has an unfinished witness for now");
            }
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
        let place = SegmentId { writer: self.id, number: self.next };
        let path = self.catalog.paths().segment(place);
        let begun = (|| {
            let file = paths::open_to_write(&path, true)?;
            let identity = FileIdentity::of(&file)?;
            let file = self.disk.wrap(file, &path);
            // An attempt before may have left something, of which nothing was acknowledged.
            file.set_len(0)?;
            write_all_at(&*file, &segment_header(place), 0)?;
            file.sync()?;
            self.catalog.paths().sync_writer_folder(self.id)?;
            Ok((identity, file))
        })();
        let (identity, file) =
            begun.map_err(|error: io::Error| error::from_io(error, "beginning", &path))?;
        self.next = self.next.saturating_add(1);
        self.open_all();
        let map = SegmentMap::empty(place, FIRST);
        self.begin_witness(&map);
        self.catalog.set_own(map);
        self.segment = Some(OpenSegment {
            id: place,
            path,
            identity,
            older: false,
            file,
            end: FIRST,
            room_end: FIRST,
            unsettled: false,
        });
        Ok(())
    }
}

impl Drop for SegmentWriter {
    /// Cuts prepared room off the segment, and removes an empty one.
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
            let paths = self.catalog.paths();
            witness::remove(paths, segment.id).and_then(|()| fs::remove_file(&segment.path))
        } else if segment.room_end > segment.end {
            segment.file.set_len(segment.end)
        } else {
            Ok(())
        };
        if let Err(error) = left {
            let path = segment.path.display();
            tracing::debug!(%path, %error, "a segment was left with room behind its end");
        }
        let catalog = self.catalog.clone();
        if segment.end > FIRST {
            self.witnessing(|witness| catalog.with_own(|map| witness.close(map)).unwrap_or(Ok(())));
        }
    }
}

/// Returns true if no regular file is at a path.
fn is_no_file(path: &Path, error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || fs::symlink_metadata(path).is_ok_and(|found| !found.is_file())
}
