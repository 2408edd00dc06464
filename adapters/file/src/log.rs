//! A session's log over the segments that hold it: its end, its facts and its links.

mod copying;

use std::fs::File;

use windlass_core::{Recorded, Seq, SessionId};
use windlass_kit_log::LogEnd;
use windlass_ports::codec::{self, CodecError};
use windlass_ports::{Link, StoreError, StoreErrorKind, Summary, Verified};

use crate::catalog::{LogPart, SegmentCatalog, SessionLayout};
use crate::disk::read_full_at;
use crate::error;
use crate::format::{self, HEAD, Key, SegmentId};
use crate::map::{Damage, UnitAt};
use crate::paths;
use crate::unattributed::UnattributedDamage;
use crate::window::Window;

/// Attempts to read a log whose segments change during the read.
const TRIES: u32 = 8;

/// Reads the log of one session.
pub(crate) struct Log<'a> {
    pub(crate) catalog: &'a SegmentCatalog,
    pub(crate) session: &'a SessionId,
}

/// A unit that was read and checked.
struct Read {
    first: Seq,
    texts: Vec<Vec<u8>>,
    /// Link of each fact.
    links: Vec<Link>,
    offset: u64,
    len: u32,
}

/// Reason why a read stopped early.
enum Stopped {
    /// The segments changed or an index was wrong: find the parts of the log again.
    Changed,
    Failed(StoreError),
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl Log<'_> {
    fn key(&self) -> Key {
        Key::of(self.session)
    }

    /// Finds the end of the log, checked without reading its facts. Returns `None` if there is no
    /// log.
    pub(crate) fn end(&self, layout: &SessionLayout) -> Result<Option<LogEnd>, StoreError> {
        let (last, link, part) = self.follow(layout)?;
        let Some(part) = part else {
            return Ok(None);
        };
        if !self.is_latest(part)? {
            let what = "the last unit is not what was written";
            let offset = u64::from(part.extent.latest);
            return Err(self.corrupt(part.place, part.extent.base, offset, what));
        }
        let summary = match &part.extent.summary {
            Some(summary) => Some(summary.clone()),
            None => {
                let summary = self.fold(part)?;
                self.catalog
                    .note_summary(self.key(), part, summary.as_ref());
                summary
            }
        };
        Ok(Some(LogEnd {
            last,
            link,
            summary,
        }))
    }

