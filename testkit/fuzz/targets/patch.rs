//! Patches: refused with a line, or the same when written again.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_localfs::fuzzing::patch(data));
