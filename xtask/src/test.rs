//! `cargo xtask test`: all tests, on a machine that has nothing but cargo.
//!
//! The tests run under cargo-nextest, which gives each test a process of its own: tests here kill
//! processes and fill disks. Where it is missing, the version named below is built once, below
//! the target folder, so that nothing outside the checkout changes.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::step::{cargo, root, step};
use xtask::say::say;

/// The version of cargo-nextest that is built where there is none.
const NEXTEST: &str = "0.9.143";

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
    step("tests", tests.args(arguments))
}

/// The command that is cargo-nextest, built first where it is missing.
///
/// # Errors
/// When it is missing and cannot be built.
pub(crate) fn nextest() -> anyhow::Result<Command> {
    let present = cargo()
        .args(["nextest", "--version"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if present {
        return Ok(cargo());
    }
    let tools = target()?.join("tools");
    let program = tools.join("bin").join("cargo-nextest");
    if !program.exists() {
        say(format_args!(
            "cargo-nextest is not installed: building {NEXTEST} in {} (once, some minutes)",
            tools.display()
        ));
        // Unoptimised: it builds in a third of the time, and waits for tests most of its life.
        let mut install = cargo();
        install.args(["install", "cargo-nextest", "--locked", "--debug"]);
        install.args(["--version", NEXTEST, "--root"]).arg(&tools);
        step("install cargo-nextest", &mut install)
            .context("install cargo-nextest by hand, or run `cargo test --workspace` instead")?;
    }
    let mut command = Command::new(program);
    command.current_dir(root());
    Ok(command)
}

/// The folder that cargo builds into.
fn target() -> anyhow::Result<PathBuf> {
    let output = cargo()
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .context("asking cargo for the target folder")?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)
        .context("asking cargo for the target folder: the answer is not JSON")?;
    let folder = metadata
        .get("target_directory")
        .and_then(|folder| folder.as_str());
    Ok(PathBuf::from(
        folder.context("cargo metadata names no target folder")?,
    ))
}
