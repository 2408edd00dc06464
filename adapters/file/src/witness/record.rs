//! The encoding of a witness file, as pure functions on bytes. The README describes it.

use windlass_core::{Seq, SessionId};
use windlass_ports::{ChainLink, SessionSummary};

use crate::bytes::{ByteReader, put_summary};
use crate::format::SegmentId;

/// Bytes between the two statements. Each has a disk sector of its own, so that no torn write
/// damages both.
pub(crate) const SLOT: usize = 512;
/// Bytes before the first head.
pub(crate) const HEADS: usize = 2 * SLOT;

const MAGIC: &[u8; 8] = b"wlwitns1";
/// Version of the summaries in heads. Logs whose summary has another one are folded again.
const SUMMARY: u8 = 1;
/// Bit of a head's first byte: a summary follows the link. Ids have fewer bytes.
const SUMMARIZED: u8 = 0x80;
/// Bytes of a head without its id and its summary.
const BARE_HEAD: usize = 1 + 8 + ChainLink::BYTES + 4;
/// Bytes of a statement.
pub(crate) const STATEMENT: usize = 8 + 8 + 8 + 8 + 8 + 1 + 16 + ChainLink::BYTES + 4;

/// Identity of a boot of the machine; all zeros if it is unknown.
pub(crate) type Boot = [u8; 16];

/// State of the segment when the statement was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SegmentState {
    /// A process appends to it.
    Open,
    /// Its writer was closed; no append followed.
    Closed,
    /// No append follows: the end is the final size of the file.
    Sealed,
}

/// A statement about a segment. Each was true when it was written, and an older one stays true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Statement {
    /// Number of the statement; the highest is the newest.
    pub(crate) number: u64,
    /// End of the durable units.
    pub(crate) end: u64,
    /// Link of the last of them.
    pub(crate) link: ChainLink,
    /// Offset up to which the heads include all units.
    pub(crate) heads_end: u64,
    /// Bytes of all heads.
    pub(crate) heads_bytes: u64,
    pub(crate) state: SegmentState,
    /// Boot of the machine in which it was written.
    pub(crate) boot: Boot,
}

/// End of a session's facts in a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WitnessedHead {
    pub(crate) id: SessionId,
    pub(crate) last: Seq,
    pub(crate) link: ChainLink,
    /// Summary of the log up to the last position, if it is known.
    pub(crate) summary: Option<SessionSummary>,
}

/// Encodes a statement.
pub(crate) fn encode_statement(segment: SegmentId, statement: &Statement) -> Vec<u8> {
    let mut out = Vec::with_capacity(STATEMENT);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&statement.number.to_le_bytes());
    out.extend_from_slice(&statement.end.to_le_bytes());
    out.extend_from_slice(&statement.heads_end.to_le_bytes());
    out.extend_from_slice(&statement.heads_bytes.to_le_bytes());
    out.push(match statement.state {
        SegmentState::Open => 0,
        SegmentState::Closed => 1,
        SegmentState::Sealed => 2,
    });
    out.extend_from_slice(&statement.boot);
    out.extend_from_slice(&statement.link.0);
    let crc = checksum(segment, &out);
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

/// Decodes the newest valid statement of a file's first bytes.
pub(crate) fn newest_statement(segment: SegmentId, bytes: &[u8]) -> Option<Statement> {
    let slots = [bytes, bytes.get(SLOT..).unwrap_or_default()];
    let statements = slots.into_iter().filter_map(|slot| decode_statement(segment, slot));
    statements.max_by_key(|statement| statement.number)
}

fn decode_statement(segment: SegmentId, bytes: &[u8]) -> Option<Statement> {
    let (held, crc) = bytes.get(..STATEMENT)?.split_last_chunk::<4>()?;
    if u32::from_le_bytes(*crc) != checksum(segment, held) {
        return None;
    }
    let mut reader = ByteReader(held);
    if reader.array() != Some(*MAGIC) {
        return None;
    }
    let (number, end) = (reader.u64()?, reader.u64()?);
    let (heads_end, heads_bytes) = (reader.u64()?, reader.u64()?);
    let state = match reader.array()? {
        [0] => SegmentState::Open,
        [1] => SegmentState::Closed,
        [2] => SegmentState::Sealed,
        [_] => return None,
    };
    let (boot, link) = (reader.array()?, reader.link()?);
    Some(Statement { number, end, link, heads_end, heads_bytes, state, boot })
}

