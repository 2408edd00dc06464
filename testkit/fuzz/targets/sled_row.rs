//! Keys and rows of `sled`: round trip, and no flipped bit passes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_sled::fuzzing::row(data));
