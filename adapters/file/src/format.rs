//! The format of a segment, as pure functions on bytes. The README describes it.

mod compression;

use std::borrow::Cow;
use std::collections::HashMap;

use sha2::{Digest as _, Sha256};
use windlass_core::{Seq, SessionId};
use windlass_kit_log::Hasher;
use windlass_ports::{ChainLink, SessionSummary};

use crate::bytes::{ByteReader, put_summary, put_text};

pub(crate) use compression::find as find_facts;

/// Version of the format that this adapter writes, and the newest that it reads.
pub(crate) const FORMAT: u32 = 3;
/// Oldest version that this adapter reads. Its units are not compressed.
const OLDEST: u32 = 2;
/// Bytes of a segment before its first unit.
pub(crate) const FIRST: u64 = 64;
/// Bytes of a unit before its content.
pub(crate) const HEAD: usize = 60;
/// Bytes of a unit behind its content.
pub(crate) const TAIL: usize = 12;
/// Fewest bytes of a unit: one fact of two bytes with its line end and padding.
pub(crate) const LEAST_UNIT: usize = HEAD + 4 + TAIL;
/// Most bytes of a unit, and of its facts with their line ends.
pub(crate) const MOST_UNIT: usize = 160 * 1024 * 1024;
/// Most facts of a unit.
pub(crate) const MOST_FACTS: usize = COUNT as usize;

const MAGIC: &str = "windlass-segment";
const COUNT: u32 = 0x00ff_ffff;
const OPENING: u32 = 0x0100_0000;
const FIRST_OF_GROUP: u32 = 0x0200_0000;
/// Position of the group's number in its word, and the number of values before it wraps.
const SERIES: u32 = 26;
pub(crate) const MOST_SERIES: u8 = 64;
/// Mask that marks the first word of an erased unit. It is one word, so that no disk writes half of
/// it.
const ERASED: u32 = 0x4572_6173;

/// A segment: its lane and its number. The first bytes of the file repeat them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SegmentId {
    /// Lane of the segment.
    pub(crate) writer: u16,
    /// Number of the segment in its lane.
    pub(crate) number: u32,
}

/// Key of a session: the first 8 bytes of a SHA-256 of its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SessionKey(pub(crate) u64);

/// A map by session key.
pub(crate) type KeyMap<T> = HashMap<SessionKey, T, Hasher>;

impl SessionKey {
    pub(crate) fn of(session: &SessionId) -> Self {
        let hash = Sha256::new()
            .chain_update(b"windlass-session ")
            .chain_update(session.as_str())
            .finalize();
        let mut key = [0; 8];
        for (to, from) in key.iter_mut().zip(hash) {
            *to = from;
        }
        Self(u64::from_le_bytes(key))
    }

    /// Half of the key that a unit repeats at its end.
    pub(crate) fn half(self) -> u32 {
        (self.0 & u64::from(u32::MAX)) as u32
    }
}

/// A group of units that were made durable together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CommitGroup {
    /// True for the first unit of the group.
    pub(crate) first: bool,
    /// Number of the group, modulo [`MOST_SERIES`].
    pub(crate) series: u8,
}

/// Head of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnitHeader {
    /// Bytes of the whole unit.
    pub(crate) len: u32,
    /// Key of the session.
    pub(crate) key: SessionKey,
    /// Position of the first fact.
    pub(crate) first: Seq,
    /// Number of facts.
    pub(crate) count: u32,
    /// True if an opening precedes the facts.
    pub(crate) opening: bool,
    /// Group of the unit.
    pub(crate) group: CommitGroup,
    /// True if the unit was erased.
    pub(crate) erased: bool,
    /// Link of the last fact.
    pub(crate) link: ChainLink,
    /// First word of the unit if it is not erased: the checksum of its location and the rest of the
    /// head.
    crc: u32,
}

impl UnitHeader {
    /// Position of the last fact.
    pub(crate) fn last(&self) -> Seq {
        Seq(self.first.0 + u64::from(self.count) - 1)
    }

