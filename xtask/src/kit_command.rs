//! `cargo xtask laws` and its like: builds the kit as a release and runs it.

use crate::step::{cargo, step};

/// Runs a command of the kit; `arguments` go to it.
///
/// # Errors
/// When the kit does not build, or something that must hold does not.
pub(crate) fn run(command: &str, arguments: &[String]) -> anyhow::Result<()> {
    let program = ["--package", "xtask", "--no-default-features"];
    let program = program
        .into_iter()
        .chain(["--features", "kit", "--bin", "kit"]);
    step(
        command,
        cargo()
            .args(["run", "--release", "--quiet"])
            .args(program)
            .args(["--", command])
            .args(arguments),
    )
}
