//! A session's log over the segments that hold it: its end, its facts and its links.

mod batch;
mod copying;

use std::fs::File;

use windlass_core::{RecordedFact, Seq, SessionId};
use windlass_kit_log::LogEnd;
use windlass_ports::codec::{self, CodecError};
use windlass_ports::{ChainLink, LogVerification, SessionSummary, StoreError, StoreErrorKind};

use crate::catalog::{LogPart, SegmentCatalog, SessionLayout};
use crate::disk::read_full_at;
use crate::error;
use crate::format::{self, HEAD, SegmentId, SessionKey, UnitContent};
use crate::open_segments::OpenSegments;
use crate::paths;
use crate::segment_map::{Damage, UnitLocation};
use crate::unattributed::UnattributedDamage;
use crate::window::ReadWindow;

pub(crate) use batch::{BatchScope, BatchedLog, read_logs};

/// Attempts to read a log whose segments change during the read.
pub(crate) const TRIES: u32 = 8;

/// Reads the log of one session.
pub(crate) struct SessionLogReader<'a> {
    pub(crate) catalog: &'a SegmentCatalog,
    pub(crate) session: &'a SessionId,
}

/// A unit that was read and checked.
struct ReadUnit<'a> {
    first: Seq,
    content: UnitContent<'a>,
    /// Link of each fact.
    links: Vec<ChainLink>,
    offset: u64,
    len: u32,
}

/// Reason why a read stopped early.
enum ReadStop {
    /// The segments changed or an index was wrong: find the parts of the log again.
    Changed,
    Failed(StoreError),
}

impl From<StoreError> for ReadStop {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl SessionLogReader<'_> {
    fn key(&self) -> SessionKey {
        SessionKey::of(self.session)
    }

    /// Finds the end of the log, checked without reading its facts. Returns `None` if there is no
    /// log.
    pub(crate) fn end(&self, layout: &SessionLayout) -> Result<Option<LogEnd>, StoreError> {
        self.end_in(layout, &mut OpenSegments::default())
    }

    /// As [`end`](Self::end), for one of many logs in these segments.
    pub(crate) fn end_in(
        &self,
        layout: &SessionLayout,
        segments: &mut OpenSegments,
    ) -> Result<Option<LogEnd>, StoreError> {
        let (last, link, part) = self.follow(layout)?;
        let Some(part) = part else {
            return Ok(None);
        };
        if !self.is_latest(part, segments)? {
            let what = "the last unit is not what was written";
            let offset = u64::from(part.extent.latest);
            return Err(self.corrupt(part.segment, part.extent.base, offset, what));
        }
        let summary = match part.extent.summary() {
            Some(summary) => Some(summary.clone()),
            None => {
                let summary = self.fold(part)?;
                self.catalog.note_summary(self.key(), part, summary.as_ref());
                summary
            }
        };
        Ok(Some(LogEnd { last, link, summary }))
    }

