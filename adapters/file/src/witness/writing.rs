//! Writing of witnesses: of the segment that a writer appends to, and of whole segments.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_ports::ChainLink;

use crate::disk::{Disk, LogFile, write_all_at};
use crate::format::{FIRST, SegmentId};
use crate::paths::{self, StorePaths};
use crate::segment_map::{SegmentMap, SessionExtents};
use crate::witness::record::{
    HEADS, SLOT, SegmentState, Statement, WitnessedHead, encode_head, encode_statement,
};
use crate::witness::{Witness, boot};

/// Longest delay between an append and the head of its session in the witness.
const HEADS_AFTER: Duration = Duration::from_secs(1);
/// Longest delay of a sync while appends keep the writer busy.
const SYNC_AFTER: Duration = Duration::from_secs(5);
/// The file is written again if its heads have twice the bytes that they need, and this many more.
const SLACK: u64 = 256 * 1024;

/// The witness of the segment that a writer appends to.
pub(crate) struct WitnessWriter {
    segment: SegmentId,
    path: PathBuf,
    disk: Arc<dyn Disk>,
    file: Box<dyn LogFile>,
    statement: Statement,
    /// True if the file says that no append follows, so that the next one must be preceded by a sync.
    closed: bool,
    /// Bytes of heads if each session had one.
    needed: u64,
    /// Time of the first write since the last sync, and since the last heads.
    unsynced: Option<Instant>,
    behind: Option<Instant>,
}

impl WitnessWriter {
    /// Begins the witness of a segment with this content. It continues a file that says the same.
    pub(crate) fn begin(
        paths: &StorePaths,
        disk: Arc<dyn Disk>,
        map: &SegmentMap,
    ) -> io::Result<Self> {
        let (segment, link) = (map.segment, map.last_link);
        let path = paths.witness(segment);
        let before = Witness::read(paths, segment)?.map(|before| before.statement);
        let said = before.filter(|before| {
            let same = before.end == map.end && before.link == link;
            same && before.state == SegmentState::Closed && before.heads_end == map.end
        });
        let statement = match said {
            Some(statement) => statement,
            None => {
                let fresh = Fresh::of(map, SegmentState::Open);
                paths::put(&path, &fresh.bytes, false)?;
                fresh.statement
            }
        };
        let file = paths::open_to_write(&path, false)?;
        Ok(Self {
            segment,
            file: disk.wrap(file, &path),
            path,
            disk,
            closed: statement.state == SegmentState::Closed,
            needed: statement.heads_bytes,
            statement,
            unsynced: None,
            behind: None,
        })
    }

    /// States a new end, which is durable in the segment.
    pub(crate) fn extend(&mut self, end: u64, link: ChainLink) -> io::Result<()> {
        if self.closed {
            // It must not outlive a loss of power that the append survives.
            self.state(SegmentState::Open)?;
            self.file.sync()?;
            self.closed = false;
        }
        self.statement.end = end;
        self.statement.link = link;
        self.behind.get_or_insert_with(Instant::now);
        self.state(SegmentState::Open)
    }

    /// Returns true if heads should be written before more appends.
    pub(crate) fn is_late(&self) -> bool {
        self.behind.is_some_and(|since| since.elapsed() >= HEADS_AFTER)
            || self.unsynced.is_some_and(|since| since.elapsed() >= SYNC_AFTER)
    }

    /// Delay until heads or a sync are due; `None` if nothing is.
    pub(crate) fn due(&self) -> Option<Duration> {
        let since = self.behind.into_iter().chain(self.unsynced).min()?;
        Some(HEADS_AFTER.saturating_sub(since.elapsed()))
    }

    /// Writes the heads of changed sessions, and syncs the file if it is due.
    pub(crate) fn catch_up(&mut self, map: &SegmentMap, idle: bool) -> io::Result<()> {
        if self.behind.is_some_and(|since| since.elapsed() >= HEADS_AFTER) {
            self.write_heads(map)?;
        }
        let sync_after = if idle { HEADS_AFTER } else { SYNC_AFTER };
        if self.unsynced.is_some_and(|since| since.elapsed() >= sync_after) {
            self.file.sync()?;
            self.unsynced = None;
        }
        Ok(())
    }

