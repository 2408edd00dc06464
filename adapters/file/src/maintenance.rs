//! Maintenance: merges settled sessions, removes segments without other content, and erases unused
//! sessions if configured. Each step leaves a complete store: a new segment is durable and renamed
//! before old ones are removed, and copies of a unit are equal by position and link.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use windlass_core::{SessionId, Timestamp};
use windlass_ports::{ChainLink, StoreError};

use crate::catalog::{CatalogListing, LogPart, SegmentCatalog, SessionLayout};
use crate::disk::{Disk, RealDisk, write_all_at};
use crate::erasing::UnitSearch;
use crate::format::{
    self, CommitGroup, FIRST, MOST_SERIES, SegmentId, SessionKey, SessionOpening, UnitDraft,
    segment_header,
};
use crate::locks::SessionLocks;
use crate::log::SessionLogReader;
use crate::paths::{self, MERGED_WRITER, StorePaths};
use crate::segment_map::{AddedUnit, SegmentMap, UnitLocation};
use crate::store::FileStore;
use crate::writer::SEGMENT;
use crate::{erasing, error, witness};

/// Approximate bytes of facts in a unit of a merged session.
const UNIT: usize = 256 * 1024;
/// Most sessions to erase at once; they stay locked during the pass.
const MOST_ERASED: usize = 256;
/// Largest log to merge.
const MOST_LOG: u64 = 512 * 1024 * 1024;

/// Policy for settled sessions, in which no turn is open and no input waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaintenancePolicy {
    /// Time since its last change after which a settled session is merged; `None` for never.
    pub merge_after: Option<Duration>,
    /// Time since its last change after which a settled session is erased; `None` for never.
    pub erase_after: Option<Duration>,
}

impl Default for MaintenancePolicy {
    /// Merges after an hour and erases nothing.
    fn default() -> Self {
        Self { merge_after: Some(Duration::from_secs(60 * 60)), erase_after: None }
    }
}

/// Report of maintenance work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MaintenanceReport {
    /// Number of merged sessions.
    pub merged: u64,
    /// Number of erased sessions.
    pub erased: u64,
    /// Number of removed segments.
    pub removed: u64,
}

impl FileStore {
    /// Runs all due maintenance of a store from outside. Skips lanes that a process writes to.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `Corrupt`, `Io`.
    pub fn vacuum(
        dir: &Path,
        maintenance: MaintenancePolicy,
    ) -> Result<MaintenanceReport, StoreError> {
        let catalog = Arc::new(SegmentCatalog::new(Arc::new(StorePaths::new(dir.to_owned()))));
        let mut all = MaintenanceReport::default();
        loop {
            let piece =
                MaintenancePass::new(&catalog, &RealDisk, maintenance, None, SEGMENT).run()?;
            all.merged += piece.merged;
            all.erased += piece.erased;
            all.removed += piece.removed;
            if piece == MaintenanceReport::default() {
                return Ok(all);
            }
        }
    }
}

/// A bounded piece of maintenance: at most one new segment.
pub(crate) struct MaintenancePass<'a> {
    catalog: &'a SegmentCatalog,
    disk: &'a dyn Disk,
    maintenance: MaintenancePolicy,
    /// Lane that this store object holds.
    own: Option<u16>,
    most: u64,
    now: Timestamp,
}

/// Settled sessions and the parts of their logs.
type SettledSessions = BTreeMap<SessionId, SessionLayout>;

