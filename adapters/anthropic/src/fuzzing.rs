//! Entry points for the fuzzer and for the tests over its seeds: properties of the decoder that
//! hold for any bytes.

use windlass_kit_http::fuzzing::decoder;

use crate::decode::MessagesDecoder;

/// An answer of Messages is the same however it is cut.
///
/// # Panics
/// When a property does not hold.
pub fn messages(data: &[u8]) {
    decoder(|| MessagesDecoder::new("http://host/v1", "m"), data);
}
