//! This test program as a child process: the same binary, told by its environment what to do.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PLACE: &str = "WINDLASS_SLED_TEST_PLACE";

/// Where this process is to work as a child; `None` in the parent.
pub(crate) fn place() -> Option<PathBuf> {
    env::var_os(PLACE).map(PathBuf::from)
}

/// The arguments that make a test program run only `test`, with its output let through.
pub(crate) fn only(test: &str) -> [String; 4] {
    let flags = ["--exact", test, "--nocapture", "--test-threads=1"];
    flags.map(str::to_owned)
}

/// This program as a child that runs only `test`, at `place`.
pub(crate) fn command(program: &Path, test: &str, place: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(only(test)).env(PLACE, place);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// This program.
pub(crate) fn program() -> PathBuf {
    env::current_exe().unwrap()
}
