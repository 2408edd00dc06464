//! `cargo xtask fix`: applies the fixes that tools suggest.

use xtask::step::{cargo, step};

/// Applies clippy's own fixes, then formats.
///
/// # Errors
/// The first step that fails.
pub(crate) fn run() -> anyhow::Result<()> {
    let lints = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--fix",
        "--allow-dirty",
        "--allow-staged",
    ];
    step("lints", cargo().args(lints))?;
    step("format", cargo().args(["fmt", "--all"]))
}