impl<'a> MaintenancePass<'a> {
    pub(crate) fn new(
        catalog: &'a SegmentCatalog,
        disk: &'a dyn Disk,
        maintenance: MaintenancePolicy,
        own: Option<u16>,
        most: u64,
    ) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
        Self { catalog, disk, maintenance, own, most, now: Timestamp(now) }
    }

    pub(crate) fn run(&self) -> Result<MaintenanceReport, StoreError> {
        let paths = self.catalog.paths();
        if !paths.writers_folder().is_dir() {
            return Ok(MaintenanceReport::default());
        }
        let at = |error| error::from_io(error, "keeping up", paths.root());
        let mut kept = MaintenanceReport { erased: self.erase()?, ..MaintenanceReport::default() };
        if self.maintenance.merge_after.is_none() {
            return Ok(kept);
        }
        // Whoever erases a session holds this lock too, so nothing is written anew that is erased.
        let Some(_lock) = paths.lock_writer(MERGED_WRITER).map_err(at)? else {
            return Ok(kept);
        };
        let merged_lane = paths.writer_folder(MERGED_WRITER);
        paths::create(&merged_lane).and_then(|()| erasing::sweep(paths)).map_err(at)?;
        // Lanes are kept from others as long as their segments are judged.
        let mut held = Vec::new();
        for lane in paths.list_writers().map_err(at)? {
            if lane == MERGED_WRITER || self.own == Some(lane) {
                held.push((lane, None));
            } else if let Some(lock) = paths.lock_writer(lane).map_err(at)? {
                held.push((lane, Some(lock)));
            }
        }
        let mut sealed = Vec::new();
        for (lane, _) in &held {
            let mut numbers = paths.list_segments(*lane).map_err(at)?;
            if *lane != MERGED_WRITER {
                numbers.pop();
            }
            let lane = *lane;
            sealed.extend(numbers.into_iter().map(|number| SegmentId { writer: lane, number }));
        }
        // Also of those that a process wrote that died before it wrote their witnesses.
        let merged = paths.list_segments(MERGED_WRITER).map_err(at)?;
        witness::adopt(paths, MERGED_WRITER, &merged);
        kept.merged = self.merge(&sealed)?;
        kept.removed = self.remove(&sealed)?;
        Ok(kept)
    }

    /// Erases settled sessions that are due, in one pass over the segments.
    fn erase(&self) -> Result<u64, StoreError> {
        let paths = self.catalog.paths();
        let mut locks = SessionLocks::default();
        let mut due = Vec::new();
        let begun = self.begin_erasing(&mut locks, &mut due);
        let done = begun.and_then(|search| match due.is_empty() {
            true => Ok(()),
            false => erasing::finish(paths, self.disk, &due, search).map(|_| ()),
        });
        for id in &due {
            locks.release(SessionKey::of(id));
        }
        done?;
        if !due.is_empty() {
            self.catalog.forget_all()?;
        }
        Ok(due.len() as u64)
    }

    /// Locks and marks sessions that are due, or whose erasing was interrupted.
    fn begin_erasing(
        &self,
        locks: &mut SessionLocks,
        due: &mut Vec<SessionId>,
    ) -> Result<UnitSearch, StoreError> {
        let paths = self.catalog.paths();
        let at = |error| error::from_io(error, "erasing a session in", paths.root());
        let mut sessions = paths.list_erasings().map_err(at)?;
        if self.maintenance.erase_after.is_some() {
            sessions.extend(self.settled(self.maintenance.erase_after)?.into_keys());
        }
        sessions.sort_unstable();
        sessions.dedup();
        let mut search = UnitSearch::Indexed;
        for id in sessions {
            if due.len() == MOST_ERASED {
                break;
            }
            let key = SessionKey::of(&id);
            if !locks.try_acquire(paths, key).map_err(at)? {
                continue;
            }
            match self.begin_erasing_one(&id) {
                Ok(Some(how)) => {
                    search = search.max(how);
                    due.push(id);
                }
                Ok(None) => locks.release(key),
                Err(error) => {
                    locks.release(key);
                    return Err(error);
                }
            }
        }
        Ok(search)
    }

    /// Marks a locked session as being erased, if it is still due.
    fn begin_erasing_one(&self, id: &SessionId) -> Result<Option<UnitSearch>, StoreError> {
        let paths = self.catalog.paths();
        if !erasing::is_begun(paths, id) {
            // It may have gone on before it was locked.
            let layout = self.catalog.layout(id)?;
            if !self.has_settled(id, &layout, self.maintenance.erase_after) {
                return Ok(None);
            }
        }
        erasing::begin(paths, id).map(Some)
    }

    /// Finds the sessions that have been settled for this long.
    fn settled(&self, after: Option<Duration>) -> Result<SettledSessions, StoreError> {
        let CatalogListing { parts, damages } = self.catalog.all(None)?;
        let mut settled = SettledSessions::new();
        for (id, parts) in parts {
            settled.insert(id, SessionLayout { parts, ..SessionLayout::default() });
        }
        for (id, layout) in &mut settled {
            let key = SessionKey::of(id);
            let of = damages.iter().filter(|(_, damage)| damage.may_be_of(key));
            layout.damages = of.cloned().collect();
        }
        settled.retain(|id, layout| self.has_settled(id, layout, after));
        Ok(settled)
    }

    fn has_settled(&self, id: &SessionId, layout: &SessionLayout, after: Option<Duration>) -> bool {
        let Some(after) = after else {
            return false;
        };
        let log = SessionLogReader { catalog: self.catalog, session: id };
        // What is damaged is left for a person to look at.
        let end = log.end(layout).ok().flatten();
        let after = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        end.and_then(|end| end.summary).is_some_and(|summary| {
            !summary.is_open() && self.now.0.saturating_sub(summary.changed_at.0) >= after
        })
    }

    /// Merges settled sessions of sealed segments, as many as fit one segment.
    fn merge(&self, sealed: &[SegmentId]) -> Result<u64, StoreError> {
        let mut chosen = Vec::new();
        let mut bytes = 0;
        for (id, layout) in self.settled(self.maintenance.merge_after)? {
            let last = layout.parts.iter().map(|part| part.extent.last).max();
            let merged = |part: &LogPart| {
                part.segment.writer == MERGED_WRITER
                    && part.extent.base.0 == 0
                    && Some(part.extent.last) == last
            };
            let old = |part: &LogPart| {
                part.segment.writer != MERGED_WRITER && sealed.contains(&part.segment)
            };
            let size: u64 = layout.parts.iter().map(|part| part.extent.bytes).sum();
            let parts = &layout.parts;
            if parts.iter().any(merged) || !parts.iter().any(old) || size > MOST_LOG {
                continue;
            }
            if bytes > 0 && bytes + size > self.most {
                break;
            }
            bytes += size;
            chosen.push((id, layout));
        }
        if chosen.is_empty() {
            return Ok(0);
        }
        let paths = self.catalog.paths();
        let numbers = paths.list_segments(MERGED_WRITER);
        let numbers = numbers.map_err(|error| error::from_io(error, "listing", paths.root()))?;
        let place = SegmentId {
            writer: MERGED_WRITER,
            number: numbers.last().map_or(1, |last| last.saturating_add(1)),
        };
        let merged = self.write(place, &chosen)?;
        Ok(merged)
    }

    /// Writes a segment of merged sessions and renames it once it is durable.
    fn write(
        &self,
        place: SegmentId,
        chosen: &[(SessionId, SessionLayout)],
    ) -> Result<u64, StoreError> {
        let paths = self.catalog.paths();
        let path = paths.segment(place);
        let part = path.with_extension("part");
        let at = |error| error::from_io(error, "writing", &part);
        let file = paths::open_to_write(&part, true).map_err(at)?;
        let file = self.disk.wrap(file, &part);
        file.set_len(0).map_err(at)?;
        let mut map = SegmentMap::empty(place, FIRST);
        let mut buffer = segment_header(place);
        let mut written = 0;
        for (id, layout) in chosen {
            let mut units = UnitWriter {
                segment: place,
                map: &mut map,
                key: SessionKey::of(id),
                id,
                texts: Vec::new(),
                bytes: 0,
                last: 0,
                link: ChainLink::genesis(id),
            };
            let log = SessionLogReader { catalog: self.catalog, session: id };
            let mut failed = None;
            let end = log.texts(layout, &mut |text, link| {
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
            let summary = log.end(layout)?.and_then(|end| end.summary);
            let track = map.tracks.get_mut(&SessionKey::of(id));
            if let Some(run) = track.and_then(|track| track.runs.last_mut()) {
                run.extent.summary = summary;
            }
        }
        write_all_at(&*file, &buffer, written).map_err(at)?;
        file.sync().map_err(at)?;
        let named = fs::rename(&part, &path).and_then(|()| paths.sync_writer_folder(MERGED_WRITER));
        named.map_err(at)?;
        if let Err(error) = self.catalog.write_index(&map) {
            tracing::debug!(%error, "a segment has no index for now");
        }
        // Before any segment is removed of which this one has the sessions.
        self.catalog.put_witness(&map).map_err(at)?;
        Ok(chosen.len() as u64)
    }

    /// Removes sealed segments whose sessions are all merged elsewhere.
    fn remove(&self, sealed: &[SegmentId]) -> Result<u64, StoreError> {
        let paths = self.catalog.paths();
        let CatalogListing { parts, damages } = self.catalog.all(None)?;
        let mut whole: BTreeMap<&SessionId, &LogPart> = BTreeMap::new();
        let mut of: BTreeMap<SegmentId, Vec<(&SessionId, &LogPart)>> = BTreeMap::new();
        for (id, part) in parts.iter().flat_map(|(id, of)| of.iter().map(move |part| (id, part))) {
            of.entry(part.segment).or_default().push((id, part));
            let farther =
                |old: &&LogPart| (part.extent.last, part.segment) > (old.extent.last, old.segment);
            if part.segment.writer == MERGED_WRITER
                && part.extent.base.0 == 0
                && whole.get(id).is_none_or(farther)
            {
                whole.insert(id, part);
            }
        }
        let mut removed = 0;
        for place in sealed {
            let stands = |(id, part): &(&SessionId, &LogPart)| {
                let other = whole.get(id).filter(|other| other.segment != *place);
                other.is_some_and(|other| other.extent.last >= part.extent.last)
            };
            let held = of.get(place).map(Vec::as_slice).unwrap_or_default();
            let damaged = damages.iter().any(|(damaged, _)| damaged == place);
            if damaged || !held.iter().all(stands) {
                continue;
            }
            let at = |error| error::from_io(error, "removing", &paths.segment(*place));
            self.catalog.remove(*place).map_err(at)?;
            removed += 1;
        }
        Ok(removed)
    }
}

/// Writes the units of a merged session.
struct UnitWriter<'a> {
    segment: SegmentId,
    map: &'a mut SegmentMap,
    key: SessionKey,
    id: &'a SessionId,
    texts: Vec<Vec<u8>>,
    bytes: usize,
    last: u64,
    link: ChainLink,
}

