//! What a segment holds, by session: as a scan finds it, and as its writer goes on with it.

use windlass_core::{Seq, SessionId};
use windlass_ports::{Link, Summary};

use crate::format::{Head, Key, Keys, Opening, Place};

/// Where in its segment a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnitAt {
    /// Its first byte.
    pub(crate) offset: u32,
    /// Its bytes.
    pub(crate) len: u32,
    /// The position of its first fact.
    pub(crate) first: Seq,
    /// How many facts it has.
    pub(crate) count: u32,
}

impl UnitAt {
    /// The position of the last fact.
    pub(crate) fn last(&self) -> Seq {
        Seq(self.first.0 + u64::from(self.count) - 1)
    }

    /// The byte behind it.
    pub(crate) fn end(&self) -> u64 {
        u64::from(self.offset) + u64::from(self.len)
    }
}

/// A stretch of a session's log that stands in one segment without a gap, without its units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// The position before its first.
    pub(crate) base: Seq,
    /// The link of that.
    pub(crate) base_link: Link,
    /// The log up to there in short; `None` where there is none.
    pub(crate) base_summary: Option<Summary>,
    /// The last position.
    pub(crate) last: Seq,
    /// The link of that.
    pub(crate) link: Link,
    /// The log up to there in short, where that is known without reading it.
    pub(crate) summary: Option<Summary>,
    /// Bytes of its units.
    pub(crate) bytes: u64,
    /// Where in the segment its first unit begins.
    pub(crate) start: u32,
    /// Where its last unit begins.
    pub(crate) latest: u32,
}

/// A stretch with its units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) stretch: Stretch,
    pub(crate) units: Vec<UnitAt>,
}

/// A session in a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Track {
    pub(crate) id: SessionId,
    pub(crate) runs: Vec<Run>,
}

/// Bytes of a segment that do not read, where they must.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) offset: u64,
    /// The byte behind it.
    pub(crate) end: u64,
    /// Half of the key of the session whose they are, where that can be told.
    pub(crate) half: Option<u32>,
    /// The session, where that can be told.
    pub(crate) id: Option<SessionId>,
    pub(crate) what: String,
}

impl Damage {
    /// A unit that reads, and does not stand where it may.
    fn of_unit(key: Key, at: &UnitAt, what: &str) -> Self {
        Self {
            offset: u64::from(at.offset),
            end: at.end(),
            half: Some(key.half()),
            id: None,
            what: what.to_owned(),
        }
    }

    /// Whether it may have been a session's.
    pub(crate) fn may_be_of(&self, key: Key) -> bool {
        self.half.is_none_or(|half| half == key.half())
    }
}

/// The remains of units at a segment's end that were never acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Torn {
    pub(crate) bytes: u64,
    /// The sessions that are known to have had a part in them, and how many bytes.
    pub(crate) parts: Vec<(Key, u64)>,
}

/// What a segment holds.
#[derive(Debug, Clone)]
pub(crate) struct Map {
    pub(crate) place: Place,
    pub(crate) tracks: Keys<Track>,
    /// Where its sound units end.
    pub(crate) end: u64,
    /// Where what was made durable together last begins.
    pub(crate) group: u64,
    /// The number of that.
    pub(crate) series: u8,
    pub(crate) damages: Vec<Damage>,
    pub(crate) torn: Option<Torn>,
}

/// A unit, and where the log stands with it.
#[derive(Debug, Clone)]
pub(crate) struct Added {
    pub(crate) key: Key,
    pub(crate) at: UnitAt,
    pub(crate) opening: Option<Box<Opening>>,
    pub(crate) link: Link,
    pub(crate) summary: Option<Summary>,
}

impl Added {
    /// What a scan knows of a unit.
    pub(crate) fn scanned(head: &Head, offset: u64, opening: Option<Box<Opening>>) -> Self {
        Self {
            key: head.key,
            at: UnitAt {
                offset: u32::try_from(offset).unwrap_or(u32::MAX),
                len: head.len,
                first: head.first,
                count: head.count,
            },
            opening,
            link: head.link,
            summary: None,
        }
    }
}

impl Map {
    pub(crate) fn empty(place: Place, end: u64) -> Self {
        Self {
            place,
            tracks: Keys::default(),
            end,
            group: end,
            series: 0,
            damages: Vec::new(),
            torn: None,
        }
    }

    /// Takes in a unit. What does not follow the units of its session before is damage.
    pub(crate) fn add(&mut self, added: Added) {
        let Added {
            key,
            at,
            opening,
            link,
            summary,
        } = added;
        let Some(opening) = opening else {
            if self.go_on(key, at) {
                self.end_at(key, link, summary);
            }
            return;
        };
        let track = self.tracks.entry(key).or_insert_with(|| Track {
            id: opening.id.clone(),
            runs: Vec::new(),
        });
        if track.id != opening.id {
            let what = "another session has the same key";
            self.damages.push(Damage::of_unit(key, &at, what));
            return;
        }
        track.runs.push(Run {
            stretch: Stretch {
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
        });
    }
}

impl Map {
    /// Takes in a unit that follows what stands there of its session, and answers whether it does.
    pub(crate) fn go_on(&mut self, key: Key, at: UnitAt) -> bool {
        match self.last_run(key) {
            Some(run) if run.stretch.last.next() == at.first => {
                run.stretch.last = at.last();
                run.stretch.bytes += u64::from(at.len);
                run.stretch.latest = at.offset;
                run.units.push(at);
                true
            }
            Some(_) | None => {
                let what = "what stands before it is missing";
                self.damages.push(Damage::of_unit(key, &at, what));
                false
            }
        }
    }

    /// Notes where a session's log stands with its last unit.
    pub(crate) fn end_at(&mut self, key: Key, link: Link, summary: Option<Summary>) {
        if let Some(run) = self.last_run(key) {
            run.stretch.link = link;
            run.stretch.summary = summary;
        }
    }

    fn last_run(&mut self, key: Key) -> Option<&mut Run> {
        self.tracks.get_mut(&key)?.runs.last_mut()
    }
}

impl Run {
    /// The units that hold positions behind `after`, until they hold `limit`, and the unit before
    /// them.
    pub(crate) fn units(&self, after: Seq, limit: usize) -> (Option<UnitAt>, Vec<UnitAt>) {
        slice(&self.units, after, limit)
    }
}

/// As [`Run::units`], of any units that follow one another.
pub(crate) fn slice(units: &[UnitAt], after: Seq, limit: usize) -> (Option<UnitAt>, Vec<UnitAt>) {
    let from = units.partition_point(|unit| unit.last() <= after);
    let until = Seq(after.0.saturating_add(limit as u64));
    let rest = units.get(from..).unwrap_or_default();
    let count = rest.partition_point(|unit| unit.first <= until);
    let before = from.checked_sub(1).and_then(|at| units.get(at)).copied();
    (before, rest.get(..count).unwrap_or_default().to_vec())
}
