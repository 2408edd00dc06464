//! `ports::codec`: what reads is written and read as the same.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_ports::fuzzing::envelope(data));