impl UnitWriter<'_> {
    /// Encodes the next unit into the buffer, which begins at `written` in the segment.
    fn flush(&mut self, buffer: &mut Vec<u8>, written: u64) -> Result<(), StoreError> {
        if self.texts.is_empty() {
            return Ok(());
        }
        let opening = (self.last == 0).then(|| SessionOpening {
            id: self.id.clone(),
            link: ChainLink::genesis(self.id),
            summary: None,
        });
        let first = windlass_core::Seq(self.last + 1);
        let offset = written + buffer.len() as u64;
        let draft = UnitDraft {
            key: self.key,
            first,
            link: self.link,
            opening,
            group: CommitGroup { first: true, series: self.map.series },
            texts: &self.texts,
        };
        let len = format::encode_unit(buffer, self.segment, offset, &draft);
        let (Some(len), Ok(offset)) = (len, u32::try_from(offset)) else {
            let most = format::MOST_UNIT as u64;
            return Err(error::too_large(self.id, "a unit", self.bytes, most));
        };
        let at = UnitLocation {
            offset,
            len,
            first,
            count: u32::try_from(self.texts.len()).unwrap_or(u32::MAX),
        };
        self.last += self.texts.len() as u64;
        self.map.end = at.end();
        self.map.series = (self.map.series + 1) % MOST_SERIES;
        self.map.add(AddedUnit {
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

#[cfg(test)]
pub(crate) mod tests;
