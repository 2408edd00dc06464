//! The segment scan of `file`: a cut segment is torn, a changed byte hurts no other session.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_file::fuzzing::segment(data));
