//! Paths that a model writes. `fuzz/README.md` has what holds.

#![no_main]

use std::path::Path;
use std::sync::OnceLock;

/// A workspace with a link that leads out of it; gone with the process.
fn workspace() -> &'static Path {
    static PLACE: OnceLock<tempfile::TempDir> = OnceLock::new();
    PLACE
        .get_or_init(|| {
            let dir = tempfile::tempdir().expect("a folder for temporary files");
            let at = |name: &str| dir.path().join(name);
            std::fs::create_dir_all(at("a/b")).expect("folders");
            std::fs::write(at("a/file"), "text").expect("a file");
            std::os::unix::fs::symlink("a/b", at("in")).expect("a link");
            std::os::unix::fs::symlink("/", at("out")).expect("a link");
            std::os::unix::fs::symlink("loop", at("loop")).expect("a link");
            dir
        })
        .path()
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_localfs::fuzzing::path(workspace(), data));
