//! A session's log, put together from the segments that hold it: where it ends, its facts, its links.

mod copying;

use std::fs::File;

use windlass_core::{Recorded, Seq, SessionId};
use windlass_kit_log::End;
use windlass_ports::codec::{self, CodecError};
use windlass_ports::{Link, StoreError, StoreErrorKind, Summary, Verified};

use crate::disk::read_full_at;
use crate::error;
use crate::format::{self, HEAD, Key, Place};
use crate::lost::Stretch;
use crate::map::{Damage, UnitAt};
use crate::places;
use crate::shelf::{Part, Shelf, Standing};
use crate::window::Window;

/// How often a log is put together anew because its segments changed meanwhile.
const TRIES: u32 = 8;

/// A session's log.
pub(crate) struct Log<'a> {
    pub(crate) shelf: &'a Shelf,
    pub(crate) session: &'a SessionId,
}

/// A unit that was read and checked.
struct Read {
    first: Seq,
    texts: Vec<Vec<u8>>,
    /// The link of each fact.
    links: Vec<Link>,
    offset: u64,
    len: u32,
}

/// Why a log was not read to where it was to be.
enum Stopped {
    /// Its segments changed meanwhile, or an index was wrong: it is to be put together anew.
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

    /// Where the log ends, checked as far as the segments tell without their facts; `None` where
    /// there is no log.
    pub(crate) fn end(&self, standing: &Standing) -> Result<Option<End>, StoreError> {
        let (last, link, part) = self.follow(standing)?;
        let Some(part) = part else {
            return Ok(None);
        };
        if !self.is_latest(part)? {
            let what = "the last unit is not what was written";
            let offset = u64::from(part.stretch.latest);
            return Err(self.corrupt(part.place, part.stretch.base, offset, what));
        }
        let summary = match &part.stretch.summary {
            Some(summary) => Some(summary.clone()),
            None => {
                let summary = self.fold(part)?;
                self.shelf.note_summary(self.key(), part, summary.as_ref());
                summary
            }
        };
        Ok(Some(End {
            last,
            link,
            summary,
        }))
    }

