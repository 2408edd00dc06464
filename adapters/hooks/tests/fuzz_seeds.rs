//! What a fuzzer holds against any bytes, held against the seeds and changed copies of them.

use windlass_testkit::corpus::over;

/// How many changed copies of each seed are made.
const COPIES: u64 = 300;

#[test]
fn hook_output() {
    over(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testkit/fuzz/corpus/hook_output"),
        COPIES,
        windlass_hooks::fuzzing::output,
    );
}

#[test]
fn hooks_file() {
    over(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testkit/fuzz/corpus/hooks_file"),
        COPIES,
        windlass_hooks::fuzzing::hooks_file,
    );
}
