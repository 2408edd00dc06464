//! Entry points of fuzzers and of the tests over their seeds: properties of readers for any bytes.

use std::collections::BTreeMap;
use std::io;

use windlass_core::{Seq, SessionId};
use windlass_ports::ChainLink;

use crate::disk::LogFile;
use crate::format::{self, CommitGroup, SegmentId, SessionKey, SessionOpening, UnitDraft};
use crate::scan::{ExpectedEnd, scan};
use crate::segment_map::{SegmentMap, UnitLocation};

/// Reads the rest as a segment if the first byte is below 64. Otherwise three bytes choose a change
/// and lines are texts of a segment: it reads as written, a truncated one is never damaged, and a
/// changed byte is detected and hurts one session alone.
///
/// # Panics
///
/// If a property does not hold.
///
/// # Panics
/// When a property does not hold.
pub fn segment(data: &[u8]) {
    match data {
        [mode, raw @ ..] if *mode < 64 => {
            let mut bytes = format::segment_header(PLACE);
            bytes.extend_from_slice(raw);
            for ending in [ExpectedEnd::Open, ExpectedEnd::Sealed] {
                scanned(&bytes, ending);
            }
        }
        [mode, high, low, how, texts @ ..] => {
            let at = usize::from(u16::from_be_bytes([*high, *low]));
            changed_segment(*mode, at, *how, texts);
        }
        _ => {}
    }
}

const PLACE: SegmentId = SegmentId { writer: 0, number: 1 };

/// Units of each session, as a scan found them.
type ScannedUnits = BTreeMap<SessionKey, Vec<UnitLocation>>;

fn changed_segment(mode: u8, at: usize, how: u8, texts: &[u8]) {
    let texts: Vec<Vec<u8>> = texts
        .split(|byte| *byte == b'\n')
        .filter(|text| text.len() > 1 && !text.contains(&0))
        .take(16)
        .map(<[u8]>::to_vec)
        .collect();
    let ids = ["a", "b", "c"].map(SessionId::new);
    let mut bytes = format::segment_header(PLACE);
    let mut lasts = [0_u64; 3];
    let mut spans = Vec::new();
    // Units of one to three texts, of the session that the first byte says.
    for (unit, number) in texts.chunks(1 + usize::from(mode % 3)).zip(0_u8..) {
        let whose = usize::from(unit.first().and_then(|text| text.first()).map_or(0, |b| b % 3));
        let (Some(Ok(id)), Some(last)) = (ids.get(whose), lasts.get_mut(whose)) else {
            return;
        };
        let draft = UnitDraft {
            key: SessionKey::of(id),
            first: Seq(*last + 1),
            link: ChainLink([number; ChainLink::BYTES]),
            opening: (*last == 0).then(|| SessionOpening {
                id: id.clone(),
                link: ChainLink::genesis(id),
                summary: None,
            }),
            group: CommitGroup { first: number % 2 == 0, series: number / 2 },
            texts: unit,
        };
        let mut out = Vec::new();
        let offset = bytes.len() as u64;
        if format::encode_unit(&mut out, PLACE, offset, &draft).is_none() {
            return;
        }
        *last += unit.len() as u64;
        bytes.extend_from_slice(&out);
        spans.push((draft.key, bytes.len()));
    }
    let (whole, map) = scanned(&bytes, ExpectedEnd::Open);
    assert!(map.damages.is_empty() && map.torn.is_none());
    assert_eq!(whole.values().map(Vec::len).sum::<usize>(), spans.len());
    let first = format::FIRST as usize;
    let at = first + at % (bytes.len() - first).max(1);
    if mode < 128 {
        bytes.truncate(at);
        let (found, map) = scanned(&bytes, ExpectedEnd::Open);
        assert!(map.damages.is_empty(), "a segment that was cut off is torn");
        assert!(found.iter().all(|(key, units)| begins(&whole, *key, units)));
        return;
    }
    let Some(byte) = bytes.get_mut(at).filter(|_| how != 0) else {
        return;
    };
    *byte ^= how;
    let (found, map) = scanned(&bytes, ExpectedEnd::Open);
    assert!(!map.damages.is_empty(), "a changed byte is noticed");
    let hurt = spans.iter().find(|(_, end)| at < *end).map(|(key, _)| *key);
    for (key, units) in &whole {
        let now = found.get(key).map(Vec::as_slice).unwrap_or_default();
        assert!(begins(&whole, *key, now), "what is read is what was written");
        assert!(Some(*key) == hurt || now == units, "another session is hurt");
    }
}

fn begins(whole: &ScannedUnits, key: SessionKey, units: &[UnitLocation]) -> bool {
    whole.get(&key).is_some_and(|all| all.starts_with(units))
}

/// Scans a segment and checks the bounds of the result.
fn scanned(bytes: &[u8], ending: ExpectedEnd) -> (ScannedUnits, SegmentMap) {
    let mut map = SegmentMap::empty(PLACE, 0);
    let _ = scan(&InMemory(bytes), &mut map, ending, None);
    let room = bytes.len() as u64 + format::TAIL as u64 + 4;
    assert!(map.end <= room && map.group <= map.end);
    assert!(map.damages.iter().all(|damage| damage.end <= room));
    if let Some(torn) = &map.torn {
        assert!(ending == ExpectedEnd::Open && torn.bytes <= bytes.len() as u64);
    }
    let mut found = ScannedUnits::new();
    for (key, track) in &map.tracks {
        for run in &track.runs {
            let mut last = run.extent.base;
            for unit in &run.units {
                assert!(unit.first == last.next() && unit.end() <= bytes.len() as u64);
                last = unit.last();
            }
            assert_eq!(last, run.extent.last);
            found.entry(*key).or_default().extend(&run.units);
        }
    }
    (found, map)
}

pub(crate) struct InMemory<'a>(pub(crate) &'a [u8]);

// A scan borrows its file; the trait object's bound asks for no more.
impl LogFile for InMemory<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.0.get(from..).unwrap_or_default();
        let read = rest.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(rest) {
            *to = *from;
        }
        Ok(read)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
}
