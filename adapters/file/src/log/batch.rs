//! Reads of many logs at once: each segment and each index is opened once, and units are read in the
//! order in which they are stored.
//!
//! Nothing else differs from a read of one log: each unit is checked in the same way. A log with any
//! fault, or one that changes, is left to a read of its own, which retries and says what is wrong.

use windlass_core::{RecordedFact, Seq, SessionId};
use windlass_ports::{ChainLink, LogVerification, StoreError, codec};

use crate::catalog::{SegmentCatalog, UnitLayout};
use crate::format::SegmentId;
use crate::log::{SessionLogReader, covering};
use crate::paths;
use crate::segment_map::UnitLocation;
use crate::window::ReadWindow;

/// Beginning of a log, or all of it.
#[derive(Debug)]
pub(crate) struct BatchedLog {
    pub(crate) facts: Vec<RecordedFact>,
    /// Link of each fact, if whole logs were asked for.
    pub(crate) links: Vec<ChainLink>,
    /// Result of the check of the log, if all of it was read.
    pub(crate) whole: Option<LogVerification>,
}

/// Part of the logs that a batch reads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BatchScope {
    /// Whole logs, and none that is longer than the limit.
    Whole,
    /// All facts up to the limit.
    Beginning,
    /// Facts of these kinds up to the limit. Of others only the bytes are checked.
    Kinds(&'static [&'static str]),
}

/// Log of a batch.
struct Log<'a> {
    reader: SessionLogReader<'a>,
    /// Parts that are not read yet, the next one at the end.
    parts: Vec<(SegmentId, Vec<UnitLocation>)>,
    /// Position and link up to which the log is to be read, and its end.
    until: Seq,
    end: (Seq, ChainLink),
    torn_bytes: u64,
    /// Position, link and bytes up to which it was read.
    read: Seq,
    link: ChainLink,
    bytes: u64,
    facts: Vec<RecordedFact>,
    links: Vec<ChainLink>,
}

/// Reads the first `limit` facts of each log. Returns `None` for a log that needs a read of its own.
pub(crate) fn read_logs(
    catalog: &SegmentCatalog,
    sessions: &[SessionId],
    limit: usize,
    what: BatchScope,
) -> Result<Vec<Option<BatchedLog>>, StoreError> {
    let until = Seq(u64::try_from(limit).unwrap_or(u64::MAX));
    let layouts = catalog.layouts(sessions, until)?;
    let planned = sessions.iter().zip(layouts);
    let planned = planned.map(|(session, found)| {
        let log = Log::plan(catalog, session, found, until)?;
        (!matches!(what, BatchScope::Whole) || log.until == log.end.0).then_some(log)
    });
    let mut logs: Vec<Option<Log<'_>>> = planned.collect();
    loop {
        let mut units = Vec::new();
        for (number, log) in logs.iter_mut().enumerate() {
            let Some((segment, part)) = log.as_mut().and_then(|log| log.parts.pop()) else {
                continue;
            };
            units.extend(part.into_iter().map(|unit| (segment, unit, number)));
        }
        if units.is_empty() {
            break;
        }
        units.sort_unstable_by_key(|(segment, unit, _)| (*segment, unit.offset));
        for units in units.chunk_by(|one, other| one.0 == other.0) {
            read_segment(catalog, units, what, &mut logs);
        }
    }
    Ok(logs.into_iter().map(|log| log.and_then(Log::end)).collect())
}

/// Reads units of one segment, in the order of their offsets.
fn read_segment(
    catalog: &SegmentCatalog,
    units: &[(SegmentId, UnitLocation, usize)],
    what: BatchScope,
    logs: &mut [Option<Log<'_>>],
) {
    let Some((segment, ..)) = units.first() else { return };
    let file = paths::open_to_read(&catalog.path(*segment)).ok().flatten();
    let locations: Vec<UnitLocation> = units.iter().map(|(_, unit, _)| *unit).collect();
    let mut window = ReadWindow::default();
    for (at, (_, unit, number)) in units.iter().enumerate() {
        let Some(log) = logs.get_mut(*number) else { continue };
        let rest = locations.get(at..).unwrap_or_default();
        let read = match &file {
            Some(file) => window.load(file, rest).ok(),
            None => None,
        };
        let taken = log.as_mut().zip(read);
        let taken = taken.and_then(|(log, bytes)| log.take(*segment, unit, bytes, what));
        if taken.is_none() {
            *log = None;
        }
    }
}

impl<'a> Log<'a> {
    /// Plans the read of a log up to a position.
    fn plan(
        catalog: &'a SegmentCatalog,
        session: &'a SessionId,
        found: UnitLayout,
        until: Seq,
    ) -> Option<Self> {
        let reader = SessionLogReader { catalog, session };
        let UnitLayout { layout, units } = found;
        let (last, link, _) = reader.follow(&layout).ok()?;
        let until = until.min(last);
        let (mut at, mut parts) = (Seq::ZERO, Vec::new());
        while at < until {
            let part = covering(&layout.parts, at)?;
            let number = layout.parts.iter().position(|other| std::ptr::eq(other, part))?;
            let behind = units.get(number)?.iter().filter(|unit| unit.last() > at);
            let behind: Vec<UnitLocation> = behind.copied().collect();
            // A unit that an earlier part has as well needs its link from there.
            behind.first().filter(|unit| unit.first == at.next())?;
            at = behind.last()?.last();
            parts.push((part.segment, behind));
        }
        parts.reverse();
        (last > Seq::ZERO).then(|| Self {
            link: ChainLink::genesis(session),
            reader,
            parts,
            until,
            end: (last, link),
            torn_bytes: layout.torn_bytes,
            read: Seq::ZERO,
            facts: Vec::new(),
            links: Vec::new(),
            bytes: 0,
        })
    }

    /// Checks the next unit and decodes its facts. Returns `None` if it has any fault.
    fn take(
        &mut self,
        segment: SegmentId,
        unit: &UnitLocation,
        bytes: &[u8],
        what: BatchScope,
    ) -> Option<()> {
        let read = self.reader.check(segment, unit, bytes, &self.link)?;
        self.read = unit.last();
        self.link = *read.links.last()?;
        self.bytes += u64::from(read.len);
        if let BatchScope::Whole = what {
            self.links.extend(&read.links);
        }
        let wanted = |_, text: &[u8]| match what {
            BatchScope::Whole | BatchScope::Beginning => true,
            BatchScope::Kinds(kinds) => codec::kind(text).is_none_or(|kind| kinds.contains(&kind)),
        };
        let facts = self.reader.facts_where(segment, &read, wanted).ok()?;
        let asked = |fact: &RecordedFact| match what {
            BatchScope::Whole | BatchScope::Beginning => true,
            BatchScope::Kinds(kinds) => kinds.contains(&fact.fact.kind()),
        };
        self.facts.extend(facts.into_iter().filter(asked));
        Some(())
    }

    /// Returns the facts up to the planned position, and checks the link at the end of the log.
    fn end(mut self) -> Option<BatchedLog> {
        let ((last, link), read) = (self.end, self.read);
        if read < self.until || (read == last && self.link != link) {
            return None;
        }
        let whole = (read == last).then_some(LogVerification {
            last,
            bytes: self.bytes,
            torn_bytes: self.torn_bytes,
            chain: link,
        });
        let count = self.facts.partition_point(|fact| fact.seq <= self.until);
        self.facts.truncate(count);
        Some(BatchedLog { facts: self.facts, links: self.links, whole })
    }
}
