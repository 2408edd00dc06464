//! What a fuzzer holds against any bytes, held against the seeds and changed copies of them.

use windlass_testkit::corpus::over;

/// How many changed copies of each seed are made.
const COPIES: u64 = 300;

#[test]
fn sse() {
    over(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/sse"),
        COPIES,
        windlass_wire::fuzzing::sse,
    );
}

#[test]
fn error_body() {
    over(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/error_body"),
        COPIES,
        windlass_wire::fuzzing::error_body,
    );
}
