//! Hooks files: refused in words, or bounded.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_hooks::fuzzing::hooks_file(data));
