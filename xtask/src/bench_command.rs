//! `cargo xtask bench`: builds the measuring program as a release and runs it.

use crate::step::{cargo, step};

/// Measures; `arguments` go to the measuring program.
///
/// # Errors
/// When the program does not build, or a target is missed.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let program = ["--package", "xtask", "--bin", "bench"];
    step("build", cargo().args(["build", "--release"]).args(program))?;
    step(
        "bench",
        cargo()
            .args(["run", "--release", "--quiet"])
            .args(program)
            .arg("--")
            .args(arguments),
    )
}
