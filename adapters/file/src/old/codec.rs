//! The format of a log file, as pure functions on bytes. The README describes it.

use sha2::{Digest, Sha256};
use windlass_core::SessionId;

/// The version of the format that this adapter writes, and the newest that it reads.
pub(crate) const FORMAT: u32 = 1;
/// Bytes of a record before its body: fixed, so that a file can be cut into records by eye.
pub(crate) const HEAD: usize = 87;
/// The fewest bytes that a unit of one record has: the head, a body of two, the line end.
pub(crate) const LEAST_UNIT: u64 = HEAD as u64 + 3;
/// The most bytes that a unit may have.
pub(crate) const MOST_UNIT: u64 = 512 * 1024 * 1024;

const MAGIC: &str = "windlass-log";

/// A link of the hash chain: the first half of a SHA-256.
pub(crate) type Link = [u8; 16];

/// What stands before a record's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// Which record of its unit it is, from 1.
    pub(crate) index: u32,
    /// How many records the unit has.
    pub(crate) count: u32,
    /// Bytes of the body.
    pub(crate) len: u32,
    /// Bytes from this record's first to the unit's last.
    pub(crate) rest: u32,
    /// CRC-32C of the body.
    pub(crate) crc: u32,
    /// The chain up to and with this record.
    pub(crate) link: Link,
}

/// What the first line of a file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileHead {
    /// It is that of this session's log, and so many bytes long.
    Ours(usize),
    /// A newer engine wrote it, in this format.
    Newer(u32),
    /// It is that of another session's log.
    Foreign(String),
    /// It is none.
    Unreadable,
}

/// The first line of a session's log.
pub(crate) fn file_head(id: &SessionId) -> Vec<u8> {
    let text = format!("{MAGIC} {FORMAT} {id}");
    let crc = crc32c::crc32c(text.as_bytes());
    format!("{text} {crc:08x}\n").into_bytes()
}

/// Reads the first line of what should be a session's log.
pub(crate) fn read_file_head(id: &SessionId, bytes: &[u8]) -> FileHead {
    let expected = file_head(id);
    if bytes.starts_with(&expected) {
        return FileHead::Ours(expected.len());
    }
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let line = end.and_then(|end| std::str::from_utf8(bytes.get(..end)?).ok());
    let Some((text, crc)) = line.and_then(|line| line.rsplit_once(' ')) else {
        return FileHead::Unreadable;
    };
    if crc != format!("{:08x}", crc32c::crc32c(text.as_bytes())) {
        return FileHead::Unreadable;
    }
    let mut words = text.split(' ');
    match (
        words.next(),
        words.next().map(str::parse::<u32>),
        words.next(),
    ) {
        (Some(MAGIC), Some(Ok(version)), _) if version > FORMAT => FileHead::Newer(version),
        (Some(MAGIC), Some(Ok(_)), Some(other)) => FileHead::Foreign(other.to_owned()),
        _ => FileHead::Unreadable,
    }
}

/// The link before the first record. It names the session, so no log passes for another's.
pub(crate) fn genesis(id: &SessionId) -> Link {
    half(Sha256::new().chain_update(file_head(id)))
}

/// The link of a record with this body, after the link before it.
pub(crate) fn next_link(before: &Link, body: &[u8]) -> Link {
    half(Sha256::new().chain_update(before).chain_update(body))
}

/// Appends a unit to `out`: all records of it, as they stand in the file from `offset` on.
///
/// Answers the link of its last record, or nothing when it would be larger than a unit may be.
pub(crate) fn encode_unit(
    out: &mut Vec<u8>,
    offset: u64,
    before: &Link,
    bodies: &[Vec<u8>],
) -> Option<Link> {
    let size = |body: &Vec<u8>| (body.len() + HEAD + 1) as u64;
    let total: u64 = bodies.iter().map(size).sum();
    if total > MOST_UNIT {
        return None;
    }
    let count = u32::try_from(bodies.len()).ok()?;
    let mut rest = u32::try_from(total).ok()?;
    let mut link = *before;
    let mut at = offset;
    out.reserve(usize::try_from(total).ok()?);
    for (body, index) in bodies.iter().zip(1..) {
        link = next_link(&link, body);
        let head = Head {
            index,
            count,
            len: u32::try_from(body.len()).ok()?,
            rest,
            crc: crc32c::crc32c(body),
            link,
        };
        encode_head(out, at, &head);
        out.extend_from_slice(body);
        out.push(b'\n');
        at += size(body);
        rest -= u32::try_from(size(body)).ok()?;
    }
    Some(link)
}

fn encode_head(out: &mut Vec<u8>, offset: u64, head: &Head) {
    let start = out.len();
    out.extend_from_slice(b"00000000 ");
    for (number, end) in [
        (head.index, b'/'),
        (head.count, b' '),
        (head.len, b' '),
        (head.rest, b' '),
        (head.crc, b' '),
    ] {
        push_hex(out, &number.to_be_bytes());
        out.push(end);
    }
    push_hex(out, &head.link);
    out.push(b' ');
    let mut crc = Vec::with_capacity(8);
    push_hex(
        &mut crc,
        &head_crc(offset, out.get(start..).unwrap_or_default()).to_be_bytes(),
    );
    for (to, from) in out.iter_mut().skip(start).zip(crc) {
        *to = from;
    }
}

/// The checksum of a head. It covers where the head stands, so that a copy of one elsewhere,
/// for example inside a body, is none.
fn head_crc(offset: u64, head: &[u8]) -> u32 {
    let fields = head.get(8..HEAD).unwrap_or_default();
    crc32c::crc32c_append(crc32c::crc32c(&offset.to_le_bytes()), fields)
}

