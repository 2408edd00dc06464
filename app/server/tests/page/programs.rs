//! The programs that tests of the page need, as `cargo xtask test` names them.

use std::env;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// What drives a browser.
pub(crate) struct Browser {
    pub(crate) node: String,
    pub(crate) chromium: String,
    /// The folder `node_modules` with Playwright in it.
    pub(crate) modules: String,
}

/// A browser, or a word on standard error that the test is skipped.
pub(crate) fn browser() -> Option<Browser> {
    Some(Browser {
        node: named("WINDLASS_TEST_NODE")?,
        chromium: named("WINDLASS_TEST_CHROMIUM")?,
        modules: named("WINDLASS_TEST_PLAYWRIGHT")?,
    })
}

/// Node, or a word on standard error that the test is skipped.
pub(crate) fn node() -> Option<Command> {
    let mut node = Command::new(named("WINDLASS_TEST_NODE")?);
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
