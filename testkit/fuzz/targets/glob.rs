//! File name patterns: as a plain matcher reads them.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_localfs::fuzzing::glob(data));
