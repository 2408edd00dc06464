//! The backend of the pipeline: claims sessions by their locks and commits groups with a writer.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::{Retry, SessionId};
use windlass_kit_log::{AppendRequest, CommitBackend, LogEnd, Sessions};
use windlass_ports::{StoreError, TailRepair};

use crate::catalog::{SegmentCatalog, SessionLayout};
use crate::disk::Disk;
use crate::erasing::{self, UnitSearch};
use crate::error;
use crate::format::{SegmentId, SessionKey};
use crate::locks::SessionLocks;
use crate::log::SessionLogReader;
use crate::maintainer::Maintainer;
use crate::maintenance::MaintenancePolicy;
use crate::open_segments::OpenSegments;
use crate::paths::{self, StorePaths};
use crate::probe;
use crate::segment_map::SegmentMap;
use crate::writer::{self, KeyedRequest, SegmentWriter};
use crate::{repairs, scan, witness};

/// Attempts to read a session whose index contradicts its segment.
const TRIES: u32 = 8;

/// Commits appends to the segments of one lane.
pub(crate) struct FileBackend {
    // Fields are dropped in this order: what was written is settled before others may write.
    maintainer: Maintainer,
    writer: Option<SegmentWriter>,
    locks: SessionLocks,
    pub(crate) catalog: Arc<SegmentCatalog>,
    disk: Arc<dyn Disk>,
    claimed: Sessions<SessionKey>,
    /// Sessions that were released while the state of their last group on disk is unknown.
    unsettled: Vec<SessionKey>,
    /// Bytes that were cut off, by session.
    cut: HashMap<SessionKey, u64>,
    /// Number of erasures that the cached state includes.
    erasures: u64,
    segment_bytes: u64,
}

impl FileBackend {
    pub(crate) fn new(
        catalog: Arc<SegmentCatalog>,
        disk: Arc<dyn Disk>,
        segment_bytes: u64,
        maintenance: MaintenancePolicy,
    ) -> Self {
        Self {
            maintainer: Maintainer::new(maintenance),
            writer: None,
            locks: SessionLocks::default(),
            catalog,
            disk,
            claimed: Sessions::default(),
            unsettled: Vec::new(),
            cut: HashMap::new(),
            erasures: 0,
            segment_bytes,
        }
    }

    /// Returns the writer of this process. The first claim takes a lane for it.
    pub(crate) fn writer(&mut self) -> Result<&mut SegmentWriter, StoreError> {
        if self.writer.is_none() {
            self.erasures = erasing::count(self.catalog.paths());
            let (writer, torn) =
                SegmentWriter::claim(self.catalog.clone(), self.disk.clone(), self.segment_bytes)?;
            for (key, bytes) in torn.into_iter().flat_map(|torn| torn.parts) {
                *self.cut.entry(key).or_default() += bytes;
            }
            let adopted = witness::adopt_others(self.catalog.paths(), &*self.disk, writer.id());
            if let Err(error) = adopted {
                tracing::debug!(%error, "some segments have no witness for now");
            }
            self.writer = Some(writer);
        }
        let writer = self.writer.as_mut();
        writer.ok_or_else(|| error::crowded(self.catalog.paths().root()))
    }

    /// Rolls back a failed group, then releases the locks that waited for that.
    fn settle(&mut self) -> Result<(), StoreError> {
        if let Some(writer) = self.writer.as_mut() {
            writer.settle()?;
        }
        for key in self.unsettled.drain(..) {
            self.locks.release(key);
        }
        Ok(())
    }

    /// Finds the end of a session's log and the number of bytes cut off it. The caller holds its
    /// lock.
    fn find(&mut self, session: &SessionId, key: SessionKey) -> Result<(LogEnd, u64), StoreError> {
        let catalog = self.catalog.clone();
        self.writer()?;
        self.settle()?;
        self.notice_erasures()?;
        if erasing::is_begun(catalog.paths(), session) {
            self.finish_erasing(session, key, UnitSearch::Whole)?;
        }
        repairs::check(catalog.paths(), session)?;
        let log = SessionLogReader { catalog: &catalog, session };
        let mut end = None;
        for _ in 0..TRIES {
            let mut layout = catalog.layout(session)?;
            if self.settle_others(session, &layout)? {
                continue;
            }
            if layout.parts.iter().any(|part| part.open) || !layout.torn_in.is_empty() {
                // What those lanes hold was forgotten.
                layout = catalog.layout(session)?;
            }
            let (_, _, last) = log.follow(&layout)?;
            if let Some(part) = last
                && !log.is_latest(part, &mut OpenSegments::default())?
                && catalog.rebuild_index(part.segment)?
            {
                continue;
            }
            match log.end(&layout) {
                // Its segments changed since they were found.
                Err(error) if error.retry == Retry::Now => {}
                found => {
                    end = Some(found?);
                    break;
                }
            }
        }
        let end = end.ok_or_else(|| error::unstable(session))?;
        let end = end.unwrap_or_else(|| LogEnd::empty(session));
        let cut = self.cut.remove(&key).unwrap_or_default();
        self.writer()?.note(key, &end);
        Ok((end, cut))
    }

