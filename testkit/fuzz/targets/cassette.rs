//! Cassettes: what reads is written and read as the same.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_replay::fuzzing::cassette(data));
