//! What a fuzzer holds against any bytes, held against the seeds and changed copies of them.

use windlass_testkit::corpus::over;

/// How many changed copies of each seed are made.
const COPIES: u64 = 300;

#[test]
fn sse() {
    over(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testkit/fuzz/corpus/sse"),
        COPIES,
        windlass_kit_http::fuzzing::sse,
    );
}

#[test]
fn error_body() {
    over(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testkit/fuzz/corpus/error_body"),
        COPIES,
        windlass_kit_http::fuzzing::error_body,
    );
}
