//! The programs that tests of the page need, as `cargo xtask test` names them.

use std::env;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Node, or a word on standard error that the test is skipped.
pub(crate) fn node() -> Option<Command> {
    let program = named("WINDLASS_TEST_NODE")?;
    let mut node = Command::new(program);
    node.stdin(Stdio::null()).stderr(Stdio::inherit());
    // The runner of a test that runs in one already would take this for a part of itself.
    node.env_remove("NODE_TEST_CONTEXT");
    Some(node)
}

fn named(variable: &str) -> Option<String> {
    let found = env::var(variable).ok();
    if found.is_none() {
        // Not by a macro: the runner would keep it to itself where the test passes.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: {variable} names no program: run this test by `cargo xtask test`, or install \
             what `cargo xtask servers` says is missing"
        );
    }
    found
}
