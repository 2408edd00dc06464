//! Bodies of refusals: errors are bounded, escaped, and without the key.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_kit_http::fuzzing::error_body(data));