    /// Follows the parts of the log to its end. Returns the last position, its link and its part.
    pub(crate) fn follow<'s>(
        &self,
        layout: &'s SessionLayout,
    ) -> Result<(Seq, Link, Option<&'s LogPart>), StoreError> {
        let mut last = Seq::ZERO;
        let mut link = Link::genesis(self.session);
        let mut at = None;
        while let Some(part) = covering(&layout.parts, last) {
            if part.extent.base == last && part.extent.base_link != link {
                let what = "what follows does not link to it";
                return Err(self.corrupt(part.place, last, u64::from(part.extent.start), what));
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
        let behind = |(place, damage): &&(SegmentId, Damage)| {
            let goes_on = |part: &LogPart| {
                part.place.lane == place.lane
                    && (part.place.number, u64::from(part.extent.latest))
                        > (place.number, damage.offset)
            };
            !layout
                .parts
                .iter()
                .any(|part| part.extent.last <= last && goes_on(part))
        };
        if let Some((place, damage)) = layout.damages.iter().find(behind) {
            if damage.half.is_none() {
                let extent = UnattributedDamage::of(*place, damage);
                let path = self.catalog.path(*place);
                return Err(error::unattributed(self.session, &path, last, &extent));
            }
            return Err(self.corrupt(*place, last, damage.offset, &damage.what));
        }
        let gap = layout.parts.iter().filter(|part| part.extent.base > last);
        match gap.min_by_key(|part| part.extent.base) {
            Some(part) => {
                let what = "what stands before it is missing";
                Err(self.corrupt(part.place, last, u64::from(part.extent.start), what))
            }
            None => Ok(()),
        }
    }

    /// Returns true if a part's last unit is at its recorded offset.
    pub(crate) fn is_latest(&self, part: &LogPart) -> Result<bool, StoreError> {
        let path = self.catalog.path(part.place);
        let at = |error| error::reading(error, &path);
        let Some(file) = paths::open_to_read(&path).map_err(at)? else {
            return Ok(false);
        };
        let offset = u64::from(part.extent.latest);
        let mut head = [0; HEAD];
        read_full_at(&file, &mut head, offset).map_err(at)?;
        let head = format::read_head(part.place, offset, &head);
        Ok(head.is_some_and(|head| {
            !head.erased && head.key == self.key() && head.last() == part.extent.last
        }))
    }

    /// Folds the last part of the log into its summary.
    fn fold(&self, part: &LogPart) -> Result<Option<Summary>, StoreError> {
        let mut summary = part.extent.base_summary.clone();
        let mut after = part.extent.base;
        while after < part.extent.last {
            let mut page = Vec::new();
            let read = self.read_part(part, after, 1_024, None, &mut |unit| {
                page.extend(self.facts(part.place, &unit, after)?);
                Ok(())
            });
            match read {
                Ok(last) if last > after => after = last,
                Ok(_) | Err(Stopped::Changed) => return Ok(None),
                Err(Stopped::Failed(error)) => return Err(error),
            }
            summary = Summary::after(summary, &page);
        }
        Ok(summary)
    }

    /// Reads up to `limit` facts after position `after`.
    pub(crate) fn read(&self, after: Seq, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        for _ in 0..TRIES {
            let layout = self.catalog.layout(self.session)?;
            let mut page = Vec::new();
            match self.page(&layout, after, limit, &mut page) {
                Ok(()) => return Ok(page),
                Err(Stopped::Changed) => {}
                Err(Stopped::Failed(error)) => return Err(error),
            }
        }
        Err(error::unstable(self.session))
    }

    fn page(
        &self,
        layout: &SessionLayout,
        after: Seq,
        limit: usize,
        page: &mut Vec<Recorded>,
    ) -> Result<(), Stopped> {
        let mut last = after;
        while page.len() < limit {
            let Some(part) = covering(&layout.parts, last) else {
                break;
            };
            let left = limit - page.len();
            last = self.read_part(part, last, left, None, &mut |unit| {
                let facts = self.facts(part.place, &unit, after)?;
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
    pub(crate) fn verify(&self) -> Result<Verified, StoreError> {
        for _ in 0..TRIES {
            let layout = self.catalog.layout(self.session)?;
            match self.verified(&layout) {
                Ok(verified) => return Ok(verified),
                Err(Stopped::Changed) => {}
                Err(Stopped::Failed(error)) => return Err(error),
            }
        }
        Err(error::unstable(self.session))
    }

    fn verified(&self, layout: &SessionLayout) -> Result<Verified, Stopped> {
        let mut last = Seq::ZERO;
        let mut chain = Link::genesis(self.session);
        let mut bytes = 0;
        while let Some(part) = covering(&layout.parts, last) {
            let from = last;
            let before = Some(chain);
            last = self.read_part(part, last, 4_096, before, &mut |unit| {
                self.facts(part.place, &unit, from)?;
                bytes += u64::from(unit.len);
                chain = unit.links.last().copied().unwrap_or(chain);
                Ok(())
            })?;
        }
        self.whole(layout, last)?;
        if last == Seq::ZERO {
            return Err(error::unknown(self.session, self.catalog.paths().root()).into());
        }
        Ok(Verified {
            last,
            bytes,
            torn_bytes: layout.torn_bytes,
            chain,
        })
    }

    /// Reads the link of a position; returns `None` if the log has no such position.
    pub(crate) fn link_at(&self, seq: Seq) -> Result<Option<Link>, StoreError> {
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
                Err(Stopped::Changed) => {}
                Err(Stopped::Failed(error)) => return Err(error),
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
        chain: Option<Link>,
        take: &mut dyn FnMut(Read) -> Result<(), StoreError>,
    ) -> Result<Seq, Stopped> {
        let (before, units) = self.catalog.units(self.key(), part, after, limit)?;
        let path = self.catalog.path(part.place);
        let opened = paths::open_to_read(&path).map_err(|error| error::reading(error, &path))?;
        let Some(file) = opened.filter(|_| !units.is_empty()) else {
            self.catalog.forget_lane_of_others(part.place.lane);
            return Err(Stopped::Changed);
        };
        let aligned = units.first().is_some_and(|unit| unit.first == after.next());
        let mut link = match (before, chain) {
            (_, Some(chain)) if aligned => chain,
            (None, _) => part.extent.base_link,
            (Some(before), _) => self.link_of(&file, part, &before, after)?,
        };
        let mut last = after;
        let mut window = Window::default();
        for (at, unit) in units.iter().enumerate() {
            let rest = units.get(at..).unwrap_or_default();
            let bytes = window
                .load(&file, rest)
                .map_err(|error| error::reading(error, &path))?;
            let Some(read) = self.check(part.place, unit, bytes, &link) else {
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
        before: &UnitAt,
        after: Seq,
    ) -> Result<Link, Stopped> {
        let path = self.catalog.path(part.place);
        let mut head = [0; HEAD];
        let offset = u64::from(before.offset);
        read_full_at(file, &mut head, offset).map_err(|error| error::reading(error, &path))?;
        let head = format::read_head(part.place, offset, &head);
        match head.filter(|head| head.key == self.key() && head.last() == before.last()) {
            Some(head) => Ok(head.link),
            None => Err(self.recheck(part, after, offset)?),
        }
    }

    /// Handles a unit that does not read. Rebuilds its index, if it came from one, to try again.
    fn recheck(&self, part: &LogPart, last: Seq, offset: u64) -> Result<Stopped, StoreError> {
        if part.open {
            // Its writer may have cut it off; what is there now tells.
            self.catalog.forget_lane_of_others(part.place.lane);
            let layout = self.catalog.layout(self.session)?;
            let same = |now: &LogPart| now.place == part.place && now.extent == part.extent;
            if !layout.parts.iter().any(same) {
                return Ok(Stopped::Changed);
            }
        } else if self.catalog.rebuild_index(part.place)? {
            let layout = self.catalog.layout(self.session)?;
            let same = |now: &LogPart| now.place == part.place && now.extent == part.extent;
            if !layout.parts.iter().any(same) {
                return Ok(Stopped::Changed);
            }
        }
        let what = "a unit is not what was written";
        Ok(Stopped::Failed(
            self.corrupt(part.place, last, offset, what),
        ))
    }

    /// Checks a unit fully. Returns `None` if it is not the expected one.
    fn check(&self, place: SegmentId, at: &UnitAt, bytes: &[u8], before: &Link) -> Option<Read> {
        let offset = u64::from(at.offset);
        let head = format::read_head(place, offset, bytes)?;
        let unit = bytes.get(..head.len as usize)?;
        let held = format::read_held(&head, unit)?;
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
        let links = held.texts.iter().map(|text| {
            link = link.then(text);
            link
        });
        let links: Vec<Link> = links.collect();
        (links.last() == Some(&head.link)).then(|| Read {
            first: head.first,
            texts: held.texts.iter().map(|text| text.to_vec()).collect(),
            links,
            offset,
            len: head.len,
        })
    }

    /// Decodes the facts of a unit behind position `after`.
    fn facts(
        &self,
        place: SegmentId,
        unit: &Read,
        after: Seq,
    ) -> Result<Vec<Recorded>, StoreError> {
        let mut facts = Vec::with_capacity(unit.texts.len());
        for (text, number) in unit.texts.iter().zip(unit.first.0..) {
            let seq = Seq(number);
            if seq > after {
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
    ) -> Result<Recorded, StoreError> {
        let after = Seq(seq.0.saturating_sub(1));
        let damaged = |what: String| self.corrupt(place, after, offset, &what);
        match codec::decode(text) {
            Ok(fact) if fact.session == *self.session && fact.seq == seq => Ok(fact),
            Ok(fact) => Err(damaged(format!(
                "fact {} of session {} stands there",
                fact.seq, fact.session
            ))),
            Err(newer @ CodecError::Newer { .. }) => {
                let context = format!("reading fact {seq} of {}: {newer}", self.session);
                Err(StoreError::new(StoreErrorKind::Newer, context).caused_by(newer))
            }
            Err(malformed @ CodecError::Malformed(_)) => {
                Err(damaged(malformed.to_string()).caused_by(malformed))
            }
        }
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
