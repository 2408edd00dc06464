//! Entry points of fuzzers and of the tests over their seeds: properties of rows for any bytes.

use windlass_core::{Seq, SessionId, Timestamp};
use windlass_ports::{ChainLink, SessionSummary};

use crate::note;
use crate::record::{DecodedRecord, RecordDraft, check, key, parse, parse_key, rows};

/// Reads any bytes as a key and as a row, and writes them as a fact. The first two bytes choose a
/// bit to flip, which must be detected.
///
/// # Panics
/// When a property does not hold.
pub fn row(data: &[u8]) {
    if let Some((session, seq, chunk)) = parse_key(data) {
        assert_eq!(key(&session, seq, chunk), data);
    }
    let _ = note::decode(data, Seq(7));
    if let Ok(DecodedRecord { header, text, .. }) = parse(data) {
        assert!(header.index < header.count && text.len() < data.len());
        assert!(header.chunks() > 0);
    }
    let (Ok(session), [high, low, text @ ..]) = (SessionId::new("fuzz"), data) else {
        return;
    };
    let seq = Seq(7);
    let summary = SessionSummary {
        last: seq,
        changed_at: Timestamp(u64::from(*high)),
        tenant: std::str::from_utf8(text).ok().map(Into::into),
        turn_open: low % 2 == 0,
        waiting_inputs: u32::from(*low),
        bytes: (low % 3 == 0).then_some(u64::from(*high)),
    };
    let writing = RecordDraft {
        position: (1, 2),
        link: ChainLink::genesis(&session).next(text),
        summary: Some(&summary),
        text,
    };
    let written = rows(&session, seq, writing);
    assert!(reads(&session, seq, &written, text));
    let bit = usize::from(u16::from_be_bytes([*high, *low]));
    let mut flipped = written;
    let Some((_, first)) = flipped.first_mut() else {
        return;
    };
    let at = bit / 8 % first.len().max(1);
    if let Some(byte) = first.get_mut(at) {
        *byte ^= 1 << (bit % 8);
    }
    assert!(!reads(&session, seq, &flipped, text), "a flipped bit is noticed");
}

/// Returns true if rows read as this text.
fn reads(session: &SessionId, seq: Seq, rows: &[(Vec<u8>, Vec<u8>)], text: &[u8]) -> bool {
    let Some(((_, first), rest)) = rows.split_first() else {
        return false;
    };
    let Ok(DecodedRecord { header, note, text: begin }) = parse(first) else {
        return false;
    };
    let mut whole = begin.to_vec();
    for (_, more) in rest {
        whole.extend_from_slice(more);
    }
    header.chunks() == rows.len() && check(session, seq, &header, note, &whole) && whole == text
}
