//! Rows: how a fact lies in the database. Pure.
//!
//! A fact is one row for each [`CHUNK`] bytes of its text form. The key is the session's id, a
//! zero byte (which no id has), the position and the chunk's number, both big-endian: so rows are
//! in the order of ids and positions. Chunk 0 begins with the header and, in the last fact of an
//! append, the log in short.
//!
//! The first version of this store wrote nothing in short, and began the chain of a log with 32 zero
//! bytes in place of what all stores begin it with. What it wrote is read and gone on with.

use windlass_core::{Seq, SessionId};
use windlass_ports::{Link, MAX_FACT_BYTES, Summary};

use crate::note;

/// A leaf of the database has up to 18 rows and must stay below a quarter of a segment
/// (2 MiB), else it is moved to a file of its own, which nobody syncs.
pub(crate) const CHUNK: usize = 64 * 1024;

/// The row that names the store. No session's key begins with a zero byte.
pub(crate) const STORE_KEY: &[u8] = b"\0store";

const HEADER: usize = 1 + 4 + 4 + 4 + 32 + 4;

/// The link before the first fact of a log in the first version.
pub(crate) const OLD_GENESIS: Link = Link([0; 32]);

/// Which version wrote a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// With a chain of its own, and nothing in short.
    Old,
    /// As it is written now.
    Now,
}

impl Format {
    fn byte(self) -> u8 {
        match self {
            Self::Old => 1,
            Self::Now => 2,
        }
    }
}

/// What is written before a fact's text form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) format: Format,
    /// Its place in its append, from 0.
    pub(crate) index: u32,
    /// How many facts its append has.
    pub(crate) count: u32,
    /// The bytes of its text form.
    pub(crate) len: u32,
    /// The log's hash up to here.
    pub(crate) link: Link,
    crc: u32,
}

impl Header {
    /// The number of rows of this fact.
    pub(crate) fn chunks(&self) -> usize {
        chunks_of(self.len as usize)
    }
}

/// A record taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parsed<'a> {
    pub(crate) header: Header,
    /// The log in short; empty where it is not said.
    pub(crate) note: &'a [u8],
    /// The first part of the text form.
    pub(crate) text: &'a [u8],
}

/// A record that is to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writing<'a> {
    pub(crate) format: Format,
    /// The place in its append, from 0, and how many there are.
    pub(crate) place: (u32, u32),
    pub(crate) link: Link,
    /// The log in short, with the last of an append.
    pub(crate) summary: Option<&'a Summary>,
    pub(crate) text: &'a [u8],
}

/// The first part of a session's keys.
pub(crate) fn prefix(session: &SessionId) -> Vec<u8> {
    let mut key = Vec::with_capacity(session.as_str().len() + 11);
    key.extend_from_slice(session.as_str().as_bytes());
    key.push(0);
    key
}

/// The key of a chunk.
pub(crate) fn key(session: &SessionId, seq: Seq, chunk: u16) -> Vec<u8> {
    let mut key = prefix(session);
    key.extend_from_slice(&seq.0.to_be_bytes());
    key.extend_from_slice(&chunk.to_be_bytes());
    key
}

/// The key after all of a session's keys, and before those of any session after it.
pub(crate) fn after_session(session: &SessionId) -> Vec<u8> {
    let mut key = session.as_str().as_bytes().to_vec();
    key.push(1);
    key
}

/// The session, position and chunk of a key; `None` for what is no chunk's key.
pub(crate) fn parse_key(key: &[u8]) -> Option<(SessionId, Seq, u16)> {
    let (session, rest) = key.split_at_checked(key.len().checked_sub(11)?)?;
    let (zero, rest) = rest.split_first()?;
    let (seq, chunk) = rest.split_first_chunk::<8>()?;
    if *zero != 0 {
        return None;
    }
    let session = SessionId::new(std::str::from_utf8(session).ok()?).ok()?;
    let chunk = u16::from_be_bytes(chunk.try_into().ok()?);
    Some((session, Seq(u64::from_be_bytes(*seq)), chunk))
}

/// The rows of a fact, in order.
pub(crate) fn rows(session: &SessionId, seq: Seq, writing: Writing<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let Writing {
        format,
        place: (index, count),
        link,
        summary,
        text,
    } = writing;
    let note = summary.map_or_else(Vec::new, note::encode);
    let mut header = Header {
        format,
        index,
        count,
        len: u32::try_from(text.len()).unwrap_or(u32::MAX),
        link,
        crc: 0,
    };
    header.crc = crc(session, seq, &header, &note, text);
    let (first, rest) = text.split_at(text.len().min(CHUNK));
    let mut value = Vec::with_capacity(HEADER + 2 + note.len() + first.len());
    value.push(format.byte());
    value.extend_from_slice(&header.index.to_le_bytes());
    value.extend_from_slice(&header.count.to_le_bytes());
    value.extend_from_slice(&header.len.to_le_bytes());
    value.extend_from_slice(&header.link.0);
    value.extend_from_slice(&header.crc.to_le_bytes());
    match format {
        Format::Old => {}
        Format::Now => {
            let len = u16::try_from(note.len()).unwrap_or(u16::MAX);
            value.extend_from_slice(&len.to_le_bytes());
            value.extend_from_slice(&note);
        }
    }
    value.extend_from_slice(first);
    let mut rows = vec![(key(session, seq, 0), value)];
    for (chunk, part) in (1..).zip(rest.chunks(CHUNK)) {
        rows.push((key(session, seq, chunk), part.to_vec()));
    }
    rows
}

