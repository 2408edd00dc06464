//! A statement of the witness, and its entry in the witness's file. Pure.

use windlass_core::{Seq, SessionId};
use windlass_ports::Link;

/// The bytes of an entry: the id's length and bytes, the position, the link, a checksum.
pub(crate) const ENTRY: usize = 1 + 64 + 8 + 32 + 4;

/// A number that a store draws when it is made.
pub(crate) type StoreId = [u8; 16];

/// Where a session's log ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) session: SessionId,
    pub(crate) seq: Seq,
    pub(crate) link: Link,
}

/// Puts a statement's entry behind `to`.
pub(crate) fn encode(id: &StoreId, statement: &Statement, to: &mut Vec<u8>) {
    let from = to.len();
    let session = statement.session.as_str().as_bytes();
    let mut padded = [0; 64];
    padded
        .iter_mut()
        .zip(session)
        .for_each(|(to, from)| *to = *from);
    to.push(u8::try_from(session.len()).unwrap_or(u8::MAX));
    to.extend_from_slice(&padded);
    to.extend_from_slice(&statement.seq.0.to_le_bytes());
    to.extend_from_slice(&statement.link.0);
    let crc = to
        .get(from..)
        .map(|entry| crc(id, entry))
        .unwrap_or_default();
    to.extend_from_slice(&crc.to_le_bytes());
}

/// The statement of an entry; `None` when it is not whole, or another store's.
pub(crate) fn decode(id: &StoreId, entry: &[u8]) -> Option<Statement> {
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
    Some(Statement {
        session: SessionId::new(session).ok()?,
        seq: Seq(u64::from_le_bytes(*seq)),
        link: Link(link.try_into().ok()?),
    })
}

/// The store's number goes in, so that an entry of another store's witness is none.
fn crc(id: &StoreId, covered: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(id), covered)
}
