//! The decoder of Gemini: the same answer however the bytes are cut.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_gemini::fuzzing::gemini(data));
