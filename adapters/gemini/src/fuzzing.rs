//! Entry point for the fuzzer and for the tests over its seeds: properties of the decoder that hold
//! for any bytes.

use windlass_kit_http::fuzzing::decoder;

use crate::decode::GeminiDecoder;

/// An answer of Gemini is the same however it is cut.
///
/// # Panics
/// When a property does not hold.
pub fn gemini(data: &[u8]) {
    decoder(|| GeminiDecoder::new("http://host/v1beta", "m"), data);
}
