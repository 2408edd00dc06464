//! `cargo xtask fix`: mends what a machine can mend.

use crate::step::{cargo, step};

/// Applies clippy's own fixes, then formats.
///
/// # Errors
/// The first step that fails.
pub(crate) fn run() -> anyhow::Result<()> {
    let lints = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--fix",
        "--allow-dirty",
        "--allow-staged",
    ];
    step("lints", cargo().args(lints))?;
    step("format", cargo().args(["fmt", "--all"]))
}
