//! The content of a segment by session: built by a scan, and extended by its writer.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use windlass_core::{Seq, SessionId};
use windlass_ports::{ChainLink, SessionSummary};

use crate::format::{KeyMap, SegmentId, SessionKey, SessionOpening, UnitHeader};
use crate::witness::record::WitnessedHead;

/// Location of a unit in its segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnitLocation {
    /// Offset of the first byte.
    pub(crate) offset: u32,
    /// Length in bytes.
    pub(crate) len: u32,
    /// Position of the first fact.
    pub(crate) first: Seq,
    /// Number of facts.
    pub(crate) count: u32,
}

impl UnitLocation {
    /// Position of the last fact.
    pub(crate) fn last(&self) -> Seq {
        Seq(self.first.0 + u64::from(self.count) - 1)
    }

    /// Offset behind the unit.
    pub(crate) fn end(&self) -> u64 {
        u64::from(self.offset) + u64::from(self.len)
    }
}

/// A gapless part of a session's log in one segment, without its units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Position before the first fact.
    pub(crate) base: Seq,
    /// Link of that position.
    pub(crate) base_link: ChainLink,
    /// Summary of the log before; `None` if it is empty.
    pub(crate) base_summary: Option<SessionSummary>,
    /// Last position of the extent.
    pub(crate) last: Seq,
    /// Link of the last position.
    pub(crate) link: ChainLink,
    /// Summary of the log up to a position in the extent, the last one that is known.
    pub(crate) summary: Option<SessionSummary>,
    /// Bytes of all units.
    pub(crate) bytes: u64,
    /// Offset of the first unit.
    pub(crate) start: u32,
    /// Offset of the last unit.
    pub(crate) latest: u32,
}

impl Extent {
    /// Summary of the log up to the last position, if it is known.
    pub(crate) fn summary(&self) -> Option<&SessionSummary> {
        self.summary.as_ref().filter(|summary| summary.last == self.last)
    }

    /// Position and summary up to which the log is folded.
    pub(crate) fn folded(&self) -> (Seq, Option<&SessionSummary>) {
        match &self.summary {
            Some(summary) => (summary.last, Some(summary)),
            None => (self.base, self.base_summary.as_ref()),
        }
    }
}

/// An extent with its units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnitRun {
    pub(crate) extent: Extent,
    pub(crate) units: Vec<UnitLocation>,
}

/// The extents of a session in a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionExtents {
    pub(crate) id: SessionId,
    pub(crate) runs: Vec<UnitRun>,
}

/// Damaged bytes of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) offset: u64,
    /// Offset behind the damaged bytes.
    pub(crate) end: u64,
    /// Half of the key of the session that owned the bytes, if it is known.
    pub(crate) half: Option<u32>,
    /// Id of that session, if it is known.
    pub(crate) id: Option<SessionId>,
    /// Facts that the bytes may have held if they are of no single session, as far as the witness
    /// knows them all; `None` if any session may have had facts there.
    pub(crate) lost: Option<Arc<[LostFacts]>>,
    /// True if the bytes could not be read at all.
    pub(crate) unreadable: bool,
    pub(crate) what: String,
}

/// Facts of a session that a segment lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LostFacts {
    pub(crate) key: SessionKey,
    pub(crate) id: SessionId,
    /// Last position that the session reached in the segment.
    pub(crate) last: Seq,
}

impl Damage {
    /// Describes bytes that may have belonged to any session.
    pub(crate) fn unattributed(offset: u64, end: u64, what: String) -> Self {
        Self { offset, end, half: None, id: None, lost: None, unreadable: false, what }
    }

    /// Describes a sound unit in an unexpected place.
    fn of_unit(key: SessionKey, at: &UnitLocation, what: &str) -> Self {
        Self {
            offset: u64::from(at.offset),
            end: at.end(),
            half: Some(key.half()),
            id: None,
            lost: None,
            unreadable: false,
            what: what.to_owned(),
        }
    }

    /// Returns true if the bytes may have belonged to a session.
    pub(crate) fn may_be_of(&self, key: SessionKey) -> bool {
        match (self.half, &self.lost) {
            (Some(half), _) => half == key.half(),
            (None, None) => true,
            (None, Some(_)) => self.lost_of(key).is_some(),
        }
    }

    /// Returns the facts of a session that are known to be lost.
    pub(crate) fn lost_of(&self, key: SessionKey) -> Option<&LostFacts> {
        let lost = self.lost.as_deref()?;
        let at = lost.binary_search_by(|lost| lost.key.cmp(&key)).ok()?;
        lost.get(at)
    }

    /// Ids of sessions that are known to have lost facts.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &SessionId> {
        let lost = self.lost.as_deref().unwrap_or_default();
        self.id.iter().chain(lost.iter().map(|lost| &lost.id))
    }
}

/// Units of an unfinished append at the end of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TornTail {
    pub(crate) bytes: u64,
    /// Sessions of those units that are known, with their bytes.
    pub(crate) parts: Vec<(SessionKey, u64)>,
    /// True if the witness proves that they were never acknowledged.
    pub(crate) proven: bool,
}

