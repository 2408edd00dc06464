//! The log reader of `file`: a cut log is torn, a changed byte is noticed, no other body is read.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_file::fuzzing::log(data));
