//! `cargo xtask test`: all tests, on a machine that has nothing but cargo.
//!
//! The tests run under cargo-nextest, which gives each test a process of its own: tests here kill
//! processes and fill disks.

use std::process::Command;

use crate::servers::{Servers, Size};
use crate::step::{cargo, step};
use crate::tools::Tool;

const NEXTEST: Tool = Tool {
    name: "cargo-nextest",
    version: "0.9.143",
    pinned: false,
    instead: "install cargo-nextest by hand, or run `cargo test --workspace` instead",
};

/// Runs the examples in the documentation, then all tests; `arguments` go to nextest and leave
/// the examples out. The summary comes last.
///
/// # Errors
/// The first step that fails.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    if arguments.is_empty() {
        step(
            "examples",
            cargo().args(["test", "--workspace", "--doc", "--quiet"]),
        )?;
    }
    let mut tests = nextest()?;
    tests.arg("nextest").arg("run");
    if arguments.is_empty() {
        tests.arg("--workspace");
    }
    let servers = Servers::start(None, Size::One)?;
    servers.tell(&mut tests);
    step("tests", tests.args(arguments))
}

/// The command that is cargo-nextest, built first where it is missing.
///
/// # Errors
/// When it is missing and cannot be built.
pub(crate) fn nextest() -> anyhow::Result<Command> {
    NEXTEST.command()
}