    /// States that no append follows.
    pub(crate) fn close(&mut self, map: &SegmentMap) -> io::Result<()> {
        if self.statement.heads_end != self.statement.end {
            self.write_heads(map)?;
        }
        self.closed = true;
        self.state(SegmentState::Closed)
    }

    /// Removes the file, which may state less than was acknowledged.
    pub(crate) fn abandon(self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            let path = self.path.display();
            tracing::warn!(%path, %error, "a witness that cannot be written cannot be removed");
        }
    }

    fn write_heads(&mut self, map: &SegmentMap) -> io::Result<()> {
        let included = self.statement.heads_end;
        let is_behind = |track: &&SessionExtents| {
            track.runs.last().is_some_and(|run| u64::from(run.extent.latest) >= included)
        };
        let mut heads = Vec::new();
        for track in map.tracks.values().filter(is_behind) {
            encode_last(self.segment, track, &mut heads);
        }
        self.behind = None;
        let at = self.statement.heads_bytes;
        if at + heads.len() as u64 > 2 * self.needed + SLACK {
            return self.rewrite(map);
        }
        write_all_at(&*self.file, &heads, HEADS as u64 + at)?;
        self.statement.heads_bytes += heads.len() as u64;
        self.statement.heads_end = self.statement.end;
        self.state(SegmentState::Open)
    }

    /// Replaces the file by one with one head a session.
    fn rewrite(&mut self, map: &SegmentMap) -> io::Result<()> {
        let fresh = Fresh::of(map, SegmentState::Open);
        paths::put(&self.path, &fresh.bytes, false)?;
        let file = paths::open_to_write(&self.path, false)?;
        self.file = self.disk.wrap(file, &self.path);
        self.statement = fresh.statement;
        self.needed = fresh.statement.heads_bytes;
        Ok(())
    }

    fn state(&mut self, state: SegmentState) -> io::Result<()> {
        self.statement.number += 1;
        self.statement.state = state;
        self.statement.boot = boot();
        let bytes = encode_statement(self.segment, &self.statement);
        let slot = (self.statement.number % 2) * SLOT as u64;
        write_all_at(&*self.file, &bytes, slot)?;
        self.unsynced.get_or_insert_with(Instant::now);
        Ok(())
    }
}

/// A witness with one head a session.
struct Fresh {
    bytes: Vec<u8>,
    statement: Statement,
}

impl Fresh {
    fn of(map: &SegmentMap, state: SegmentState) -> Self {
        let mut bytes = vec![0; HEADS];
        map.tracks.values().for_each(|track| encode_last(map.segment, track, &mut bytes));
        let statement = Statement {
            number: 0,
            end: map.end.max(FIRST),
            link: map.last_link,
            heads_end: map.end.max(FIRST),
            heads_bytes: (bytes.len() - HEADS) as u64,
            state,
            boot: boot(),
        };
        let encoded = encode_statement(map.segment, &statement);
        bytes.iter_mut().zip(encoded).for_each(|(to, from)| *to = from);
        Self { bytes, statement }
    }
}

/// Writes the witness of a sealed segment with this content, and makes it durable.
pub(crate) fn put(paths: &StorePaths, map: &SegmentMap, state: SegmentState) -> io::Result<()> {
    let fresh = Fresh::of(map, state);
    paths::put(&paths.witness(map.segment), &fresh.bytes, true)
}

/// Appends the end of a session in a segment.
fn encode_last(segment: SegmentId, track: &SessionExtents, out: &mut Vec<u8>) {
    if let Some(run) = track.runs.last() {
        let head = WitnessedHead {
            id: track.id.clone(),
            last: run.extent.last,
            link: run.extent.link,
            summary: run.extent.summary().cloned(),
        };
        encode_head(segment, &head, out);
    }
}