    /// First word of the unit once it is erased.
    pub(crate) fn erased_word(&self) -> [u8; 4] {
        (self.crc ^ ERASED).to_le_bytes()
    }
}

/// Opening of a session's first unit in a segment: enough to continue the log without earlier
/// segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionOpening {
    /// Id of the session.
    pub(crate) id: SessionId,
    /// Link of the position before.
    pub(crate) link: ChainLink,
    /// Summary of the log before.
    pub(crate) summary: Option<SessionSummary>,
}

/// A unit to encode.
pub(crate) struct UnitDraft<'a> {
    pub(crate) key: SessionKey,
    pub(crate) first: Seq,
    pub(crate) link: ChainLink,
    pub(crate) opening: Option<SessionOpening>,
    pub(crate) group: CommitGroup,
    pub(crate) texts: &'a [Vec<u8>],
}

/// Result of reading the first bytes of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SegmentHeader {
    /// The expected segment.
    Ours,
    /// The expected segment, in an older format.
    Older,
    /// Written by a newer engine, in this format.
    Newer(u32),
    /// Another segment, or none at all.
    Other(String),
}

/// Encodes the first bytes of a segment: a line, padded with zeros.
pub(crate) fn segment_header(place: SegmentId) -> Vec<u8> {
    header_of(FORMAT, place)
}

fn header_of(format: u32, place: SegmentId) -> Vec<u8> {
    let text = format!("{MAGIC} {format} {:04x} {:08x}", place.writer, place.number);
    let crc = crc32c::crc32c(text.as_bytes());
    let mut head = format!("{text} {crc:08x}\n").into_bytes();
    head.resize(FIRST as usize, 0);
    head
}

/// Reads the first bytes of a segment.
pub(crate) fn read_segment_header(place: SegmentId, bytes: &[u8]) -> SegmentHeader {
    if bytes.starts_with(&segment_header(place)) {
        return SegmentHeader::Ours;
    }
    if (OLDEST..FORMAT).any(|format| bytes.starts_with(&header_of(format, place))) {
        return SegmentHeader::Older;
    }
    let other = |what: &str| SegmentHeader::Other(what.to_owned());
    let end = bytes.iter().take(FIRST as usize).position(|byte| *byte == b'\n');
    let line = end.and_then(|end| std::str::from_utf8(bytes.get(..end)?).ok());
    let Some((text, crc)) = line.and_then(|line| line.rsplit_once(' ')) else {
        return other("its first bytes are not those of a segment");
    };
    if crc != format!("{:08x}", crc32c::crc32c(text.as_bytes())) {
        return other("its first bytes are not those of a segment");
    }
    let mut words = text.split(' ');
    match (words.next(), words.next().map(str::parse::<u32>)) {
        (Some(MAGIC), Some(Ok(version))) if version > FORMAT => SegmentHeader::Newer(version),
        _ => SegmentHeader::Other(format!("the file says that it is another one, \"{text}\"")),
    }
}

/// Appends a unit for `offset` of the segment to `out`. Returns its length, or `None` if it is too
/// large.
pub(crate) fn encode_unit(
    out: &mut Vec<u8>,
    place: SegmentId,
    offset: u64,
    draft: &UnitDraft<'_>,
) -> Option<u32> {
    let start = out.len();
    let size: usize = draft.texts.iter().map(|text| text.len() + 1).sum();
    if size > MOST_UNIT || draft.texts.len() > MOST_FACTS {
        return None;
    }
    out.reserve(HEAD + size + TAIL + 3);
    out.resize(start + HEAD, 0);
    if let Some(opening) = &draft.opening {
        encode_opening(out, opening);
    }
    let facts = out.len();
    for text in draft.texts {
        out.extend_from_slice(text);
        out.push(b'\n');
    }
    compression::compress(out, start, facts);
    out.resize(start + (out.len() - start).next_multiple_of(4), 0);
    let len = u32::try_from(out.len() - start + TAIL).ok()?;
    let mut flags = u32::try_from(draft.texts.len()).ok()?;
    flags |= if draft.opening.is_some() { OPENING } else { 0 };
    flags |= if draft.group.first { FIRST_OF_GROUP } else { 0 };
    flags |= u32::from(draft.group.series % MOST_SERIES) << SERIES;
    let head = encode_header(place, offset, len, draft.key, draft.first, flags, &draft.link);
    let crc = ByteReader(&head).u32()?;
    out.get_mut(start..start + HEAD)?.copy_from_slice(&head);
    let held = out.get(start + HEAD..)?;
    let tail = crc32c::crc32c_append(crc, held);
    out.extend_from_slice(&tail.to_le_bytes());
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&draft.key.half().to_le_bytes());
    Some(len)
}