/// Appends an encoded head to `out`.
pub(crate) fn encode_head(segment: SegmentId, head: &WitnessedHead, out: &mut Vec<u8>) {
    let from = out.len();
    let id = head.id.as_str().as_bytes();
    let summary = encode_summary(head);
    let flag = if summary.is_some() { SUMMARIZED } else { 0 };
    out.push(u8::try_from(id.len()).unwrap_or(u8::MAX) | flag);
    out.extend_from_slice(id);
    out.extend_from_slice(&head.last.0.to_le_bytes());
    out.extend_from_slice(&head.link.0);
    if let Some((len, summary)) = summary {
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(&summary);
    }
    let crc = checksum(segment, out.get(from..).unwrap_or_default());
    out.extend_from_slice(&crc.to_le_bytes());
}

/// Encodes the summary of a head with its version. One that is too long is left out.
fn encode_summary(head: &WitnessedHead) -> Option<(u16, Vec<u8>)> {
    let summary = head.summary.as_ref()?;
    let mut out = vec![SUMMARY];
    put_summary(&mut out, Some(summary));
    Some((u16::try_from(out.len()).ok()?, out))
}

fn decode_summary(bytes: &[u8], last: Seq) -> Option<SessionSummary> {
    let mut reader = ByteReader(bytes);
    let [version] = reader.array()?;
    let summary = if version == SUMMARY { reader.summary()? } else { None };
    summary.filter(|summary| summary.last == last)
}

/// Calls `take` with the offset, the length and the content of each head up to the first that does
/// not read. A removed head has no content. Returns the number of bytes that were read.
pub(crate) fn each_head(
    segment: SegmentId,
    bytes: &[u8],
    mut take: impl FnMut(usize, usize, Option<WitnessedHead>),
) -> usize {
    let mut at = 0;
    while let Some((len, head)) = bytes.get(at..).and_then(|rest| decode_head(segment, rest)) {
        take(at, len, head);
        at += len;
    }
    at
}

fn decode_head(segment: SegmentId, bytes: &[u8]) -> Option<(usize, Option<WitnessedHead>)> {
    let mut reader = ByteReader(bytes);
    let [first] = reader.array()?;
    let id = reader.bytes(usize::from(first & !SUMMARIZED))?;
    let (last, link) = (Seq(reader.u64()?), reader.link()?);
    let summary = match first & SUMMARIZED {
        0 => None,
        _ => {
            let len = reader.u16()?;
            Some(reader.bytes(usize::from(len))?)
        }
    };
    let len = bytes.len() - reader.0.len();
    if reader.u32()? != checksum(segment, bytes.get(..len)?) {
        return None;
    }
    let id = std::str::from_utf8(id).ok().and_then(|id| SessionId::new(id).ok());
    let summary = summary.and_then(|summary| decode_summary(summary, last));
    Some((len + 4, id.map(|id| WitnessedHead { id, last, link, summary })))
}

