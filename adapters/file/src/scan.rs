//! Scanning: finds the content of a segment from its bytes alone, and classifies bytes that do not
//! read as prepared room, torn units or damage.
//!
//! A group is one write at the segment's end. It is acknowledged after its sync, and nothing is
//! written behind it before. So at most the last group is unacknowledged, and the first unit of
//! each group is marked. A crash or a power loss leaves a group in few ways: the file ends within
//! it, or sectors of prepared room are still zeros in any of its units. No content has a sector of
//! zeros. Hence the first unit that does not read is *torn* if no other group follows and
//!
//! - the file ends before the unit does, or
//!
//! - a sector of it is all zeros.
//!
//! Everything else is *damage*. The bytes alone cannot tell an acknowledged last group that lost
//! whole sectors or its end from a torn one; the segment's witness can. A changed byte is always
//! detected.

mod stored;

use std::io;

use windlass_core::SessionId;
use windlass_ports::ChainLink;

use crate::disk::{LogFile, SegmentBytes, most_bytes, read_full_at, read_segment};
use crate::format::{
    self, FIRST, HEAD, KeyMap, LEAST_UNIT, SegmentHeader, SessionKey, TAIL, UnitHeader,
};
use crate::segment_map::{AddedUnit, Damage, SegmentMap, TornTail};
use crate::witness::Witness;

pub(crate) use stored::{expect_summaries, scan_stored, witness};

/// Smallest write of a disk. Fewer zeros than this are no torn write.
const SECTOR: u64 = 512;

/// Bytes of a segment to read at once.
const PIECE: usize = 256 * 1024;

/// Expected end of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpectedEnd {
    /// May end with unacknowledged units: the last segment of its lane.
    Open,
    /// Ends with a whole unit.
    Sealed,
}

/// Reason why a segment cannot be scanned.
#[derive(Debug)]
pub(crate) enum ScanError {
    Io(io::Error),
    /// A newer engine wrote it, in this format.
    Newer(u32),
}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Scans a segment from the end of its map on, at most to its sealed size. What it lacks against
/// its witness is damage.
pub(crate) fn scan(
    file: &dyn LogFile,
    map: &mut SegmentMap,
    ending: ExpectedEnd,
    known: Option<&Witness>,
) -> Result<(), ScanError> {
    let len = file.len()?;
    if map.end < FIRST {
        let mut first = [0; FIRST as usize];
        let read = read_full_at(file, &mut first, 0)?;
        let first = first.get(..read).unwrap_or_default();
        match format::read_segment_header(map.segment, first) {
            SegmentHeader::Ours | SegmentHeader::Older => {}
            SegmentHeader::Newer(format) => return Err(ScanError::Newer(format)),
            // The process died as it began the segment: nothing was ever in it.
            SegmentHeader::Other(_)
                if ending == ExpectedEnd::Open && is_begun(first, len) && known.is_none() =>
            {
                map.torn = None;
                return Ok(());
            }
            // What the units say of their place tells whose they are as well.
            SegmentHeader::Other(what) => {
                map.damages.push(Damage::unattributed(0, FIRST, what));
            }
        }
        map.end = FIRST;
        map.group = FIRST;
    }
    map.torn = None;
    let limit = known.and_then(Witness::sealed_at).unwrap_or(most_bytes(map.segment));
    scan_sound(file, map, limit, known)?;
    let base = map.end;
    let SegmentBytes { bytes, len } = read_segment(file, base, limit)?;
    let rest = ScanBuffer {
        written: bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1),
        bytes: &bytes,
        base,
        len,
        known,
    };
    rest.read(map, ending);
    rest.check_end(map);
    map.summarized = KeyMap::default();
    Ok(())
}

/// Scans units up to the first that is not sound, and holds one piece of the segment in memory.
fn scan_sound(
    file: &dyn LogFile,
    map: &mut SegmentMap,
    limit: u64,
    known: Option<&Witness>,
) -> io::Result<()> {
    let mut bytes = vec![0; PIECE];
    let mut size = PIECE;
    while map.end < limit {
        let left = usize::try_from(limit - map.end).unwrap_or(size);
        bytes.resize(size.min(left), 0);
        let len = read_full_at(file, &mut bytes, map.end)?;
        let piece = bytes.get(..len).unwrap_or_default();
        let base = map.end;
        let piece = ScanBuffer { bytes: piece, base, len, written: len, known };
        let used = piece.read_sound(map, 0);
        let longer = piece.head(map, used).map(|head| head.len as usize);
        size = match longer.filter(|longer| used == 0 && len < *longer) {
            Some(longer) => longer,
            None if used == 0 => return Ok(()),
            None => PIECE,
        };
        if len < bytes.len() || size > left {
            return Ok(());
        }
    }
    Ok(())
}

/// Returns true for the first bytes of an unfinished segment with a file of this length.
fn is_begun(first: &[u8], len: u64) -> bool {
    len <= FIRST && (first.len() < FIRST as usize || first.iter().all(|byte| *byte == 0))
}

