//! `cargo xtask faults --store STORE`: fails or kills at every call of a store, under `run` and under
//! `serve` with watchers. One line a class of faults.

use clap::{Args, ValueEnum};

use crate::servers::{Servers, Size};
use xtask::say::say;
use xtask::step::{cargo, step};

/// Store that the sweep runs over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Store {
    File,
    Sled,
    Sqlite,
    Postgres,
    Nats,
}

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Sweep this store; all of them without it
    #[arg(long)]
    store: Option<Store>,
    /// Begin each class at this call
    #[arg(long, value_name = "N", default_value_t = 1)]
    from: u64,
    /// Strike at every so many calls; 1 for all of them
    #[arg(long, value_name = "N", default_value_t = 1)]
    every: u64,
}

impl Store {
    /// Name of its trials; a prefix of all of them.
    fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Sled => "sled",
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Nats => "nats",
        }
    }

    fn needs_server(self) -> bool {
        match self {
            Self::File | Self::Sled | Self::Sqlite => false,
            Self::Postgres | Self::Nats => true,
        }
    }
}

/// Sweeps one store or all. A store whose server is missing is skipped, by name.
///
/// # Errors
/// When it does not build, or a fault leaves something lost, done twice or stuck.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let stores = match options.store {
        Some(store) => vec![store],
        None => Store::value_variants().to_vec(),
    };
    let mut first = Ok(());
    for store in stores {
        let mut sweep = cargo();
        sweep
            .args(["test", "--quiet", "--package", "windlass-cli", "--features", "full"])
            .args(["--test", "fault_sweep", "--", "--test-threads", "1", "--nocapture"])
            .arg(format!("{}_", store.name()))
            .env("WINDLASS_FAULTS", "full")
            .env("WINDLASS_FAULTS_FROM", options.from.to_string())
            .env("WINDLASS_FAULTS_EVERY", options.every.to_string());
        let servers = match store.needs_server() {
            true => Servers::start(Some(store.name()), Size::One),
            false => Ok(Servers::none()),
        };
        match servers {
            Ok(servers) => {
                servers.tell(&mut sweep);
                let done = step(store.name(), &mut sweep);
                first = first.and(done);
            }
            Err(error) => say(format_args!("{}: SKIPPED, {error:#}", store.name())),
        }
    }
    first
}