/// Content of a segment.
#[derive(Debug, Clone)]
pub(crate) struct SegmentMap {
    pub(crate) segment: SegmentId,
    pub(crate) tracks: KeyMap<SessionExtents>,
    /// End of the sound units.
    pub(crate) end: u64,
    /// Beginning of the last group.
    pub(crate) group: u64,
    /// Number of the last group.
    pub(crate) series: u8,
    /// Link of the last unit; zeros if there is none.
    pub(crate) last_link: ChainLink,
    /// Last unit of a session; units that were erased are not counted.
    pub(crate) latest: Option<UnitLocation>,
    /// Last positions and links of erased units.
    pub(crate) erased: KeyMap<Vec<(Seq, ChainLink)>>,
    pub(crate) damages: Vec<Damage>,
    pub(crate) torn: Option<TornTail>,
    /// Heads with summaries that a scan compares with the units. Empty between scans.
    pub(crate) summarized: KeyMap<WitnessedHead>,
}

/// A unit to add, with the link and the summary behind it.
#[derive(Debug, Clone)]
pub(crate) struct AddedUnit {
    pub(crate) key: SessionKey,
    pub(crate) at: UnitLocation,
    pub(crate) opening: Option<Box<SessionOpening>>,
    pub(crate) link: ChainLink,
    pub(crate) summary: Option<SessionSummary>,
}

impl AddedUnit {
    /// Creates the entry of a unit found by a scan.
    pub(crate) fn scanned(
        head: &UnitHeader,
        offset: u64,
        opening: Option<Box<SessionOpening>>,
        summary: Option<SessionSummary>,
    ) -> Self {
        Self {
            key: head.key,
            at: UnitLocation {
                offset: u32::try_from(offset).unwrap_or(u32::MAX),
                len: head.len,
                first: head.first,
                count: head.count,
            },
            opening,
            link: head.link,
            summary,
        }
    }
}

impl SegmentMap {
    pub(crate) fn empty(place: SegmentId, end: u64) -> Self {
        Self {
            segment: place,
            tracks: KeyMap::default(),
            end,
            group: end,
            series: 0,
            last_link: ChainLink([0; ChainLink::BYTES]),
            latest: None,
            erased: KeyMap::default(),
            damages: Vec::new(),
            torn: None,
            summarized: KeyMap::default(),
        }
    }

    /// Finds the summary of the log up to a scanned unit.
    pub(crate) fn summary_at(&self, unit: &UnitHeader) -> Option<SessionSummary> {
        let head = self.summarized.get(&unit.key)?;
        let same = head.last == unit.last() && head.link == unit.link;
        head.summary.as_ref().filter(|_| same).cloned()
    }

    /// Adds a unit. A unit that does not follow the session's last one is damage.
    pub(crate) fn add(&mut self, added: AddedUnit) {
        let AddedUnit { key, at, opening, link, summary } = added;
        self.last_link = link;
        self.latest = Some(at);
        let Some(opening) = opening else {
            let track = self.tracks.get_mut(&key);
            let run = track.and_then(|track| track.runs.last_mut());
            let Some(run) = run.filter(|run| run.extent.last.next() == at.first) else {
                let what = "what stands before it is missing";
                self.damages.push(Damage::of_unit(key, &at, what));
                return;
            };
            run.extent.last = at.last();
            run.extent.link = link;
            // A scan knows no summary of most units.
            if summary.is_some() {
                run.extent.summary = summary;
            }
            run.extent.bytes += u64::from(at.len);
            run.extent.latest = at.offset;
            run.units.push(at);
            return;
        };
        let run = UnitRun {
            extent: Extent {
                base: Seq(at.first.0.saturating_sub(1)),
                base_link: opening.link,
                base_summary: opening.summary,
                last: at.last(),
                link,
                summary,
                bytes: u64::from(at.len),
                start: at.offset,
                latest: at.offset,
            },
            units: vec![at],
        };
        match self.tracks.entry(key) {
            // Most sessions have one run, and need room for no more.
            Entry::Vacant(vacant) => {
                vacant.insert(SessionExtents { id: opening.id, runs: vec![run] });
            }
            Entry::Occupied(track) if track.get().id != opening.id => {
                let what = "another session has the same key";
                self.damages.push(Damage::of_unit(key, &at, what));
            }
            Entry::Occupied(track) => track.into_mut().runs.push(run),
        }
    }
}

impl UnitRun {
    /// Returns the units behind position `after` until they hold `limit` facts, and the unit before
    /// them.
    pub(crate) fn units(
        &self,
        after: Seq,
        limit: usize,
    ) -> (Option<UnitLocation>, Vec<UnitLocation>) {
        slice(&self.units, after, limit)
    }
}

/// Slices consecutive units as [`UnitRun::units`] does.
pub(crate) fn slice(
    units: &[UnitLocation],
    after: Seq,
    limit: usize,
) -> (Option<UnitLocation>, Vec<UnitLocation>) {
    let from = units.partition_point(|unit| unit.last() <= after);
    let until = Seq(after.0.saturating_add(limit as u64));
    let rest = units.get(from..).unwrap_or_default();
    let count = rest.partition_point(|unit| unit.first <= until);
    let before = from.checked_sub(1).and_then(|at| units.get(at)).copied();
    (before, rest.get(..count).unwrap_or_default().to_vec())
}