    /// Follows the parts of the log to its end. Returns the last position, its link and its part.
    pub(crate) fn follow<'s>(
        &self,
        layout: &'s SessionLayout,
    ) -> Result<(Seq, ChainLink, Option<&'s LogPart>), StoreError> {
        let mut last = Seq::ZERO;
        let mut link = ChainLink::genesis(self.session);
        let mut at = None;
        while let Some(part) = covering(&layout.parts, last) {
            if part.extent.base == last && part.extent.base_link != link {
                let what = "what follows does not link to it";
                return Err(self.corrupt(part.segment, last, u64::from(part.extent.start), what));
            }
            last = part.extent.last;
            link = part.extent.link;
            at = Some(part);
        }
        self.whole(layout, last)?;
        Ok((last, link, at))
    }

    /// Checks that a log which can be followed to `last` ends there.
    fn whole(&self, layout: &SessionLayout, last: Seq) -> Result<(), StoreError> {
        let key = self.key();
        let behind = |(place, damage): &&(SegmentId, Damage)| {
            if damage.lost_of(key).is_some_and(|lost| lost.last <= last) {
                return false;
            }
            let goes_on = |part: &LogPart| {
                part.segment.writer == place.writer
                    && (part.segment.number, u64::from(part.extent.latest))
                        > (place.number, damage.offset)
            };
            !layout.parts.iter().any(|part| part.extent.last <= last && goes_on(part))
        };
        if let Some((place, damage)) = layout.damages.iter().find(behind) {
            return Err(self.damaged(*place, last, damage));
        }
        let gap = layout.parts.iter().filter(|part| part.extent.base > last);
        match gap.min_by_key(|part| part.extent.base) {
            Some(part) => {
                let what = "what stands before it is missing";
                Err(self.corrupt(part.segment, last, u64::from(part.extent.start), what))
            }
            None => Ok(()),
        }
    }

    /// Returns true if a part's last unit is at its recorded offset.
    pub(crate) fn is_latest(
        &self,
        part: &LogPart,
        segments: &mut OpenSegments,
    ) -> Result<bool, StoreError> {
        let at = |error| error::reading(error, &self.catalog.path(part.segment));
        let Some(file) = segments.open(self.catalog, part.segment).map_err(at)? else {
            return Ok(false);
        };
        let offset = u64::from(part.extent.latest);
        let mut head = [0; HEAD];
        read_full_at(file, &mut head, offset).map_err(at)?;
        let head = format::read_header(part.segment, offset, &head);
        Ok(head.is_some_and(|head| {
            !head.erased && head.key == self.key() && head.last() == part.extent.last
        }))
    }

    /// Folds the facts of the last part that its summary lacks.
    fn fold(&self, part: &LogPart) -> Result<Option<SessionSummary>, StoreError> {
        let (mut after, summary) = part.extent.folded();
        let mut summary = summary.cloned();
        while after < part.extent.last {
            let mut page = Vec::new();
            let read = self.read_part(part, after, 1_024, None, &mut |unit| {
                page.extend(self.facts(part.segment, &unit, after)?);
                Ok(())
            });
            match read {
                Ok(last) if last > after => after = last,
                // Its session may have an open turn, so it is no session without a summary.
                Ok(_) | Err(ReadStop::Changed) => return Err(error::unstable(self.session)),
                Err(ReadStop::Failed(error)) => return Err(error),
            }
            summary = SessionSummary::after(summary, &page);
        }
        Ok(summary)
    }

    /// Reads up to `limit` facts after position `after`.
    pub(crate) fn read(&self, after: Seq, limit: usize) -> Result<Vec<RecordedFact>, StoreError> {
        // What is known was written and stays, so new segments matter only behind it.
        let known = self.catalog.known_layout(self.session)?;
        let mut page = Vec::new();
        let read = self.page(&known, after, limit, &mut page);
        if read.is_ok() && page.len() == limit && limit > 0 {
            return Ok(page);
        }
        for _ in 0..TRIES {
            let layout = self.catalog.layout(self.session)?;
            let mut page = Vec::new();
            match self.page(&layout, after, limit, &mut page) {
                Ok(()) => return Ok(page),
                Err(ReadStop::Changed) => {}
                Err(ReadStop::Failed(error)) => return Err(error),
            }
        }
        Err(error::unstable(self.session))
    }

    fn page(
        &self,
        layout: &SessionLayout,
        after: Seq,
        limit: usize,
        page: &mut Vec<RecordedFact>,
    ) -> Result<(), ReadStop> {
        let mut last = after;
        while page.len() < limit {
            let Some(part) = covering(&layout.parts, last) else {
                break;
            };
            let left = limit - page.len();
            last = self.read_part(part, last, left, None, &mut |unit| {
                let facts = self.facts(part.segment, &unit, after)?;
                let left = limit - page.len();
                page.extend(facts.into_iter().take(left));
                Ok(())
            })?;
        }
        if page.len() < limit || limit == 0 {
            let (end, ..) = self.follow(layout)?;
            if end == Seq::ZERO {
                return Err(error::unknown(self.session, self.catalog.paths().root()).into());
            }
        }
        Ok(())
    }

    /// Checks the whole log.
    pub(crate) fn verify(&self) -> Result<LogVerification, StoreError> {
        for _ in 0..TRIES {
            let layout = self.catalog.layout(self.session)?;
            match self.verified(&layout) {
                Ok(verified) => return Ok(verified),
                Err(ReadStop::Changed) => {}
                Err(ReadStop::Failed(error)) => return Err(error),
            }
        }
        Err(error::unstable(self.session))
    }

    fn verified(&self, layout: &SessionLayout) -> Result<LogVerification, ReadStop> {
        let mut last = Seq::ZERO;
        let mut chain = ChainLink::genesis(self.session);
        let mut bytes = 0;
        while let Some(part) = covering(&layout.parts, last) {
            let from = last;
            let before = Some(chain);
            last = self.read_part(part, last, 4_096, before, &mut |unit| {
                self.facts(part.segment, &unit, from)?;
                bytes += u64::from(unit.len);
                chain = unit.links.last().copied().unwrap_or(chain);
                Ok(())
            })?;
        }
        self.whole(layout, last)?;
        if last == Seq::ZERO {
            return Err(error::unknown(self.session, self.catalog.paths().root()).into());
        }
        Ok(LogVerification { last, bytes, torn_bytes: layout.torn_bytes, chain })
    }

    /// Reads the link of a position; returns `None` if the log has no such position.
    pub(crate) fn link_at(&self, seq: Seq) -> Result<Option<ChainLink>, StoreError> {
        for _ in 0..TRIES {
            let layout = self.catalog.layout(self.session)?;
            let before = Seq(seq.0.saturating_sub(1));
            let Some(part) = covering(&layout.parts, before) else {
                return Ok(None);
            };
            let mut link = None;
            let read = self.read_part(part, before, 1, None, &mut |unit| {
                let at = usize::try_from(seq.0 - unit.first.0).unwrap_or(usize::MAX);
                link = unit.links.get(at).copied();
                Ok(())
            });
            match read {
                Ok(_) => return Ok(link),
                Err(ReadStop::Changed) => {}
                Err(ReadStop::Failed(error)) => return Err(error),
            }
        }
        Err(error::unstable(self.session))
    }

    /// Reads the units of a part behind position `after` until they hold `limit` facts, and passes
    /// each to `take` once checked. Returns the last position.
    ///
    /// `chain` is the link of `after` if it is known. Otherwise the link of the unit before is
    /// trusted.
    fn read_part(
        &self,
        part: &LogPart,
        after: Seq,
        limit: usize,
        chain: Option<ChainLink>,
        take: &mut dyn FnMut(ReadUnit<'_>) -> Result<(), StoreError>,
    ) -> Result<Seq, ReadStop> {
        let (before, units) = self.catalog.units(self.key(), part, after, limit)?;
        let path = self.catalog.path(part.segment);
        let opened = paths::open_to_read(&path).map_err(|error| error::reading(error, &path))?;
        let Some(file) = opened.filter(|_| !units.is_empty()) else {
            self.catalog.forget_foreign_writer(part.segment.writer);
            return Err(ReadStop::Changed);
        };
        let aligned = units.first().is_some_and(|unit| unit.first == after.next());
        let mut link = match (before, chain) {
            (_, Some(chain)) if aligned => chain,
            (None, _) => part.extent.base_link,
            (Some(before), _) => self.link_of(&file, part, &before, after)?,
        };
        let mut last = after;
        let mut window = ReadWindow::default();
        for (at, unit) in units.iter().enumerate() {
            let rest = units.get(at..).unwrap_or_default();
            let bytes = window.load(&file, rest).map_err(|error| error::reading(error, &path))?;
            let Some(read) = self.check(part.segment, unit, bytes, &link) else {
                return Err(self.recheck(part, last, u64::from(unit.offset))?);
            };
            link = read.links.last().copied().unwrap_or(link);
            take(read)?;
            last = unit.last();
        }
        Ok(last)
    }

    /// Reads the link in the head of the unit before.
    fn link_of(
        &self,
        file: &File,
        part: &LogPart,
        before: &UnitLocation,
        after: Seq,
    ) -> Result<ChainLink, ReadStop> {
        let path = self.catalog.path(part.segment);
        let mut head = [0; HEAD];
        let offset = u64::from(before.offset);
        read_full_at(file, &mut head, offset).map_err(|error| error::reading(error, &path))?;
        let head = format::read_header(part.segment, offset, &head);
        match head.filter(|head| head.key == self.key() && head.last() == before.last()) {
            Some(head) => Ok(head.link),
            None => Err(self.recheck(part, after, offset)?),
        }
    }

    /// Handles a unit that does not read. Rebuilds its index, if it came from one, to try again.
    fn recheck(&self, part: &LogPart, last: Seq, offset: u64) -> Result<ReadStop, StoreError> {
        if part.open {
            // Its writer may have cut it off; what is there now tells.
            self.catalog.forget_foreign_writer(part.segment.writer);
            let layout = self.catalog.layout(self.session)?;
            let same = |now: &LogPart| now.segment == part.segment && now.extent == part.extent;
            if !layout.parts.iter().any(same) {
                return Ok(ReadStop::Changed);
            }
        } else if self.catalog.rebuild_index(part.segment)? {
            let layout = self.catalog.layout(self.session)?;
            let same = |now: &LogPart| now.segment == part.segment && now.extent == part.extent;
            if !layout.parts.iter().any(same) {
                return Ok(ReadStop::Changed);
            }
        }
        let what = "a unit is not what was written";
        Ok(ReadStop::Failed(self.corrupt(part.segment, last, offset, what)))
    }

    /// Checks a unit fully. Returns `None` if it is not the expected one.
    fn check<'b>(
        &self,
        place: SegmentId,
        at: &UnitLocation,
        bytes: &'b [u8],
        before: &ChainLink,
    ) -> Option<ReadUnit<'b>> {
        let offset = u64::from(at.offset);
        let head = format::read_header(place, offset, bytes)?;
        let unit = bytes.get(..head.len as usize)?;
        let held = format::read_unit_content(&head, unit)?;
        let fits = head.key == self.key() && head.first == at.first && head.count == at.count;
        if !fits {
            return None;
        }
        if let Some(opening) = &held.opening
            && (opening.id != *self.session || opening.link != *before)
        {
            return None;
        }
        let mut link = *before;
        let links = held.texts().map(|text| {
            link = link.next(text);
            link
        });
        let links: Vec<ChainLink> = links.collect();
        (links.last() == Some(&head.link)).then_some(ReadUnit {
            first: head.first,
            content: held,
            links,
            offset,
            len: head.len,
        })
    }

    /// Decodes the facts of a unit behind position `after`.
    fn facts(
        &self,
        place: SegmentId,
        unit: &ReadUnit<'_>,
        after: Seq,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        self.facts_where(place, unit, |seq, _| seq > after)
    }

    /// Decodes those facts of a unit whose position and text are wanted.
    fn facts_where(
        &self,
        place: SegmentId,
        unit: &ReadUnit<'_>,
        wanted: impl Fn(Seq, &[u8]) -> bool,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        let mut facts = Vec::with_capacity(unit.links.len());
        for (text, number) in unit.content.texts().zip(unit.first.0..) {
            let seq = Seq(number);
            if wanted(seq, text) {
                facts.push(self.decode(place, text, seq, unit.offset)?);
            }
        }
        Ok(facts)
    }

    fn decode(
        &self,
        place: SegmentId,
        text: &[u8],
        seq: Seq,
        offset: u64,
    ) -> Result<RecordedFact, StoreError> {
        let after = Seq(seq.0.saturating_sub(1));
        let damaged = |what: String| self.corrupt(place, after, offset, &what);
        match codec::decode(text) {
            Ok(fact) if fact.session == *self.session && fact.seq == seq => Ok(fact),
            Ok(fact) => {
                Err(damaged(format!("fact {} of session {} stands there", fact.seq, fact.session)))
            }
            Err(newer @ CodecError::Newer { .. }) => {
                let context = format!("reading fact {seq} of {}: {newer}", self.session);
                Err(StoreError::new(StoreErrorKind::Newer, context).caused_by(newer))
            }
            Err(malformed @ CodecError::Malformed(_)) => {
                Err(damaged(malformed.to_string()).caused_by(malformed))
            }
        }
    }

    /// The error of a log that ends before damage in which it may continue.
    fn damaged(&self, place: SegmentId, last: Seq, damage: &Damage) -> StoreError {
        let path = self.catalog.path(place);
        let unattributed = UnattributedDamage::of(place, damage);
        if damage.unreadable {
            return error::unreadable(self.session, &path, last, &unattributed);
        }
        if let Some(lost) = damage.lost_of(self.key()) {
            return error::lost(self.session, &path, (last, lost.last), &unattributed);
        }
        if damage.half.is_some() {
            return self.corrupt(place, last, damage.offset, &damage.what);
        }
        error::unattributed(self.session, &path, last, &unattributed)
    }

    fn corrupt(&self, place: SegmentId, after: Seq, offset: u64, what: &str) -> StoreError {
        error::corrupt(self.session, &self.catalog.path(place), after, offset, what)
    }
}

/// Returns the part that continues the log behind `last` and reaches farthest.
pub(crate) fn covering(parts: &[LogPart], last: Seq) -> Option<&LogPart> {
    parts
        .iter()
        .filter(|part| part.extent.base <= last && part.extent.last > last)
        .max_by_key(|part| part.extent.last)
}