    /// Makes the last segments of other lanes durable, and cuts off torn groups. Returns true if
    /// the session must be read again.
    ///
    /// The session's lock is held, so its previous writer has released it or is dead. A live writer
    /// syncs before it releases.
    fn settle_others(
        &mut self,
        session: &SessionId,
        layout: &SessionLayout,
    ) -> Result<bool, StoreError> {
        let key = SessionKey::of(session);
        let mut lanes = layout.torn_in.clone();
        let open = layout.parts.iter().filter(|part| part.open);
        lanes.extend(open.map(|part| part.segment.writer));
        lanes.sort_unstable();
        lanes.dedup();
        let mut changed = false;
        for lane in lanes {
            let paths = self.catalog.paths();
            let folder = paths.writer_folder(lane);
            let at = |error| error::from_io(error, "claiming in", &folder);
            let locked = paths.lock_writer(lane).map_err(at)?;
            let numbers = paths.list_segments(lane).map_err(at)?;
            let Some(number) = numbers.last().copied() else {
                continue;
            };
            let place = SegmentId { writer: lane, number };
            let path = paths.segment(place);
            let file = match paths::open_to_write(&path, false) {
                Ok(file) => file,
                // A segment that is missing has nothing to make durable.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(at(error)),
            };
            let file = self.disk.wrap(file, &path);
            if locked.is_none() {
                file.sync().map_err(at)?;
                continue;
            }
            let mut map = SegmentMap::empty(place, 0);
            let known = scan::witness(paths, &map);
            let settled = writer::settle(&*file, &mut map, &path, known.as_ref())?;
            for (of, bytes) in settled.flatten().into_iter().flat_map(|torn| torn.parts) {
                *self.cut.entry(of).or_default() += bytes;
                changed |= of == key;
            }
            self.catalog.forget_foreign_writer(lane);
        }
        Ok(changed)
    }

    /// Drops cached state if another process erased a session.
    fn notice_erasures(&mut self) -> Result<(), StoreError> {
        let erasures = erasing::count(self.catalog.paths());
        if erasures != self.erasures {
            self.catalog.forget_all()?;
            self.erasures = erasures;
        }
        Ok(())
    }

    fn finish_erasing(
        &mut self,
        session: &SessionId,
        key: SessionKey,
        search: UnitSearch,
    ) -> Result<(), StoreError> {
        if let Some(writer) = self.writer.as_mut() {
            writer.settle()?;
            writer.finish_indexing();
        }
        let one = std::slice::from_ref(session);
        let done = erasing::finish(self.catalog.paths(), &*self.disk, one, search);
        self.catalog.forget_all()?;
        self.catalog.with_own(|map| map.tracks.remove(&key));
        done?;
        let erasures = erasing::count(self.catalog.paths());
        // Another's erasure meanwhile is noticed by the next look.
        if erasures == self.erasures + 1 {
            self.erasures = erasures;
        }
        Ok(())
    }

    /// Returns a writer of the given lane.
    pub(crate) fn writer_of(&mut self, lane: u16) -> Result<&mut SegmentWriter, StoreError> {
        if self.writer.as_ref().is_some_and(|writer| writer.id() != lane)
            && let Some(writer) = self.writer.take()
        {
            let lane = writer.id();
            drop(writer);
            self.catalog.forget_own_writer(lane);
        }
        if self.writer.is_none() {
            let (catalog, disk) = (self.catalog.clone(), self.disk.clone());
            let taken = SegmentWriter::claim_writer_id(catalog, disk, lane, self.segment_bytes)?;
            self.writer = taken.map(|(writer, _)| writer);
        }
        let writer = self.writer.as_mut();
        writer.ok_or_else(|| error::busy_writer(&self.catalog.paths().writer_folder(lane)))
    }

