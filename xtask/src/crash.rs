//! `cargo xtask crash`: the full crash sweep, with what it covered.

use clap::ValueEnum;

use xtask::step::{cargo, step};

/// Store that the sweep runs over.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Store {
    File,
    Sled,
    Sqlite,
    Memory,
}

/// Runs the full sweep of the command's tests over one store or all of them.
///
/// # Errors
/// When it does not build, or a crash leaves a state that breaks a promise.
pub(crate) fn run(store: Option<Store>) -> anyhow::Result<()> {
    let mut sweep = cargo();
    sweep
        .args(["test", "--quiet", "--package", "windlass-cli", "--features", "full"])
        .args(["--test", "crash_sweep", "--", "--test-threads", "1"])
        .env("WINDLASS_CRASH", "full");
    let named = store.map(|store| match store {
        Store::File => "file",
        Store::Sled => "sled",
        Store::Sqlite => "sqlite",
        Store::Memory => "memory",
    });
    sweep.args(named);
    step("crash", &mut sweep)
}
