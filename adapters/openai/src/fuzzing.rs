//! Entry points for the fuzzer and for the tests over its seeds: properties of the decoders that
//! hold for any bytes.

use windlass_kit_http::fuzzing::{cuts, decoder};

use crate::config::Api;
use crate::decode::OpenAiDecoder;

/// Longest stream that is split at each byte.
const CUT_BYTES: usize = 256;

/// An answer of Chat Completions is the same however it is cut.
///
/// # Panics
/// When a property does not hold.
pub fn chat(data: &[u8]) {
    held(Api::Chat, data);
}

/// An answer of Responses is the same however it is cut.
///
/// # Panics
/// When a property does not hold.
pub fn responses(data: &[u8]) {
    held(Api::Responses, data);
}

fn held(api: Api, data: &[u8]) {
    // Those of OpenRouter keep the most.
    let events = || OpenAiDecoder::new(api, "https://openrouter.ai/api/v1", "m");
    decoder(events, data);
    let short = data.get(..CUT_BYTES).unwrap_or(data);
    cuts(events(), short, |_, _, _| {});
}
