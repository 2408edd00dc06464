//! Names of sessions and blobs: each is one file name, and no path.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_ports::fuzzing::cursor(data));
