//! What a fuzzer calls, and the tests over its seeds: properties of the decoders for any bytes.

use windlass_wire::fuzzing::decoder;

use crate::config::Api;
use crate::decode::Events;

/// An answer of Chat Completions is the same however it is cut.
///
/// # Panics
/// When a property does not hold.
pub fn chat(data: &[u8]) {
    decoder(|| Events::new(Api::Chat, "http://host/v1", "m"), data);
}

/// An answer of Responses is the same however it is cut.
///
/// # Panics
/// When a property does not hold.
pub fn responses(data: &[u8]) {
    decoder(|| Events::new(Api::Responses, "http://host/v1", "m"), data);
}
