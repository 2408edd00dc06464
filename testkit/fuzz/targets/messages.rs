//! The decoder of Messages: the same answer however the bytes are cut.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_anthropic::fuzzing::messages(data));
