//! The event-stream parser: the same events however the bytes are cut, within caps and beyond.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_kit_http::fuzzing::sse(data));
