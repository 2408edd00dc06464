//! Tools files: refused in words, or bounded and with different names.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_localfs::fuzzing::tools_file(data));
