//! `cargo xtask crash`: the full crash sweep, with what it covered.

use clap::ValueEnum;

use crate::step::{cargo, step};

/// A store that is swept.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Store {
    File,
    Sled,
    Memory,
}

/// Runs the sweep over one store or all of them. The tests that do it are those of the command.
///
/// # Errors
/// When it does not build, or something is wrong with what a crash leaves.
pub(crate) fn run(store: Option<Store>) -> anyhow::Result<()> {
    let mut sweep = cargo();
    sweep
        .args(["test", "--quiet", "--package", "windlass-cli"])
        .args(["--test", "crash_sweep", "--", "--test-threads", "1"])
        .env("WINDLASS_CRASH", "full");
    let named = store.map(|store| match store {
        Store::File => "file",
        Store::Sled => "sled",
        Store::Memory => "memory",
    });
    sweep.args(named);
    step("crash", &mut sweep)
}
