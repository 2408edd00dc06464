//! What a fuzzer holds against any bytes, held against the seeds and changed copies of them.

use windlass_testkit::corpus::over;

/// How many changed copies of each seed are made.
const COPIES: u64 = 300;

#[test]
fn gemini() {
    over(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testkit/fuzz/corpus/gemini"),
        COPIES,
        windlass_gemini::fuzzing::gemini,
    );
}