    /// Takes a session's lock, waiting up to [`PATIENCE`](crate::locks::PATIENCE).
    pub(crate) fn lock(&mut self, session: &SessionId, key: SessionKey) -> Result<(), StoreError> {
        self.lock_by(session, key, SessionLocks::acquire)
    }

    fn lock_by(
        &mut self,
        session: &SessionId,
        key: SessionKey,
        take: fn(&mut SessionLocks, &StorePaths, SessionKey) -> io::Result<bool>,
    ) -> Result<(), StoreError> {
        let paths = self.catalog.paths();
        let at = |error| {
            let doing = format!("claiming session {session} in");
            error::from_io(error, &doing, paths.root())
        };
        if self.writer.is_none() {
            paths.create().map_err(at)?;
        }
        match take(&mut self.locks, paths, key).map_err(at)? {
            true => Ok(()),
            false => Err(error::locked(session, paths.root())),
        }
    }
}

impl CommitBackend for FileBackend {
    fn claim(&mut self, session: &SessionId) -> Result<(LogEnd, Option<TailRepair>), StoreError> {
        let key = SessionKey::of(session);
        if let Some(writer) = &mut self.writer {
            writer.check_lately_there()?;
        }
        let held = self.claimed.remove(session).is_some();
        if !held {
            // Whoever asks waits for a lock that another holds; here all appends would.
            self.lock_by(session, key, SessionLocks::try_acquire)?;
        }
        let (end, cut) = match self.find(session, key) {
            Ok(found) => found,
            Err(error) => {
                self.release_lock(key);
                return Err(error);
            }
        };
        let repaired = (cut > 0).then_some(TailRepair { last: end.last, cut_bytes: cut });
        self.claimed.insert(session.clone(), key);
        Ok((end, repaired))
    }

    fn release(&mut self, session: &SessionId) {
        if let Some(key) = self.claimed.remove(session) {
            if let Some(writer) = &mut self.writer {
                writer.forget(key);
            }
            self.release_lock(key);
        }
    }

    fn commit(&mut self, requests: &[AppendRequest]) -> Result<(), StoreError> {
        self.settle()?;
        let mut appended = Vec::with_capacity(requests.len());
        for request in requests {
            let Some(&key) = self.claimed.get(&request.batch.session) else {
                return Err(error::gone(&request.batch.session));
            };
            appended.push(KeyedRequest { key, request });
        }
        let Some(writer) = self.writer.as_mut() else {
            return Err(error::crowded(self.catalog.paths().root()));
        };
        writer.append(&appended)
    }

    fn erase(&mut self, session: &SessionId) -> Result<(), StoreError> {
        self.check_there()?;
        self.settle()?;
        let key = SessionKey::of(session);
        let search = erasing::begin(self.catalog.paths(), session)?;
        self.finish_erasing(session, key, search)?;
        self.release(session);
        Ok(())
    }

    fn has_failed(&self) -> bool {
        self.writer.as_ref().is_some_and(SegmentWriter::is_gone)
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        self.check_there()?;
        self.settle()?;
        let paths = self.catalog.paths();
        let path = paths.probe();
        let probed = paths.create().and_then(|()| probe::run(&*self.disk, &path));
        probed.map_err(|error| error::from_io(error, "probing", &path))
    }

    fn maintain(&mut self) -> Result<Option<Duration>, StoreError> {
        if let Some(writer) = &mut self.writer {
            writer.check_lately_there()?;
        }
        self.settle()?;
        let Some(writer) = &mut self.writer else {
            return Ok(None);
        };
        let due = writer.catch_up(true);
        let (catalog, disk) = (self.catalog.clone(), self.disk.clone());
        let next = self.maintainer.start_due(catalog, disk, writer.id(), self.segment_bytes);
        Ok(next.into_iter().chain(due).min())
    }
}

impl FileBackend {
    /// Checks that the files of the writer are still at their paths.
    fn check_there(&mut self) -> Result<(), StoreError> {
        self.writer.as_mut().map_or(Ok(()), SegmentWriter::check_there)
    }

    /// Releases a session's lock once the state of its last group on disk is known.
    fn release_lock(&mut self, key: SessionKey) {
        let settled = self.settle();
        if settled.is_err() && self.writer.as_ref().is_some_and(SegmentWriter::is_unsettled) {
            self.unsettled.push(key);
        } else {
            self.locks.release(key);
        }
    }
}
