//! `cargo xtask mutants`: shows that each law kills a mutation of the core that no other law kills;
//! with `--general`, that the tests kill every mutation that cargo-mutants makes. With `--newcomer` it walks
//! the way of a newcomer: `cargo xtask newcomer`.
//!
//! The first two work on copies of the tree below the target folder, which are kept, so that a further run
//! builds only what changed.

mod data;
mod each;
mod general;
mod list;
mod newcomer;
mod programs;
mod switch;
mod tree;
mod trial;

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::thread;

use clap::Parser;
use xtask::say::complain;

/// Show that each law kills a mutation of the core that no other law kills.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask mutants", bin_name = "cargo xtask mutants")]
struct Options {
    /// Use the mutations that cargo-mutants makes of the core instead of those of the laws.
    #[arg(long)]
    general: bool,
    /// Build a newcomer's crate, and seed defects in its store and its provider.
    #[arg(long, conflicts_with_all = ["general", "law"])]
    newcomer: bool,
    /// Number of mutations that are tested at the same time [default: one for each processor].
    #[arg(long, requires = "general")]
    jobs: Option<NonZeroUsize>,
    /// Test only the mutations of this law; can be repeated.
    #[arg(long, conflicts_with = "general")]
    law: Vec<u8>,
    /// Number of random worlds, facts and streams for each mutation of a law.
    #[arg(long, default_value_t = 300, conflicts_with = "general")]
    worlds: u64,
    /// Arguments for cargo-mutants, for example `-f core/src/gate/mod.rs` or `--shard 0/8`.
    #[arg(last = true, requires = "general")]
    arguments: Vec<String>,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(format_args!("mutants: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> anyhow::Result<()> {
    if options.newcomer {
        newcomer::run()
    } else if options.general {
        let processors = thread::available_parallelism().ok();
        let jobs = options.jobs.or(processors).map_or(1, NonZeroUsize::get);
        general::run(&options.arguments, jobs)
    } else {
        trial::run(&options.law, options.worlds)
    }
}