/// What stands between the numbers of a head, and where.
const SEPARATORS: [(usize, u8); 7] = [
    (8, b' '),
    (17, b'/'),
    (26, b' '),
    (35, b' '),
    (44, b' '),
    (53, b' '),
    (86, b' '),
];

/// The value of a hexadecimal digit as heads have them: in lower case.
fn digit(byte: u8) -> Option<u32> {
    match byte {
        b'0'..=b'9' => Some(u32::from(byte - b'0')),
        b'a'..=b'f' => Some(u32::from(byte - b'a') + 10),
        _ => None,
    }
}

/// Reads a record's head that stands at `offset`; nothing when there is none.
pub(crate) fn read_head(offset: u64, bytes: &[u8]) -> Option<Head> {
    let bytes = bytes.get(..HEAD)?;
    if SEPARATORS
        .iter()
        .any(|(at, byte)| bytes.get(*at) != Some(byte))
    {
        return None;
    }
    let number = |at: usize| {
        let digits = bytes.get(at..at + 8)?;
        digits
            .iter()
            .try_fold(0_u32, |number, byte| Some(number << 4 | digit(*byte)?))
    };
    if number(0)? != head_crc(offset, bytes) {
        return None;
    }
    let mut link = Link::default();
    for (part, at) in link.chunks_mut(4).zip((54..).step_by(8)) {
        part.copy_from_slice(&number(at)?.to_be_bytes());
    }
    Some(Head {
        index: number(9)?,
        count: number(18)?,
        len: number(27)?,
        rest: number(36)?,
        crc: number(45)?,
        link,
    })
}

/// Whether these bytes may be a head, or the beginning of one.
pub(crate) fn looks_like_a_head(bytes: &[u8]) -> bool {
    let fits = |(at, byte): (usize, &u8)| {
        let separator = SEPARATORS.iter().find(|(place, _)| *place == at);
        separator.map_or_else(
            || digit(*byte).is_some(),
            |(_, separator)| separator == byte,
        )
    };
    bytes.iter().take(HEAD).enumerate().all(fits)
}

fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    let digit = |nibble: u8| {
        if nibble < 10 {
            b'0' + nibble
        } else {
            b'a' + nibble - 10
        }
    };
    for byte in bytes {
        out.push(digit(byte >> 4));
        out.push(digit(byte & 15));
    }
}

fn half(hash: Sha256) -> Link {
    let mut link = Link::default();
    for (to, from) in link.iter_mut().zip(hash.finalize()) {
        *to = from;
    }
    link
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> SessionId {
        SessionId::new("s-1").unwrap()
    }

    #[test]
    fn a_unit_reads_as_lines_and_its_heads_say_what_follows() {
        let mut out = Vec::new();
        let bodies = [b"{}".to_vec(), br#"{"a":1}"#.to_vec()];
        let last = encode_unit(&mut out, 30, &genesis(&id()), &bodies).unwrap();
        let first = read_head(30, &out).unwrap();
        assert_eq!((first.index, first.count, first.len), (1, 2, 2));
        assert_eq!(first.rest as usize, out.len());
        assert_eq!(&out[HEAD..HEAD + 3], b"{}\n");
        let second = read_head(120, &out[90..]).unwrap();
        assert_eq!(
            (second.index, second.count, second.len, second.link),
            (2, 2, 7, last)
        );
        assert_eq!(second.rest as usize, out.len() - 90);
        assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 2);
    }

    #[test]
    fn a_head_that_is_changed_or_moved_is_none() {
        let mut out = Vec::new();
        encode_unit(&mut out, 30, &genesis(&id()), &[b"{}".to_vec()]).unwrap();
        assert!(read_head(31, &out).is_none());
        for at in 0..HEAD {
            for bit in 0..8 {
                let mut changed = out.clone();
                changed[at] ^= 1 << bit;
                assert!(read_head(30, &changed).is_none(), "bit {bit} of byte {at}");
            }
            assert!(looks_like_a_head(&out[..at]));
        }
        assert!(!looks_like_a_head(b"garbage"));
    }

    #[test]
    fn the_readme_shows_heads_that_read() {
        let readme = include_str!("../../README.md");
        let (_, log) = readme.split_once("```console\n").unwrap();
        let lines: Vec<_> = log.lines().take(3).collect();
        let demo = SessionId::new("demo").unwrap();
        let first = format!("{}\n", lines[0]);
        let start = first.len() as u64;
        assert_eq!(
            read_file_head(&demo, first.as_bytes()),
            FileHead::Ours(first.len())
        );
        let head = read_head(start, lines[1].as_bytes()).unwrap();
        let second = start + HEAD as u64 + u64::from(head.len) + 1;
        assert_eq!(read_head(second, lines[2].as_bytes()).unwrap().index, 2);
    }

    #[test]
    fn a_file_head_tells_whose_log_it_is() {
        let head = file_head(&id());
        assert_eq!(read_file_head(&id(), &head), FileHead::Ours(head.len()));
        let other = SessionId::new("other").unwrap();
        assert_eq!(
            read_file_head(&other, &head),
            FileHead::Foreign("s-1".into())
        );
        let text = "windlass-log 2 s-1";
        let newer = format!("{text} {:08x}\n", crc32c::crc32c(text.as_bytes()));
        assert_eq!(read_file_head(&id(), newer.as_bytes()), FileHead::Newer(2));
        for at in 0..head.len() - 1 {
            let mut changed = head.clone();
            changed[at] ^= 1;
            assert_eq!(
                read_file_head(&id(), &changed),
                FileHead::Unreadable,
                "byte {at}"
            );
        }
    }
}
