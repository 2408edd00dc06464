//! Tests of the format: each bit of a unit, and the example in the README.

use super::*;

const PLACE: SegmentId = SegmentId { writer: 3, number: 9 };

fn id() -> SessionId {
    SessionId::new("s-1").unwrap()
}

/// Facts of a unit that is stored as it is, and of one that is compressed.
fn facts() -> [Vec<Vec<u8>>; 2] {
    let long = |number: u32| format!("{{\"number\":{number},\"text\":\"{}\"}}", "ab ".repeat(100));
    [vec![b"{}".to_vec(), br#"{"a":1}"#.to_vec()], vec![long(1).into_bytes(), long(2).into_bytes()]]
}

fn unit(opening: bool) -> Vec<u8> {
    let [texts, _] = facts();
    unit_of(opening, &texts)
}

fn unit_of(opening: bool, texts: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    let draft = UnitDraft {
        key: SessionKey::of(&id()),
        first: Seq(5),
        link: ChainLink([7; 32]),
        opening: opening.then(|| SessionOpening {
            id: id(),
            link: ChainLink([6; 32]),
            summary: None,
        }),
        group: CommitGroup { first: true, series: 0 },
        texts,
    };
    let len = encode_unit(&mut out, PLACE, 64, &draft).unwrap();
    assert_eq!(len as usize, out.len());
    out
}

#[test]
fn a_unit_reads_as_it_was_written() {
    for (opening, texts) in
        [false, true].into_iter().zip(facts()).chain([true, false].into_iter().zip(facts()))
    {
        let out = unit_of(opening, &texts);
        let head = read_header(PLACE, 64, &out).unwrap();
        assert_eq!((head.first, head.last()), (Seq(5), Seq(6)));
        assert_eq!((head.opening, head.group.first, head.erased), (opening, true, false));
        let held = read_unit_content(&head, &out).unwrap();
        assert_eq!(held.texts().collect::<Vec<_>>(), texts);
        assert_eq!(held.opening.map(|opening| opening.id), opening.then(id));
        assert_eq!(half_at_the_end(&out), Some(head.key.half()));
    }
}

#[test]
fn a_unit_that_is_changed_or_moved_is_none() {
    for texts in facts() {
        changed_or_moved(&unit_of(true, &texts));
    }
}

fn changed_or_moved(out: &[u8]) {
    assert!(read_header(PLACE, 68, out).is_none());
    let elsewhere = SegmentId { writer: 3, number: 8 };
    assert!(read_header(elsewhere, 64, out).is_none());
    for at in 0..out.len() {
        for bit in 0..8 {
            let mut changed = out.to_vec();
            changed[at] ^= 1 << bit;
            let head = read_header(PLACE, 64, &changed);
            let read = head.as_ref().and_then(|head| read_unit_content(head, &changed));
            assert!(read.is_none(), "bit {bit} of byte {at}");
        }
    }
}

#[test]
fn one_word_erases_a_unit() {
    let mut out = unit(false);
    let head = read_header(PLACE, 64, &out).unwrap();
    out[..4].copy_from_slice(&head.erased_word());
    let erased = read_header(PLACE, 64, &out).unwrap();
    assert!(erased.erased);
    assert_eq!(erased.len, head.len);
    assert!(read_unit_content(&erased, &out).is_none());
}

#[test]
fn a_segment_knows_its_place() {
    let head = segment_header(PLACE);
    assert_eq!(head.len() as u64, FIRST);
    assert_eq!(read_segment_header(PLACE, &head), SegmentHeader::Ours);
    assert_eq!(read_segment_header(PLACE, &header_of(2, PLACE)), SegmentHeader::Older);
    let elsewhere = SegmentId { writer: 2, number: 9 };
    assert!(matches!(read_segment_header(elsewhere, &head), SegmentHeader::Other(_)));
    let text = "windlass-segment 4 0003 00000009";
    let newer = format!("{text} {:08x}\n", crc32c::crc32c(text.as_bytes()));
    assert_eq!(read_segment_header(PLACE, newer.as_bytes()), SegmentHeader::Newer(4));
}

/// The example in the README is the encoded form.
#[test]
fn the_readme_shows_a_segment() {
    let readme = include_str!("../../README.md");
    let place = SegmentId { writer: 0, number: 1 };
    let demo = SessionId::new("demo").unwrap();
    let genesis = ChainLink::genesis(&demo);
    let texts = [br#"{"v":1}"#.to_vec()];
    let draft = UnitDraft {
        key: SessionKey::of(&demo),
        first: Seq(1),
        link: genesis.next(&texts[0]),
        opening: Some(SessionOpening { id: demo, link: genesis, summary: None }),
        group: CommitGroup { first: true, series: 0 },
        texts: &texts,
    };
    let mut unit = Vec::new();
    encode_unit(&mut unit, place, FIRST, &draft).unwrap();
    let mut shown = String::from_utf8(segment_header(place)).unwrap();
    shown.truncate(shown.find('\n').unwrap() + 1);
    shown.push_str("...\n");
    for (row, at) in unit.chunks(16).zip((FIRST..).step_by(16)) {
        let bytes: Vec<_> = row.iter().map(|byte| format!("{byte:02x}")).collect();
        shown.push_str(&format!("{at:04x}  {}\n", bytes.join(" ")));
    }
    assert!(readme.contains(&shown), "the README does not show:\n{shown}");
}
