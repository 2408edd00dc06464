//! Entry points for the fuzzer and for the tests over its seeds: properties of the reader that hold
//! for any bytes.

use crate::cassette::{self, Cassette};

/// A cassette that reads is the same when it is written and read again, torn or not.
///
/// # Panics
/// When a property does not hold.
pub fn cassette(data: &[u8]) {
    let Ok(read) = Cassette::parse(data) else {
        return;
    };
    assert_eq!(read.whole_bytes + read.torn_bytes, data.len());
    let mut written = cassette::head().unwrap_or_default();
    for exchange in &read.exchanges {
        written.extend(cassette::exchange(exchange).unwrap_or_default());
    }
    let whole = written.len();
    written.extend_from_slice(b"{\"n\":");
    let again = Cassette::parse(&written).ok();
    let exchanges = again.as_ref().map(|again| &again.exchanges);
    assert_eq!(exchanges, Some(&read.exchanges));
    assert_eq!(again.map(|again| again.whole_bytes), Some(whole));
}