/// Takes chunk 0 apart.
pub(crate) fn parse(value: &[u8]) -> Result<Parsed<'_>, String> {
    let short = || "a record is too short".to_owned();
    let (format, rest) = value.split_first().ok_or_else(short)?;
    let format = match format {
        1 => Format::Old,
        2 => Format::Now,
        other => {
            return Err(format!(
                "a record has format {other} and this store reads 1 and 2"
            ));
        }
    };
    let (index, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let (count, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let (len, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let (link, rest) = rest.split_first_chunk::<32>().ok_or_else(short)?;
    let (crc, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let (note, text) = match format {
        Format::Old => rest.split_at(0),
        Format::Now => {
            let (len, rest) = rest.split_first_chunk::<2>().ok_or_else(short)?;
            let len = usize::from(u16::from_le_bytes(*len));
            rest.split_at_checked(len).ok_or_else(short)?
        }
    };
    let header = Header {
        format,
        index: u32::from_le_bytes(*index),
        count: u32::from_le_bytes(*count),
        len: u32::from_le_bytes(*len),
        link: Link(*link),
        crc: u32::from_le_bytes(*crc),
    };
    if header.len as usize > MAX_FACT_BYTES || header.index >= header.count {
        return Err("a record's header makes no sense".to_owned());
    }
    Ok(Parsed { header, note, text })
}

/// Whether a note and a text form, put together, are what was written at this place.
pub(crate) fn check(
    session: &SessionId,
    seq: Seq,
    header: &Header,
    note: &[u8],
    text: &[u8],
) -> bool {
    text.len() == header.len as usize && crc(session, seq, header, note, text) == header.crc
}

fn chunks_of(len: usize) -> usize {
    len.div_ceil(CHUNK).max(1)
}

fn crc(session: &SessionId, seq: Seq, header: &Header, note: &[u8], text: &[u8]) -> u32 {
    let mut crc = crc32c::crc32c(&key(session, seq, 0));
    for part in [header.index, header.count, header.len] {
        crc = crc32c::crc32c_append(crc, &part.to_le_bytes());
    }
    crc = crc32c::crc32c_append(crc, &header.link.0);
    crc = crc32c::crc32c_append(crc, note);
    crc32c::crc32c_append(crc, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> SessionId {
        SessionId::new(text).unwrap()
    }

    #[test]
    fn keys_are_in_the_order_of_ids_positions_and_chunks() {
        let mut keys = Vec::new();
        for session in ["A", "a", "a-b", "a.b", "a0", "aa", "b"] {
            keys.push(prefix(&id(session)));
            for seq in [1, 2, 255, 256, u64::MAX] {
                for chunk in [0, 1, 255, 256] {
                    let key = key(&id(session), Seq(seq), chunk);
                    assert_eq!(parse_key(&key), Some((id(session), Seq(seq), chunk)));
                    keys.push(key);
                }
            }
            keys.push(after_session(&id(session)));
        }
        assert!(keys.is_sorted());
        assert_eq!(parse_key(STORE_KEY), None);
        assert!(STORE_KEY < prefix(&id("0")).as_slice());
    }

    fn writing(format: Format, text: &[u8]) -> Writing<'_> {
        Writing {
            format,
            place: (0, 1),
            link: Link::genesis(&id("s")).then(text),
            summary: None,
            text,
        }
    }

    fn summary() -> Summary {
        Summary {
            last: Seq(7),
            changed: windlass_core::Timestamp(1_700_000_000_000),
            tenant: Some("acme".into()),
            turning: true,
            waiting: 3,
        }
    }

    #[test]
    fn rows_are_put_together_again_at_every_size_around_a_chunk() {
        for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, MAX_FACT_BYTES] {
            let text = vec![b'x'; len];
            let summary = summary();
            let writing = Writing {
                summary: Some(&summary),
                ..writing(Format::Now, &text)
            };
            let rows = rows(&id("s"), Seq(7), writing);
            let most = CHUNK + HEADER + 2 + note::MOST;
            assert!(rows.iter().all(|(_, value)| value.len() <= most));
            let parsed = parse(&rows[0].1).unwrap();
            let (header, note) = (parsed.header, parsed.note);
            assert_eq!(note::decode(note, Seq(7)).unwrap().as_ref(), Some(&summary));
            assert_eq!(header.chunks(), rows.len());
            let mut whole = parsed.text.to_vec();
            rows[1..].iter().for_each(|(_, part)| whole.extend(part));
            assert!(check(&id("s"), Seq(7), &header, note, &whole));
            assert!(!check(&id("s"), Seq(8), &header, note, &whole));
            assert!(!check(&id("t"), Seq(7), &header, note, &whole));
        }
    }

    #[test]
    fn no_flipped_bit_in_a_row_passes() {
        let summary = summary();
        let text = b"{\"v\":1}";
        let now = Writing {
            summary: Some(&summary),
            ..writing(Format::Now, text)
        };
        for writing in [writing(Format::Old, text), now] {
            let sound = rows(&id("s"), Seq(1), writing);
            for bit in 0..sound[0].1.len() * 8 {
                let mut value = sound[0].1.clone();
                value[bit / 8] ^= 1 << (bit % 8);
                let passes = parse(&value)
                    .is_ok_and(|it| check(&id("s"), Seq(1), &it.header, it.note, it.text));
                assert!(!passes, "bit {bit}");
            }
        }
    }
}
