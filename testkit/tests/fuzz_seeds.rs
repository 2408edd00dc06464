//! What a fuzzer holds against any bytes, held against the seeds and changed copies of them.

use windlass_testkit::corpus::over;

/// How many changed copies of each seed are made.
const COPIES: u64 = 300;

#[test]
fn envelope() {
    over(
        concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/envelope"),
        COPIES,
        windlass_ports::fuzzing::envelope,
    );
}

#[test]
fn cursor() {
    over(
        concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/cursor"),
        COPIES,
        windlass_ports::fuzzing::cursor,
    );
}