/// Bytes of a segment from `base` on.
struct ScanBuffer<'a> {
    bytes: &'a [u8],
    base: u64,
    /// Number of bytes up to the end of the file. Those that `bytes` lacks are zeros.
    len: usize,
    /// Number of bytes up to the last one that is not zero.
    written: usize,
    known: Option<&'a Witness>,
}

impl ScanBuffer<'_> {
    fn read(&self, map: &mut SegmentMap, ending: ExpectedEnd) {
        let mut at = self.read_sound(map, 0);
        while at < self.written {
            let head = self.head(map, at);
            if let Some(head) = &head {
                self.check_link(map, at, head);
            }
            let Some(next) = self.trouble(map, at, head, ending) else {
                return;
            };
            map.end = self.base + next as u64;
            at = self.read_sound(map, next);
        }
    }

    /// Adds units from `at` up to the first that is not sound. Returns the offset behind them.
    fn read_sound(&self, map: &mut SegmentMap, mut at: usize) -> usize {
        while at < self.written
            && let Some(head) = self.head(map, at).filter(|head| self.is_whole(at, head))
        {
            self.check_link(map, at, &head);
            if head.group.first {
                map.group = self.base + at as u64;
            }
            map.series = head.group.series;
            match head.erased {
                false => self.add(map, at, &head),
                true => {
                    map.last_link = head.link;
                    map.erased.entry(head.key).or_default().push((head.last(), head.link));
                }
            }
            at += head.len as usize;
            map.end = self.base + at as u64;
        }
        at
    }

    /// Checks the unit at the witnessed end: it ends there, with the same link.
    fn check_link(&self, map: &mut SegmentMap, at: usize, head: &UnitHeader) {
        let Some(known) = self.known else {
            return;
        };
        let (start, end) = (self.base + at as u64, self.base + at as u64 + u64::from(head.len));
        if start >= known.end() || end < known.end() {
            return;
        }
        // A link of zeros is unknown.
        let none = ChainLink([0; ChainLink::BYTES]);
        let unknown = known.link() == none || (head.erased && head.link == none);
        if end > known.end() || !(unknown || head.link == known.link()) {
            let what = "the segment is not the one that was written there".to_owned();
            map.damages.push(Damage::unattributed(FIRST, known.end(), what));
        }
    }

    /// Checks that the segment reaches its witnessed end.
    fn check_end(&self, map: &mut SegmentMap) {
        let Some(known) = self.known else {
            return;
        };
        let read = map.damages.iter().map(|damage| damage.end).max().unwrap_or(FIRST).max(map.end);
        if read < known.end() {
            let what = format!("{} bytes that were written there are missing", known.end() - read);
            map.damages.push(Damage::unattributed(read, known.end(), what));
        }
    }

    fn add(&self, map: &mut SegmentMap, at: usize, head: &UnitHeader) {
        let opening = match head.opening {
            true => {
                let unit = self.bytes.get(at..).unwrap_or_default();
                let Some((opening, _)) = format::read_opening(unit) else {
                    let end = at + head.len as usize;
                    let half = Some(head.key.half());
                    let damage = self.damage(map, at, end, half, "a unit does not open");
                    map.damages.push(damage);
                    return;
                };
                Some(opening)
            }
            false => None,
        };
        let summary = map.summary_at(head);
        map.add(AddedUnit::scanned(head, self.base + at as u64, opening.map(Box::new), summary));
    }

    fn head(&self, map: &SegmentMap, at: usize) -> Option<UnitHeader> {
        format::read_header(map.segment, self.base + at as u64, self.bytes.get(at..)?)
    }

    /// Returns true if the content of a unit is as written. Erased units have none.
    fn is_whole(&self, at: usize, head: &UnitHeader) -> bool {
        let unit = self.bytes.get(at..at + head.len as usize);
        unit.is_some_and(|unit| head.erased || format::is_sound(head, unit))
    }

    /// Classifies bytes at `at` that are no sound unit. Returns the offset to continue at.
    fn trouble(
        &self,
        map: &mut SegmentMap,
        at: usize,
        head: Option<UnitHeader>,
        ending: ExpectedEnd,
    ) -> Option<usize> {
        let next = match head {
            Some(head) => at + head.len as usize,
            None => self.next_head(map, at + 4).unwrap_or(self.written),
        };
        // Salvage damage nothing is taken for what a write left.
        let open = ending == ExpectedEnd::Open && map.damages.is_empty();
        let durable = self.known.map_or(0, Witness::end);
        if open && self.base + at as u64 >= durable && self.is_torn(map, at, head, next) {
            map.torn = Some(self.torn(map, at, head));
            return None;
        }
        // A unit that says that it is longer than the file is damaged as far as that goes.
        let next = next.min(self.len.next_multiple_of(4));
        let (half, end) = match head {
            Some(head) => (Some(head.key.half()), next),
            None => self.whose(at, next),
        };
        let what = match head {
            Some(_) => "a unit's checksum does not match",
            None => "no unit begins there",
        };
        let damage = self.damage(map, at, end, half, what);
        map.damages.push(damage);
        Some(end.max(next))
    }

    fn is_torn(&self, map: &SegmentMap, at: usize, head: Option<UnitHeader>, next: usize) -> bool {
        let mut after = self.next_head(map, at + 4);
        while let Some(found) = after {
            let Some(later) = self.head(map, found) else {
                break;
            };
            let another = head.is_some_and(|head| head.group.series != later.group.series);
            if later.group.first || another {
                return false;
            }
            after = self.next_head(map, found + later.len as usize);
        }
        if next > self.len || (head.is_none() && self.len - at < LEAST_UNIT) {
            return true;
        }
        // A unit that has lost its head reaches over at least so many bytes.
        let end = match head {
            Some(_) => next,
            None => next.max(at + LEAST_UNIT).min(self.len),
        };
        self.zero_sector(at, end)
    }

    /// Describes the torn units from `at` on.
    fn torn(&self, map: &SegmentMap, at: usize, head: Option<UnitHeader>) -> TornTail {
        let mut parts = Vec::new();
        let mut found = head.map(|head| (at, head));
        let mut from = at;
        loop {
            if let Some((place, head)) = found {
                let end = (place + head.len as usize).min(self.written.max(place));
                parts.push((head.key, (end - place) as u64));
                from = place + head.len as usize - 4;
            }
            let next = self.next_head(map, from + 4);
            found = next.and_then(|at| Some((at, self.head(map, at)?)));
            if found.is_none() {
                break;
            }
        }
        let proven = self.known.is_some_and(Witness::is_last);
        TornTail { bytes: (self.written - at) as u64, parts, proven }
    }

    /// Finds the next sound head from `from` on.
    fn next_head(&self, map: &SegmentMap, from: usize) -> Option<usize> {
        let mut at = from;
        while at + HEAD <= self.bytes.len() && at < self.written {
            if self.head(map, at).is_some() {
                return Some(at);
            }
            at += 4;
        }
        None
    }

    /// Finds the key half and the end of the unit that the bytes may be.
    fn whose(&self, at: usize, next: usize) -> (Option<u32>, usize) {
        let least = next.max(at).next_multiple_of(4);
        for end in (least..=least + TAIL).step_by(4) {
            let unit = self.bytes.get(at..end).unwrap_or_default();
            if let Some(half) = format::half_at_the_end(unit) {
                return (Some(half), end);
            }
        }
        (None, least)
    }

    /// Returns true if one of the sectors in a range is all zeros.
    fn zero_sector(&self, from: usize, to: usize) -> bool {
        let mut at = from as u64 + self.base;
        let end = to as u64 + self.base;
        while at < end {
            let next = ((at / SECTOR + 1) * SECTOR).min(end);
            let from = usize::try_from(at - self.base).unwrap_or(usize::MAX);
            let to = usize::try_from(next - self.base).unwrap_or(usize::MAX);
            let piece = self.bytes.get(from..to).unwrap_or_default();
            if piece.iter().all(|byte| *byte == 0) {
                return true;
            }
            at = next;
        }
        false
    }

    /// Guesses the session of a damaged unit. The id counts only if its hash fits the key.
    fn guess(&self, map: &SegmentMap, at: usize, end: usize, half: u32) -> Option<SessionId> {
        let mut earlier = map.tracks.iter().filter(|(key, _)| key.half() == half);
        if let (Some((_, track)), None) = (earlier.next(), earlier.next()) {
            return Some(track.id.clone());
        }
        let unit = self.bytes.get(at..end.min(self.bytes.len()))?;
        let fits = |id: &SessionId| SessionKey::of(id).half() == half;
        let opened = format::read_opening(unit).map(|(opening, _)| opening.id);
        opened.filter(fits).or_else(|| {
            let content = unit.get(HEAD..unit.len().checked_sub(TAIL)?)?;
            let named = |lines: &[u8]| {
                lines.split(|byte| *byte == b'\n').find_map(|line| {
                    let from = line.iter().position(|byte| *byte == b'{')?;
                    let fact = windlass_ports::codec::decode(line.get(from..)?).ok()?;
                    Some(fact.session).filter(fits)
                })
            };
            named(content).or_else(|| named(&format::find_facts(content)?))
        })
    }

    fn damage(
        &self,
        map: &SegmentMap,
        at: usize,
        end: usize,
        half: Option<u32>,
        what: &str,
    ) -> Damage {
        Damage {
            offset: self.base + at as u64,
            end: self.base + end as u64,
            half,
            id: half.and_then(|half| self.guess(map, at, end, half)),
            lost: None,
            unreadable: false,
            what: what.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
