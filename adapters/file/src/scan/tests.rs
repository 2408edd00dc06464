//! Tests of scanning: each changed bit, each cut and each hole of small segments.

use windlass_core::Seq;
use windlass_ports::ChainLink;
use windlass_testkit::store::letters;

use super::*;
use crate::format::{
    CommitGroup, SegmentId, SessionOpening, UnitDraft, encode_unit, segment_header,
};
use crate::fuzzing::InMemory;

const PLACE: SegmentId = SegmentId { writer: 0, number: 1 };

fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

/// Encodes a segment of units: session, number of facts, and a flag for the first unit of a group.
fn segment(units: &[(&str, u64, bool)]) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = segment_header(PLACE);
    let mut ends = Vec::new();
    let mut lasts = std::collections::HashMap::new();
    let mut series = 0;
    for (name, count, group) in units {
        series += u8::from(*group);
        let last: &mut u64 = lasts.entry(*name).or_default();
        let texts: Vec<Vec<u8>> = (1..=*count)
            .map(|n| {
                format!("{{\"of\":\"{name}\",\"n\":\"{}\"}}", letters(*last + n, 12)).into_bytes()
            })
            .collect();
        let draft = UnitDraft {
            key: SessionKey::of(&id(name)),
            first: Seq(*last + 1),
            link: ChainLink([7; 32]),
            opening: (*last == 0).then(|| SessionOpening {
                id: id(name),
                link: ChainLink::genesis(&id(name)),
                summary: None,
            }),
            group: CommitGroup { first: *group, series },
            texts: &texts,
        };
        let mut unit = Vec::new();
        encode_unit(&mut unit, PLACE, bytes.len() as u64, &draft).unwrap();
        bytes.extend_from_slice(&unit);
        ends.push(bytes.len());
        *last += count;
    }
    (bytes, ends)
}

fn scanned(bytes: &[u8], ending: ExpectedEnd) -> SegmentMap {
    let mut map = SegmentMap::empty(PLACE, 0);
    scan(&InMemory(bytes), &mut map, ending, None).unwrap();
    map
}

fn last(map: &SegmentMap, name: &str) -> u64 {
    let track = map.tracks.get(&SessionKey::of(&id(name)));
    let run = track.and_then(|track| track.runs.last());
    run.map_or(0, |run| run.extent.last.0)
}

const TWO: &[(&str, u64, bool)] = &[("a", 1, true), ("b", 2, false), ("a", 2, true)];

#[test]
fn units_across_pieces_and_longer_than_one_are_read_and_checked() {
    let units = [("a", 7_500, true), ("b", 37_500, true), ("a", 7_500, true), ("b", 9, true)];
    let (bytes, ends) = segment(&units);
    assert!(ends[0] < PIECE && ends[1] - ends[0] > 2 * PIECE && ends[2] / PIECE > ends[1] / PIECE);
    let map = scanned(&bytes, ExpectedEnd::Sealed);
    assert_eq!((last(&map, "a"), last(&map, "b")), (15_000, 37_509));
    assert_eq!((map.end as usize, map.damages.len()), (ends[3], 0));
    let torn = scanned(&bytes[..ends[2] - 8], ExpectedEnd::Open);
    assert_eq!((last(&torn, "a"), last(&torn, "b")), (7_500, 37_500));
    assert_eq!((torn.end as usize, torn.torn.is_some()), (ends[1], true));
    let mut changed = bytes.clone();
    changed[ends[0] + PIECE] ^= 1;
    let damaged = scanned(&changed, ExpectedEnd::Sealed);
    let halves: Vec<_> = damaged.damages.iter().map(|damage| damage.half).collect();
    // The last unit of the session lacks those before it.
    assert_eq!(halves, vec![Some(SessionKey::of(&id("b")).half()); 2]);
    assert_eq!((last(&damaged, "a"), last(&damaged, "b")), (15_000, 0));
}

#[test]
fn a_segment_is_read_as_it_was_written() {
    let (bytes, ends) = segment(TWO);
    for (room, ending) in
        [(0, ExpectedEnd::Open), (5_000, ExpectedEnd::Open), (0, ExpectedEnd::Sealed)]
    {
        let mut bytes = bytes.clone();
        bytes.resize(bytes.len() + room, 0);
        let map = scanned(&bytes, ending);
        assert_eq!((last(&map, "a"), last(&map, "b")), (3, 2));
        assert_eq!(map.end as usize, ends[2]);
        assert_eq!(map.group as usize, ends[1]);
        assert!(map.torn.is_none() && map.damages.is_empty());
    }
}