/// Encodes a removed head of `len` bytes.
pub(crate) fn removed_head(segment: SegmentId, len: usize) -> Vec<u8> {
    let rest = len.saturating_sub(BARE_HEAD);
    let mut out = vec![0; len.saturating_sub(4)];
    match u8::try_from(rest) {
        Ok(id) if id < SUMMARIZED => out.iter_mut().take(1).for_each(|first| *first = id),
        // Too long for an id: all of it is a summary.
        Ok(_) | Err(_) => {
            out.iter_mut().take(1).for_each(|first| *first = SUMMARIZED);
            let summary = u16::try_from(rest.saturating_sub(2)).unwrap_or(u16::MAX).to_le_bytes();
            let at = 1 + 8 + ChainLink::BYTES;
            out.iter_mut().skip(at).zip(summary).for_each(|(to, from)| *to = from);
        }
    }
    let crc = checksum(segment, &out);
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

/// Checksum that covers the segment too, so that a witness of another one is invalid.
fn checksum(segment: SegmentId, covered: &[u8]) -> u32 {
    let crc = crc32c::crc32c(&segment.writer.to_le_bytes());
    let crc = crc32c::crc32c_append(crc, &segment.number.to_le_bytes());
    crc32c::crc32c_append(crc, covered)
}

#[cfg(test)]
mod tests {
    use windlass_core::Timestamp;

    use super::*;

    const SEGMENT: SegmentId = SegmentId { writer: 3, number: 9 };

    fn statement(number: u64) -> Statement {
        Statement {
            number,
            end: 4_096,
            link: ChainLink([7; 32]),
            heads_end: 4_000,
            heads_bytes: 99,
            state: SegmentState::Closed,
            boot: [5; 16],
        }
    }

    fn head(id: &str, last: u64) -> WitnessedHead {
        let (id, link) = (SessionId::new(id).unwrap(), ChainLink([1; 32]));
        WitnessedHead { id, last: Seq(last), link, summary: None }
    }

    fn summarized(id: &str, last: u64, tenant: &str) -> WitnessedHead {
        let summary = SessionSummary {
            last: Seq(last),
            changed_at: Timestamp(7),
            tenant: Some(tenant.into()),
            turn_open: true,
            waiting_inputs: 2,
            bytes: Some(300),
        };
        WitnessedHead { summary: Some(summary), ..head(id, last) }
    }

    #[test]
    fn the_newest_statement_counts_and_a_changed_one_does_not() {
        let mut bytes = vec![0; HEADS];
        for (number, at) in [(4, 0), (5, SLOT)] {
            let encoded = encode_statement(SEGMENT, &statement(number));
            assert_eq!(encoded.len(), STATEMENT);
            bytes[at..at + STATEMENT].copy_from_slice(&encoded);
        }
        assert_eq!(newest_statement(SEGMENT, &bytes), Some(statement(5)));
        for bit in 0..STATEMENT * 8 {
            let mut changed = bytes.clone();
            changed[SLOT + bit / 8] ^= 1 << (bit % 8);
            assert_eq!(newest_statement(SEGMENT, &changed), Some(statement(4)), "bit {bit}");
        }
        let other = SegmentId { writer: 3, number: 8 };
        assert_eq!(newest_statement(other, &bytes), None);
        for len in 0..STATEMENT {
            assert_eq!(newest_statement(SEGMENT, &bytes[..len]), None);
        }
    }

    #[test]
    fn heads_read_up_to_the_first_that_is_changed() {
        let long = summarized(&"x".repeat(64), 9, &"t".repeat(99));
        let all = [head("a", 3), long, summarized("a", 5, "t"), head(&"y".repeat(64), 1)];
        let mut bytes = Vec::new();
        all.iter().for_each(|head| encode_head(SEGMENT, head, &mut bytes));
        let read = |bytes: &[u8]| {
            let mut read = Vec::new();
            let used = each_head(SEGMENT, bytes, |_, _, head| read.push(head));
            (used, read)
        };
        assert_eq!(read(&bytes), (bytes.len(), all.iter().cloned().map(Some).collect()));
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let (used, heads) = read(&changed);
            assert!(used <= bit / 8 && heads.len() < all.len(), "bit {bit}");
            assert!(heads.iter().zip(&all).all(|(read, head)| read.as_ref() == Some(head)));
        }
        let mut at = Vec::new();
        each_head(SEGMENT, &bytes, |offset, len, _| at.push((offset, len)));
        for (offset, len) in at {
            bytes[offset..offset + len].copy_from_slice(&removed_head(SEGMENT, len));
        }
        assert_eq!(read(&bytes), (bytes.len(), vec![None; 4]));
        assert!(!bytes.windows(2).any(|pair| pair == b"tt" || pair == b"xx"));
    }

    #[test]
    fn a_summary_of_another_version_or_position_is_unknown() {
        let whole = summarized("a", 5, "t");
        let mut bytes = Vec::new();
        encode_head(SEGMENT, &whole, &mut bytes);
        let version = 1 + 1 + 8 + ChainLink::BYTES + 2;
        assert_eq!(bytes[version], SUMMARY);
        bytes[version] += 1;
        let (held, crc) = bytes.split_last_chunk_mut::<4>().unwrap();
        *crc = checksum(SEGMENT, held).to_le_bytes();
        let mut other = whole.clone();
        other.last = Seq(6);
        let at = bytes.len();
        encode_head(SEGMENT, &other, &mut bytes);
        let mut read = Vec::new();
        each_head(SEGMENT, &bytes, |from, _, head| read.push((from, head.unwrap())));
        let bare = |head: WitnessedHead| WitnessedHead { summary: None, ..head };
        assert_eq!(read, [(0, bare(whole)), (at, bare(other))]);
    }
}
