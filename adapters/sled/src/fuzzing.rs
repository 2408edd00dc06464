//! What a fuzzer calls, and the tests over its seeds: properties of rows for any bytes.

use windlass_core::{Seq, SessionId};

use crate::record::{GENESIS, check, key, link, parse, parse_key, rows};

/// Any bytes are read as a key and as a row, and written as a fact, of which no flipped bit passes.
/// The first two bytes say which bit.
///
/// # Panics
/// When a property does not hold.
pub fn row(data: &[u8]) {
    if let Some((session, seq, chunk)) = parse_key(data) {
        assert_eq!(key(&session, seq, chunk), data);
    }
    if let Ok((header, text)) = parse(data) {
        assert!(header.index < header.count && text.len() < data.len());
        assert!(header.chunks() > 0);
    }
    let (Ok(session), [high, low, text @ ..]) = (SessionId::new("fuzz"), data) else {
        return;
    };
    let seq = Seq(7);
    let written = rows(&session, seq, (0, 2), link(&GENESIS, text), text);
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
    assert!(
        !reads(&session, seq, &flipped, text),
        "a flipped bit is noticed"
    );
}

/// Whether rows, put together, read as this text.
fn reads(session: &SessionId, seq: Seq, rows: &[(Vec<u8>, Vec<u8>)], text: &[u8]) -> bool {
    let Some(((_, first), rest)) = rows.split_first() else {
        return false;
    };
    let Ok((header, begin)) = parse(first) else {
        return false;
    };
    let mut whole = begin.to_vec();
    for (_, more) in rest {
        whole.extend_from_slice(more);
    }
    header.chunks() == rows.len() && check(session, seq, &header, &whole) && whole == text
}
