//! An entry of the head index file. Pure.

use windlass_core::{Seq, SessionId};
use windlass_ports::ChainLink;

/// Bytes of an entry: length and bytes of the id, position, link, checksum.
pub(crate) const ENTRY: usize = 1 + 64 + 8 + 32 + 4;

/// A random id that a store gets when it is created.
pub(crate) type StoreId = [u8; 16];

/// End of a session's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeadEntry {
    pub(crate) session: SessionId,
    pub(crate) seq: Seq,
    pub(crate) link: ChainLink,
}

/// Appends the encoded entry to `to`.
pub(crate) fn encode(id: &StoreId, statement: &HeadEntry, to: &mut Vec<u8>) {
    let from = to.len();
    let session = statement.session.as_str().as_bytes();
    let mut padded = [0; 64];
    padded.iter_mut().zip(session).for_each(|(to, from)| *to = *from);
    to.push(u8::try_from(session.len()).unwrap_or(u8::MAX));
    to.extend_from_slice(&padded);
    to.extend_from_slice(&statement.seq.0.to_le_bytes());
    to.extend_from_slice(&statement.link.0);
    let crc = to.get(from..).map(|entry| crc(id, entry)).unwrap_or_default();
    to.extend_from_slice(&crc.to_le_bytes());
}

/// Decodes an entry; returns `None` if it is damaged or of another store.
pub(crate) fn decode(id: &StoreId, entry: &[u8]) -> Option<HeadEntry> {
    if entry.len() != ENTRY {
        return None;
    }
    let (covered, sum) = entry.split_last_chunk::<4>()?;
    if crc(id, covered) != u32::from_le_bytes(*sum) {
        return None;
    }
    let (len, rest) = covered.split_first()?;
    let (padded, rest) = rest.split_first_chunk::<64>()?;
    let (seq, link) = rest.split_first_chunk::<8>()?;
    let session = std::str::from_utf8(padded.get(..usize::from(*len))?).ok()?;
    Some(HeadEntry {
        session: SessionId::new(session).ok()?,
        seq: Seq(u64::from_le_bytes(*seq)),
        link: ChainLink(link.try_into().ok()?),
    })
}

/// Checksum of an entry. It covers the store id, so that an entry of another store is invalid.
fn crc(id: &StoreId, covered: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(id), covered)
}
