//! Rows: the encoding of facts in the database. Pure.
//!
//! A fact has one row per [`CHUNK`] bytes of its text. The key is the session's id, a zero byte
//! (which no id has), the position and the chunk's number, both big-endian, so that rows are sorted
//! by session and position. Chunk 0 begins with the header and, in the last fact of an append, the
//! summary of the log.

use windlass_core::{Seq, SessionId};
use windlass_ports::{ChainLink, MAX_STORED_FACT_BYTES, SessionSummary};

use crate::note;

/// Bytes of text per row. A leaf of the database has up to 18 rows and must stay below a quarter of
/// a segment (2 MiB), or sled moves it to a file that is never synced.
pub(crate) const CHUNK: usize = 64 * 1024;

/// Key of the row that names the store. No session's key begins with a zero byte.
pub(crate) const STORE_KEY: &[u8] = b"\0store";
/// Key of the probe, before all records.
pub(crate) const PROBE_KEY: &[u8] = b"\0probe";

const HEADER: usize = 1 + 4 + 4 + 4 + 32 + 4;

/// First byte of each record.
const FORMAT: u8 = 2;

/// Header of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordHeader {
    /// Index of the fact in its append.
    pub(crate) index: u32,
    /// Number of facts in the append.
    pub(crate) count: u32,
    /// Bytes of the text.
    pub(crate) len: u32,
    /// Link of the fact.
    pub(crate) link: ChainLink,
    crc: u32,
}

impl RecordHeader {
    /// Number of rows of this fact.
    pub(crate) fn chunks(&self) -> usize {
        chunks_of(self.len as usize)
    }
}

/// A decoded record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DecodedRecord<'a> {
    pub(crate) header: RecordHeader,
    /// Encoded summary; empty if there is none.
    pub(crate) note: &'a [u8],
    /// First part of the text.
    pub(crate) text: &'a [u8],
}

/// A record to encode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordDraft<'a> {
    /// Index in the append, and the number of facts of the append.
    pub(crate) position: (u32, u32),
    pub(crate) link: ChainLink,
    /// Summary of the log, for the last fact of an append.
    pub(crate) summary: Option<&'a SessionSummary>,
    pub(crate) text: &'a [u8],
}

/// First part of a session's keys.
pub(crate) fn prefix(session: &SessionId) -> Vec<u8> {
    let mut key = Vec::with_capacity(session.as_str().len() + 11);
    key.extend_from_slice(session.as_str().as_bytes());
    key.push(0);
    key
}

/// Key of a chunk.
pub(crate) fn key(session: &SessionId, seq: Seq, chunk: u16) -> Vec<u8> {
    let mut key = prefix(session);
    key.extend_from_slice(&seq.0.to_be_bytes());
    key.extend_from_slice(&chunk.to_be_bytes());
    key
}

/// Key behind all keys of a session, before the next session's.
pub(crate) fn after_session(session: &SessionId) -> Vec<u8> {
    let mut key = session.as_str().as_bytes().to_vec();
    key.push(1);
    key
}

/// Decodes a key; returns `None` if it is no key of a chunk.
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

/// Encodes a fact as rows.
pub(crate) fn rows(
    session: &SessionId,
    seq: Seq,
    writing: RecordDraft<'_>,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let RecordDraft { position: (index, count), link, summary, text } = writing;
    let note = summary.map_or_else(Vec::new, note::encode);
    let mut header = RecordHeader {
        index,
        count,
        len: u32::try_from(text.len()).unwrap_or(u32::MAX),
        link,
        crc: 0,
    };
    header.crc = crc(session, seq, &header, &note, text);
    let (first, rest) = text.split_at(text.len().min(CHUNK));
    let mut value = Vec::with_capacity(HEADER + 2 + note.len() + first.len());
    value.push(FORMAT);
    value.extend_from_slice(&header.index.to_le_bytes());
    value.extend_from_slice(&header.count.to_le_bytes());
    value.extend_from_slice(&header.len.to_le_bytes());
    value.extend_from_slice(&header.link.0);
    value.extend_from_slice(&header.crc.to_le_bytes());
    let len = u16::try_from(note.len()).unwrap_or(u16::MAX);
    value.extend_from_slice(&len.to_le_bytes());
    value.extend_from_slice(&note);
    value.extend_from_slice(first);
    let mut rows = vec![(key(session, seq, 0), value)];
    for (chunk, part) in (1..).zip(rest.chunks(CHUNK)) {
        rows.push((key(session, seq, chunk), part.to_vec()));
    }
    rows
}

/// Decodes chunk 0.
pub(crate) fn parse(value: &[u8]) -> Result<DecodedRecord<'_>, String> {
    let short = || "a record is too short".to_owned();
    let (format, rest) = value.split_first().ok_or_else(short)?;
    if *format != FORMAT {
        return Err(format!("a record has format {format} and this store reads {FORMAT}"));
    }
    let (index, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let (count, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let (len, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let (link, rest) = rest.split_first_chunk::<32>().ok_or_else(short)?;
    let (crc, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let (note_len, rest) = rest.split_first_chunk::<2>().ok_or_else(short)?;
    let note_len = usize::from(u16::from_le_bytes(*note_len));
    let (note, text) = rest.split_at_checked(note_len).ok_or_else(short)?;
    let header = RecordHeader {
        index: u32::from_le_bytes(*index),
        count: u32::from_le_bytes(*count),
        len: u32::from_le_bytes(*len),
        link: ChainLink(*link),
        crc: u32::from_le_bytes(*crc),
    };
    if header.len as usize > MAX_STORED_FACT_BYTES || header.index >= header.count {
        return Err("a record's header makes no sense".to_owned());
    }
    Ok(DecodedRecord { header, note, text })
}

/// Checks the checksum of a record.
pub(crate) fn check(
    session: &SessionId,
    seq: Seq,
    header: &RecordHeader,
    note: &[u8],
    text: &[u8],
) -> bool {
    text.len() == header.len as usize && crc(session, seq, header, note, text) == header.crc
}

fn chunks_of(len: usize) -> usize {
    len.div_ceil(CHUNK).max(1)
}

fn crc(session: &SessionId, seq: Seq, header: &RecordHeader, note: &[u8], text: &[u8]) -> u32 {
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

    fn writing(text: &[u8]) -> RecordDraft<'_> {
        RecordDraft {
            position: (0, 1),
            link: ChainLink::genesis(&id("s")).next(text),
            summary: None,
            text,
        }
    }

    fn summary() -> SessionSummary {
        SessionSummary {
            last: Seq(7),
            changed_at: windlass_core::Timestamp(1_700_000_000_000),
            tenant: Some("acme".into()),
            turn_open: true,
            waiting_inputs: 3,
            bytes: None,
        }
    }

    #[test]
    fn rows_are_put_together_again_at_every_size_around_a_chunk() {
        for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, MAX_STORED_FACT_BYTES] {
            let text = vec![b'x'; len];
            let summary = summary();
            let writing = RecordDraft { summary: Some(&summary), ..writing(&text) };
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
        let now = RecordDraft { summary: Some(&summary), ..writing(text) };
        for writing in [writing(text), now] {
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