fn encode_header(
    place: SegmentId,
    offset: u64,
    len: u32,
    key: SessionKey,
    first: Seq,
    flags: u32,
    link: &ChainLink,
) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    let fields: [&[u8]; 6] = [
        &[0; 4],
        &len.to_le_bytes(),
        &key.0.to_le_bytes(),
        &first.0.to_le_bytes(),
        &flags.to_le_bytes(),
        &link.0,
    ];
    put(&mut head, &fields);
    let crc = header_crc(place, offset, &head);
    put(&mut head, &[&crc.to_le_bytes()]);
    head
}

/// Encodes the head of an erased unit, or returns `None` if no unit can have this length or offset.
pub(crate) fn erased_header(
    place: SegmentId,
    offset: u64,
    key: SessionKey,
    first: Seq,
    len: u64,
) -> Option<[u8; HEAD]> {
    let size = u32::try_from(len).ok()?;
    let mut bytes =
        encode_header(place, offset, size, key, first, 1, &ChainLink([0; ChainLink::BYTES]));
    let head = read_header(place, offset, &bytes).filter(|_| offset.is_multiple_of(4))?;
    for (to, from) in bytes.iter_mut().zip(head.erased_word()) {
        *to = from;
    }
    Some(bytes)
}

fn encode_opening(out: &mut Vec<u8>, opening: &SessionOpening) {
    let mut block = Vec::with_capacity(64);
    put_text(&mut block, opening.id.as_str());
    block.extend_from_slice(&opening.link.0);
    put_summary(&mut block, opening.summary.as_ref());
    let len = u32::try_from(block.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&block);
}

/// Copies fields one after another to the front of `to`.
fn put(to: &mut [u8], fields: &[&[u8]]) {
    let mut rest = to;
    for field in fields {
        let Some((at, behind)) = rest.split_at_mut_checked(field.len()) else {
            return;
        };
        at.copy_from_slice(field);
        rest = behind;
    }
}

/// Checksum of a head. It covers the location, so that a copy elsewhere is invalid.
fn header_crc(place: SegmentId, offset: u64, head: &[u8]) -> u32 {
    let mut at = [0; 14];
    let fields: [&[u8]; 3] =
        [&place.writer.to_le_bytes(), &place.number.to_le_bytes(), &offset.to_le_bytes()];
    put(&mut at, &fields);
    let fields = head.get(4..HEAD).unwrap_or_default();
    crc32c::crc32c_append(crc32c::crc32c(&at), fields)
}