#[test]
fn every_bit_that_changes_is_damage_to_its_session() {
    let (bytes, ends) = segment(TWO);
    for byte in FIRST as usize..bytes.len() {
        let whose = ends.iter().position(|end| byte < *end).unwrap();
        let key = SessionKey::of(&id(TWO[whose].0));
        for bit in 0..8 {
            for room in [0, 3_000] {
                let mut bytes = bytes.clone();
                bytes[byte] ^= 1 << bit;
                bytes.resize(bytes.len() + room, 0);
                let map = scanned(&bytes, ExpectedEnd::Open);
                assert!(map.torn.is_none(), "bit {bit} of byte {byte}");
                let first = map.damages.first();
                let first = first.unwrap_or_else(|| panic!("bit {bit} of byte {byte} is missed"));
                assert_eq!(first.half, Some(key.half()), "bit {bit} of byte {byte}");
                assert!(first.offset as usize <= byte);
                let halves = map.damages.iter().map(|damage| damage.half);
                assert!(halves.clone().all(|half| half == Some(key.half())));
                // The other session is whole.
                let other = if TWO[whose].0 == "a" { "b" } else { "a" };
                assert_eq!(last(&map, other), if other == "a" { 3 } else { 2 });
            }
        }
    }
}

#[test]
fn every_cut_of_the_last_group_is_torn_and_no_other_is() {
    let (bytes, ends) = segment(&[("a", 1, true), ("b", 2, true), ("a", 2, false)]);
    for cut in FIRST as usize..bytes.len() {
        let map = scanned(&bytes[..cut], ExpectedEnd::Open);
        assert!(map.damages.is_empty(), "cut at {cut}");
        let whole = ends.iter().filter(|end| **end <= cut).count();
        let end = match whole {
            0 => FIRST as usize,
            whole => ends[whole - 1],
        };
        assert_eq!(map.end as usize, end, "cut at {cut}");
        assert_eq!(map.torn.is_some(), cut > end, "cut at {cut}");
    }
}

#[test]
fn a_hole_in_the_last_group_is_torn_and_one_before_is_damage() {
    let big = 40;
    let (bytes, ends) =
        segment(&[("a", big, true), ("b", big, true), ("a", big, false), ("c", big, false)]);
    for sector in 0..bytes.len() / 512 {
        let mut bytes = bytes.clone();
        let from = (sector * 512).max(FIRST as usize);
        bytes[from..(sector + 1) * 512].fill(0);
        bytes.resize(bytes.len() + 2_000, 0);
        let map = scanned(&bytes, ExpectedEnd::Open);
        if from < ends[0] {
            assert!(map.torn.is_none() && !map.damages.is_empty(), "sector {sector}");
            continue;
        }
        assert!(map.damages.is_empty(), "sector {sector}");
        let torn = map.torn.unwrap_or_else(|| panic!("sector {sector} is missed"));
        let whole = ends.iter().filter(|end| **end <= from).count();
        assert_eq!(map.end as usize, ends[whole - 1], "sector {sector}");
        // The units behind the hole are named, for they are cut off with it.
        let behind = ends[..3].iter().filter(|end| **end >= from + 512).count();
        assert!(torn.parts.len() >= behind, "sector {sector}: {torn:?}");
        // The same in a segment that is sealed cannot be a torn write.
        let sealed = scanned(&bytes, ExpectedEnd::Sealed);
        assert!(!sealed.damages.is_empty(), "sector {sector}");
    }
}

#[test]
fn a_session_that_lost_its_opening_is_named_all_the_same() {
    let (mut bytes, _) = segment(TWO);
    // Within what the first unit holds.
    bytes[FIRST as usize + HEAD + 2] ^= 0x40;
    let map = scanned(&bytes, ExpectedEnd::Open);
    assert_eq!(last(&map, "a"), 0);
    assert_eq!(map.damages.len(), 2, "{:?}", map.damages);
}
