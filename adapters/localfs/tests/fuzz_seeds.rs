//! What a fuzzer holds against any bytes, held against the seeds and changed copies of them.

#![allow(clippy::unwrap_used, reason = "a test may stop")]

use std::os::unix::fs::symlink;

use windlass_testkit::corpus::over;

/// How many changed copies of each seed are made.
const COPIES: u64 = 300;

#[test]
fn patch() {
    over(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testkit/fuzz/corpus/patch"),
        COPIES,
        windlass_localfs::fuzzing::patch,
    );
}

#[test]
fn tools_file() {
    over(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testkit/fuzz/corpus/tools_file"),
        COPIES,
        windlass_localfs::fuzzing::tools_file,
    );
}

#[test]
fn path() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::create_dir_all(at("a/b")).unwrap();
    std::fs::write(at("a/file"), "text").unwrap();
    symlink("a/b", at("in")).unwrap();
    symlink("/", at("out")).unwrap();
    symlink("loop", at("loop")).unwrap();
    let held = |data: &[u8]| windlass_localfs::fuzzing::path(dir.path(), data);
    over(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testkit/fuzz/corpus/path"), COPIES, held);
}
