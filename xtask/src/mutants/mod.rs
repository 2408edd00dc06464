//! `cargo xtask mutants`: shows that each law kills a mutation of the core that no other law kills;
//! with `--general`, that the tests kill every mutation that cargo-mutants makes.
//!
//! Both work on copies of the tree below the target folder, which are kept, so that a further run
//! builds only what changed.

mod data;
mod each;
mod general;
mod list;
mod programs;
mod switch;
mod tree;
mod trial;

use std::num::NonZeroUsize;
use std::thread;

use clap::Args;

/// Which mutations.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The mutations that cargo-mutants makes of the core, in the place of those of the laws.
    #[arg(long)]
    general: bool,
    /// How many of these are looked at at the same time; without it one for each processor.
    #[arg(long, requires = "general")]
    jobs: Option<NonZeroUsize>,
    /// Only the mutations of this law; may be given more than once.
    #[arg(long, conflicts_with = "general")]
    law: Vec<u8>,
    /// How many random worlds, facts and streams each mutation of a law has to live through.
    #[arg(long, default_value_t = 300, conflicts_with = "general")]
    worlds: u64,
    /// Handed to cargo-mutants, for example `-f core/src/gate/mod.rs` or `--shard 0/8`.
    #[arg(last = true, requires = "general")]
    arguments: Vec<String>,
}

/// Runs the mutations.
///
/// # Errors
/// When one is not killed as it should be, or it cannot be found out.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    if options.general {
        let processors = thread::available_parallelism().ok();
        let jobs = options.jobs.or(processors).map_or(1, NonZeroUsize::get);
        general::run(&options.arguments, jobs)
    } else {
        trial::run(&options.law, options.worlds)
    }
}
