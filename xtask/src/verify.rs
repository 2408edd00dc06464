//! `cargo xtask verify`: all checks that a change must pass before it is merged.

use crate::own::Own;
use crate::{test, tidy};
use xtask::step::{cargo, step};

/// Checks format, the project's own rules, lints, features, the search, tests, documentation and packages, in that
/// order.
///
/// # Errors
/// The first step that fails.
pub(crate) fn run() -> anyhow::Result<()> {
    step("format", cargo().args(["fmt", "--all", "--check"]))?;
    tidy::run()?;
    let lints =
        ["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];
    step("lints", cargo().args(lints))?;
    // Everything else builds all features; here each crate with features builds with few and none.
    for (package, features) in [
        ("windlass-cli", "--no-default-features"),
        ("windlass-cli", "--quiet"),
        ("windlass", "--no-default-features"),
    ] {
        let mut check = cargo();
        check.args(["clippy", "--package", package, features, "--", "-D", "warnings"]);
        step("features", &mut check)?;
    }
    // The search of the bounded worlds, whole: the tests have a small one.
    Own::Kit.command("explore", &["--jobs".to_owned(), "2".to_owned()])?;
    test::run(&test::Options::default())?;
    step(
        "documentation",
        cargo()
            .args(["doc", "--workspace", "--all-features", "--no-deps", "--lib"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    // Each crate builds from its package alone, against the packages of the others.
    let package = ["package", "--workspace", "--allow-dirty", "--exclude-lockfile"];
    step("packages", cargo().args(package))
}
