//! Rows: how a fact lies in the database. Pure.
//!
//! A fact is one row for each [`CHUNK`] bytes of its text form. The key is the session's id, a
//! zero byte (which no id has), the position and the chunk's number, both big-endian: so rows are
//! in the order of ids and positions. Chunk 0 begins with the header. The link is the SHA-256 of
//! the link before (of 32 zero bytes for the first fact) and the text form.

use sha2::{Digest, Sha256};
use windlass_core::{Seq, SessionId};

/// A leaf of the database has up to 18 rows and must stay below a quarter of a segment
/// (2 MiB), else it is moved to a file of its own, which nobody syncs.
pub(crate) const CHUNK: usize = 64 * 1024;

/// The largest fact in its text form.
pub(crate) const MAX_FACT_BYTES: usize = 16 * 1024 * 1024;

/// The row that names the store. No session's key begins with a zero byte.
pub(crate) const STORE_KEY: &[u8] = b"\0store";

const FORMAT: u8 = 1;
const HEADER: usize = 1 + 4 + 4 + 4 + 32 + 4;

/// The hash of a log up to and with a fact.
pub(crate) type Link = [u8; 32];

/// The link before the first fact.
pub(crate) const GENESIS: Link = [0; 32];

/// What is written before a fact's text form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
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

/// The link of a fact whose text form is `text`.
pub(crate) fn link(before: &Link, text: &[u8]) -> Link {
    let mut hash = Sha256::new();
    hash.update(before);
    hash.update(text);
    hash.finalize().into()
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
pub(crate) fn rows(
    session: &SessionId,
    seq: Seq,
    (index, count): (u32, u32),
    link: Link,
    text: &[u8],
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut header = Header {
        index,
        count,
        len: u32::try_from(text.len()).unwrap_or(u32::MAX),
        link,
        crc: 0,
    };
    header.crc = crc(session, seq, &header, text);
    let (first, rest) = text.split_at(text.len().min(CHUNK));
    let mut value = Vec::with_capacity(HEADER + first.len());
    value.push(FORMAT);
    value.extend_from_slice(&header.index.to_le_bytes());
    value.extend_from_slice(&header.count.to_le_bytes());
    value.extend_from_slice(&header.len.to_le_bytes());
    value.extend_from_slice(&header.link);
    value.extend_from_slice(&header.crc.to_le_bytes());
    value.extend_from_slice(first);
    let mut rows = vec![(key(session, seq, 0), value)];
    for (chunk, part) in (1..).zip(rest.chunks(CHUNK)) {
        rows.push((key(session, seq, chunk), part.to_vec()));
    }
    rows
}

/// Takes chunk 0 apart: the header and the first part of the text form.
pub(crate) fn parse(value: &[u8]) -> Result<(Header, &[u8]), String> {
    let short = || "a record is too short".to_owned();
    let (format, rest) = value.split_first().ok_or_else(short)?;
    if *format != FORMAT {
        return Err(format!(
            "a record has format {format} and this store reads {FORMAT}"
        ));
    }
    let (index, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let (count, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let (len, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let (link, rest) = rest.split_first_chunk::<32>().ok_or_else(short)?;
    let (crc, text) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let header = Header {
        index: u32::from_le_bytes(*index),
        count: u32::from_le_bytes(*count),
        len: u32::from_le_bytes(*len),
        link: *link,
        crc: u32::from_le_bytes(*crc),
    };
    if header.len as usize > MAX_FACT_BYTES || header.index >= header.count {
        return Err("a record's header makes no sense".to_owned());
    }
    Ok((header, text))
}

/// Whether a text form, put together, is the one that was written at this place.
pub(crate) fn check(session: &SessionId, seq: Seq, header: &Header, text: &[u8]) -> bool {
    text.len() == header.len as usize && crc(session, seq, header, text) == header.crc
}

fn chunks_of(len: usize) -> usize {
    len.div_ceil(CHUNK).max(1)
}

fn crc(session: &SessionId, seq: Seq, header: &Header, text: &[u8]) -> u32 {
    let mut crc = crc32c::crc32c(&key(session, seq, 0));
    for part in [header.index, header.count, header.len] {
        crc = crc32c::crc32c_append(crc, &part.to_le_bytes());
    }
    crc = crc32c::crc32c_append(crc, &header.link);
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

    #[test]
    fn rows_are_put_together_again_at_every_size_around_a_chunk() {
        for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, MAX_FACT_BYTES] {
            let text = vec![b'x'; len];
            let link = link(&GENESIS, &text);
            let rows = rows(&id("s"), Seq(7), (0, 1), link, &text);
            assert!(rows.iter().all(|(_, value)| value.len() <= CHUNK + HEADER));
            let (header, first) = parse(&rows[0].1).unwrap();
            assert_eq!(header.chunks(), rows.len());
            let mut whole = first.to_vec();
            rows[1..].iter().for_each(|(_, part)| whole.extend(part));
            assert!(check(&id("s"), Seq(7), &header, &whole));
            assert!(!check(&id("s"), Seq(8), &header, &whole));
            assert!(!check(&id("t"), Seq(7), &header, &whole));
        }
    }

    #[test]
    fn no_flipped_bit_in_a_row_passes() {
        let text = b"{\"v\":1}";
        let sound = rows(&id("s"), Seq(1), (0, 1), link(&GENESIS, text), text);
        for bit in 0..sound[0].1.len() * 8 {
            let mut value = sound[0].1.clone();
            value[bit / 8] ^= 1 << (bit % 8);
            let passes =
                parse(&value).is_ok_and(|(header, text)| check(&id("s"), Seq(1), &header, text));
            assert!(!passes, "bit {bit}");
        }
    }
}
