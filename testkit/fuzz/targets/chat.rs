//! The decoder of Chat Completions: the same answer however the bytes are cut.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_openai::fuzzing::chat(data));
