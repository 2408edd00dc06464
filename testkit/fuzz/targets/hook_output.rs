//! What hooks say, at each event with each exit code: exit code 2 denies, a failure allows nothing.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_hooks::fuzzing::output(data));