/// Reads the head of the unit at `offset`; returns `None` if there is none.
pub(crate) fn read_header(place: SegmentId, offset: u64, bytes: &[u8]) -> Option<UnitHeader> {
    let bytes = bytes.get(..HEAD)?;
    let mut taker = ByteReader(bytes);
    let word = taker.u32()?;
    let len = taker.u32()?;
    // Most of what is no head is found out without its checksum.
    let size = len as usize;
    if !(LEAST_UNIT..=MOST_UNIT + HEAD + TAIL).contains(&size) || !size.is_multiple_of(4) {
        return None;
    }
    let crc = header_crc(place, offset, bytes);
    let erased = word == crc ^ ERASED;
    if word != crc && !erased {
        return None;
    }
    let key = SessionKey(taker.u64()?);
    let first = Seq(taker.u64()?);
    let flags = taker.u32()?;
    let link = taker.link()?;
    let count = flags & COUNT;
    let sound = count > 0 && first.0 > 0 && first.0.checked_add(u64::from(count)).is_some();
    sound.then_some(UnitHeader {
        len,
        key,
        first,
        count,
        opening: flags & OPENING != 0,
        group: CommitGroup {
            first: flags & FIRST_OF_GROUP != 0,
            series: u8::try_from(flags >> SERIES).unwrap_or_default(),
        },
        erased,
        link,
        crc,
    })
}

/// Content of a sound unit.
#[derive(Debug)]
pub(crate) struct UnitContent<'a> {
    /// Opening of the unit, if it has one.
    pub(crate) opening: Option<SessionOpening>,
    /// Text forms of the facts, a line each.
    lines: Cow<'a, [u8]>,
    count: usize,
}

impl UnitContent<'_> {
    /// Encoded texts of the facts.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &[u8]> {
        let mut from = 0;
        memchr::memchr_iter(b'\n', &self.lines).take(self.count).filter_map(move |end| {
            let text = self.lines.get(from..end);
            from = end + 1;
            text
        })
    }
}

/// Checks the checksum of a unit's content.
pub(crate) fn is_sound(head: &UnitHeader, unit: &[u8]) -> bool {
    let size = head.len as usize;
    let (Some(held), Some(tail)) = (unit.get(HEAD..size - TAIL), unit.get(size - TAIL..size))
    else {
        return false;
    };
    let mut taker = ByteReader(tail);
    let crc = crc32c::crc32c_append(head.crc, held);
    taker.u32() == Some(crc)
        && taker.u32() == Some(head.len)
        && taker.u32() == Some(head.key.half())
}

/// Reads the opening of a unit and its length.
pub(crate) fn read_opening(unit: &[u8]) -> Option<(SessionOpening, usize)> {
    let mut taker = ByteReader(unit.get(HEAD..)?);
    let len = taker.u32()? as usize;
    let mut taker = ByteReader(taker.bytes(len)?);
    let opening = SessionOpening {
        id: SessionId::new(taker.text()?).ok()?,
        link: taker.link()?,
        summary: taker.summary()?,
    };
    Some((opening, HEAD + 4 + len))
}

/// Reads the content of a unit; returns `None` if its checksum fails.
pub(crate) fn read_unit_content<'a>(head: &UnitHeader, unit: &'a [u8]) -> Option<UnitContent<'a>> {
    if head.erased || !is_sound(head, unit) {
        return None;
    }
    let (opening, from) = match head.opening {
        true => read_opening(unit).map(|(opening, from)| (Some(opening), from))?,
        false => (None, HEAD),
    };
    let mut lines = compression::decompress(unit.get(from..head.len as usize - TAIL)?)?;
    let count = head.count as usize;
    let end = memchr::memchr_iter(b'\n', &lines).nth(count.checked_sub(1)?)? + 1;
    let filling = lines.get(end..)?;
    if filling.len() >= 4 || filling.iter().any(|byte| *byte != 0) {
        return None;
    }
    match &mut lines {
        Cow::Borrowed(lines) => *lines = lines.get(..end)?,
        Cow::Owned(lines) => lines.truncate(end),
    }
    Some(UnitContent { opening, lines, count })
}

/// Reads the key half of the unit that ends with `bytes` and whose head is damaged.
pub(crate) fn half_at_the_end(bytes: &[u8]) -> Option<u32> {
    let tail = bytes.get(bytes.len().checked_sub(TAIL)?..)?;
    let mut taker = ByteReader(tail);
    let _crc = taker.u32()?;
    let len = taker.u32()?;
    (len as usize == bytes.len()).then(|| taker.u32()).flatten()
}

#[cfg(test)]
mod tests;