    /// Where the log ends, and the part that it ends in.
    pub(crate) fn follow<'s>(
        &self,
        standing: &'s Standing,
    ) -> Result<(Seq, Link, Option<&'s Part>), StoreError> {
        let mut last = Seq::ZERO;
        let mut link = Link::genesis(self.session);
        let mut at = None;
        while let Some(part) = covering(&standing.parts, last) {
            if part.stretch.base == last && part.stretch.base_link != link {
                let what = "what follows does not link to it";
                return Err(self.corrupt(part.place, last, u64::from(part.stretch.start), what));
            }
            last = part.stretch.last;
            link = part.stretch.link;
            at = Some(part);
        }
        self.whole(standing, last)?;
        Ok((last, link, at))
    }

    /// Whether a log that can be followed to `last` ends there.
    fn whole(&self, standing: &Standing, last: Seq) -> Result<(), StoreError> {
        let behind = |(place, damage): &&(Place, Damage)| {
            let goes_on = |part: &Part| {
                part.place.lane == place.lane
                    && (part.place.number, u64::from(part.stretch.latest))
                        > (place.number, damage.offset)
            };
            !standing
                .parts
                .iter()
                .any(|part| part.stretch.last <= last && goes_on(part))
        };
        if let Some((place, damage)) = standing.damages.iter().find(behind) {
            if damage.half.is_none() {
                let stretch = Stretch::of(*place, damage);
                let path = self.shelf.path(*place);
                return Err(error::stretch(self.session, &path, last, &stretch));
            }
            return Err(self.corrupt(*place, last, damage.offset, &damage.what));
        }
        let gap = standing
            .parts
            .iter()
            .filter(|part| part.stretch.base > last);
        match gap.min_by_key(|part| part.stretch.base) {
            Some(part) => {
                let what = "what stands before it is missing";
                Err(self.corrupt(part.place, last, u64::from(part.stretch.start), what))
            }
            None => Ok(()),
        }
    }

    /// Whether a part's last unit stands where it is said to.
    pub(crate) fn is_latest(&self, part: &Part) -> Result<bool, StoreError> {
        let path = self.shelf.path(part.place);
        let at = |error| error::reading(error, &path);
        let Some(file) = places::open_to_read(&path).map_err(at)? else {
            return Ok(false);
        };
        let offset = u64::from(part.stretch.latest);
        let mut head = [0; HEAD];
        read_full_at(&file, &mut head, offset).map_err(at)?;
        let head = format::read_head(part.place, offset, &head);
        Ok(head.is_some_and(|head| {
            !head.erased && head.key == self.key() && head.last() == part.stretch.last
        }))
    }

    /// The log in short, folded over the last part of it.
    fn fold(&self, part: &Part) -> Result<Option<Summary>, StoreError> {
        let mut summary = part.stretch.base_summary.clone();
        let mut after = part.stretch.base;
        while after < part.stretch.last {
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
            let standing = self.shelf.standing(self.session)?;
            let mut page = Vec::new();
            match self.page(&standing, after, limit, &mut page) {
                Ok(()) => return Ok(page),
                Err(Stopped::Changed) => {}
                Err(Stopped::Failed(error)) => return Err(error),
            }
        }
        Err(error::restless(self.session))
    }

    fn page(
        &self,
        standing: &Standing,
        after: Seq,
        limit: usize,
        page: &mut Vec<Recorded>,
    ) -> Result<(), Stopped> {
        let mut last = after;
        while page.len() < limit {
            let Some(part) = covering(&standing.parts, last) else {
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
            let (end, ..) = self.follow(standing)?;
            if end == Seq::ZERO {
                return Err(error::unknown(self.session, self.shelf.places().root()).into());
            }
        }
        Ok(())
    }

    /// Checks all of the log.
    pub(crate) fn verify(&self) -> Result<Verified, StoreError> {
        for _ in 0..TRIES {
            let standing = self.shelf.standing(self.session)?;
            match self.verified(&standing) {
                Ok(verified) => return Ok(verified),
                Err(Stopped::Changed) => {}
                Err(Stopped::Failed(error)) => return Err(error),
            }
        }
        Err(error::restless(self.session))
    }

    fn verified(&self, standing: &Standing) -> Result<Verified, Stopped> {
        let mut last = Seq::ZERO;
        let mut chain = Link::genesis(self.session);
        let mut bytes = 0;
        while let Some(part) = covering(&standing.parts, last) {
            let from = last;
            let before = Some(chain);
            last = self.read_part(part, last, 4_096, before, &mut |unit| {
                self.facts(part.place, &unit, from)?;
                bytes += u64::from(unit.len);
                chain = unit.links.last().copied().unwrap_or(chain);
                Ok(())
            })?;
        }
        self.whole(standing, last)?;
        if last == Seq::ZERO {
            return Err(error::unknown(self.session, self.shelf.places().root()).into());
        }
        Ok(Verified {
            last,
            bytes,
            torn_bytes: standing.torn_bytes,
            chain,
        })
    }

    /// The link of a position; `None` where the log has no such position.
    pub(crate) fn link_at(&self, seq: Seq) -> Result<Option<Link>, StoreError> {
        for _ in 0..TRIES {
            let standing = self.shelf.standing(self.session)?;
            let before = Seq(seq.0.saturating_sub(1));
            let Some(part) = covering(&standing.parts, before) else {
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
        Err(error::restless(self.session))
    }

    /// Reads units of a part that hold positions behind `after`, until they hold `limit`, and hands
    /// each over, checked. Answers the last position.
    ///
    /// `chain` is the link of `after` where it is known; the link of the unit before is believed
    /// otherwise.
    fn read_part(
        &self,
        part: &Part,
        after: Seq,
        limit: usize,
        chain: Option<Link>,
        take: &mut dyn FnMut(Read) -> Result<(), StoreError>,
    ) -> Result<Seq, Stopped> {
        let (before, units) = self.shelf.units(self.key(), part, after, limit)?;
        let path = self.shelf.path(part.place);
        let opened = places::open_to_read(&path).map_err(|error| error::reading(error, &path))?;
        let Some(file) = opened.filter(|_| !units.is_empty()) else {
            self.shelf.forget_lane_of_others(part.place.lane);
            return Err(Stopped::Changed);
        };
        let aligned = units.first().is_some_and(|unit| unit.first == after.next());
        let mut link = match (before, chain) {
            (_, Some(chain)) if aligned => chain,
            (None, _) => part.stretch.base_link,
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
                return Err(self.mistrust(part, last, u64::from(unit.offset))?);
            };
            link = read.links.last().copied().unwrap_or(link);
            take(read)?;
            last = unit.last();
        }
        Ok(last)
    }

    /// The link that the unit before tells.
    fn link_of(
        &self,
        file: &File,
        part: &Part,
        before: &UnitAt,
        after: Seq,
    ) -> Result<Link, Stopped> {
        let path = self.shelf.path(part.place);
        let mut head = [0; HEAD];
        let offset = u64::from(before.offset);
        read_full_at(file, &mut head, offset).map_err(|error| error::reading(error, &path))?;
        let head = format::read_head(part.place, offset, &head);
        match head.filter(|head| head.key == self.key() && head.last() == before.last()) {
            Some(head) => Ok(head.link),
            None => Err(self.mistrust(part, after, offset)?),
        }
    }

    /// A unit does not read. If an index said where it is, that is made anew and asked again.
    fn mistrust(&self, part: &Part, last: Seq, offset: u64) -> Result<Stopped, StoreError> {
        if part.open {
            // Its writer may have cut it off; what is there now tells.
            self.shelf.forget_lane_of_others(part.place.lane);
            let standing = self.shelf.standing(self.session)?;
            let same = |now: &Part| now.place == part.place && now.stretch == part.stretch;
            if !standing.parts.iter().any(same) {
                return Ok(Stopped::Changed);
            }
        } else if self.shelf.distrust(part.place)? {
            let standing = self.shelf.standing(self.session)?;
            let same = |now: &Part| now.place == part.place && now.stretch == part.stretch;
            if !standing.parts.iter().any(same) {
                return Ok(Stopped::Changed);
            }
        }
        let what = "a unit is not what was written";
        Ok(Stopped::Failed(
            self.corrupt(part.place, last, offset, what),
        ))
    }

    /// Checks a unit in every way; nothing when it is not the one that must stand there.
    fn check(&self, place: Place, at: &UnitAt, bytes: &[u8], before: &Link) -> Option<Read> {
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

    /// The facts of a unit behind position `after`.
    fn facts(&self, place: Place, unit: &Read, after: Seq) -> Result<Vec<Recorded>, StoreError> {
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
        place: Place,
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

    fn corrupt(&self, place: Place, after: Seq, offset: u64, what: &str) -> StoreError {
        error::corrupt(self.session, &self.shelf.path(place), after, offset, what)
    }
}

/// Of the parts that hold the position behind `last`, the one that goes farthest.
pub(crate) fn covering(parts: &[Part], last: Seq) -> Option<&Part> {
    parts
        .iter()
        .filter(|part| part.stretch.base <= last && part.stretch.last > last)
        .max_by_key(|part| part.stretch.last)
}
