//! `cargo xtask verify`: everything that must hold before a change is taken in.

use crate::step::{cargo, step};
use crate::{test, tidy};

/// Checks format, lints, the project's own rules, tests and documentation, in that order.
///
/// # Errors
/// The first step that fails.
pub(crate) fn run() -> anyhow::Result<()> {
    step("format", cargo().args(["fmt", "--all", "--check"]))?;
    tidy::run()?;
    let lints = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    step("lints", cargo().args(lints))?;
    test::run(&[])?;
    step(
        "documentation",
        cargo()
            .args(["doc", "--workspace", "--no-deps", "--lib"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}
