//! The encoding of a summary in the last record of an append. Pure.

use windlass_core::{Seq, Timestamp};
use windlass_ports::SessionSummary;

/// Most bytes of an encoded summary. A longer one, due to the tenant's name, is computed from the
/// log.
pub(crate) const MOST: usize = 1024;

const TURNING: u8 = 1;
const TENANT: u8 = 2;
const BYTES: u8 = 4;

/// Encodes a summary; returns no bytes if it is too large.
pub(crate) fn encode(summary: &SessionSummary) -> Vec<u8> {
    let SessionSummary {
        last: _,
        changed_at: changed,
        tenant,
        turn_open: turning,
        waiting_inputs: waiting,
        bytes,
    } = summary;
    let turning = if *turning { TURNING } else { 0 };
    let of = if tenant.is_some() { TENANT } else { 0 };
    let counted = if bytes.is_some() { BYTES } else { 0 };
    let mut note = vec![turning | of | counted];
    note.extend_from_slice(&waiting.to_le_bytes());
    note.extend_from_slice(&changed.0.to_le_bytes());
    note.extend(bytes.iter().flat_map(|bytes| bytes.to_le_bytes()));
    note.extend_from_slice(tenant.as_deref().unwrap_or_default().as_bytes());
    if note.len() > MOST {
        note.clear();
    }
    note
}

/// Decodes the summary in the record of a position, if there is one.
pub(crate) fn decode(note: &[u8], last: Seq) -> Result<Option<SessionSummary>, String> {
    let bad = || format!("what the record at {last} says in short makes no sense");
    let Some((flags, rest)) = note.split_first() else {
        return Ok(None);
    };
    let (waiting, rest) = rest.split_first_chunk::<4>().ok_or_else(bad)?;
    let (changed, rest) = rest.split_first_chunk::<8>().ok_or_else(bad)?;
    let (bytes, tenant) = match flags & BYTES {
        0 => (None, rest),
        _ => rest
            .split_first_chunk::<8>()
            .map(|(bytes, rest)| (Some(*bytes), rest))
            .ok_or_else(bad)?,
    };
    let tenant = std::str::from_utf8(tenant).map_err(|_| bad())?;
    if flags & !(TURNING | TENANT | BYTES) != 0 || (flags & TENANT == 0 && !tenant.is_empty()) {
        return Err(bad());
    }
    Ok(Some(SessionSummary {
        last,
        changed_at: Timestamp(u64::from_le_bytes(*changed)),
        tenant: (flags & TENANT != 0).then(|| tenant.into()),
        turn_open: flags & TURNING != 0,
        waiting_inputs: u32::from_le_bytes(*waiting),
        bytes: bytes.map(u64::from_le_bytes),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(tenant: Option<&str>) -> SessionSummary {
        SessionSummary {
            last: Seq(3),
            changed_at: Timestamp(u64::MAX),
            tenant: tenant.map(Into::into),
            turn_open: false,
            waiting_inputs: u32::MAX,
            bytes: None,
        }
    }

    #[test]
    fn a_note_reads_as_it_is_written_and_is_never_too_large() {
        for tenant in [None, Some(""), Some("acme")] {
            for turning in [false, true] {
                for bytes in [None, Some(0), Some(u64::MAX)] {
                    let summary = SessionSummary { turn_open: turning, bytes, ..summary(tenant) };
                    let note = encode(&summary);
                    assert_eq!(decode(&note, Seq(3)).unwrap(), Some(summary));
                }
            }
        }
        assert_eq!(encode(&summary(Some(&"t".repeat(MOST)))).len(), 0);
        assert_eq!(decode(&[], Seq(3)).unwrap(), None);
    }

    #[test]
    fn what_is_no_note_is_refused() {
        for bad in [&[1][..], &[4; 13], &[0; 14], &[2; 5]] {
            assert!(decode(bad, Seq(1)).is_err(), "{bad:?}");
        }
    }
}
