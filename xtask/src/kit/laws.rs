//! `kit laws`: the laws, in random worlds.

use std::time::Instant;

use anyhow::{Context as _, anyhow};
use clap::Args;
use proptest::strategy::Strategy as _;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use windlass_testkit::world::{Machine, check_all, random};

use crate::say::{complain, say};

/// How long to look.
#[derive(Debug, Args)]
pub(super) struct Plan {
    /// How many worlds.
    #[arg(long, default_value_t = 4_000)]
    worlds: u64,
    /// Steps of a world at most.
    #[arg(long, default_value_t = 60)]
    steps: usize,
}

/// Checks the laws in random worlds. Answers whether all held.
///
/// # Errors
/// When a world cannot be made.
pub(super) fn run(plan: &Plan) -> anyhow::Result<bool> {
    let started = Instant::now();
    let seed = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), seed);
    let strategy = random::script(plan.steps);
    let mut facts = 0;
    for number in 0..plan.worlds {
        let tree = strategy
            .new_tree(&mut runner)
            .map_err(|reason| anyhow!("{reason}"));
        let script = tree.context("making a world")?.current();
        match check_all(Machine::CORE, &script) {
            Ok(world) => facts += world.log().len(),
            Err(broken) => {
                complain(format_args!(
                    "world {number}: {broken}\nin the world{script:?}"
                ));
                return Ok(false);
            }
        }
    }
    let took = started.elapsed().as_secs_f64();
    let worlds = plan.worlds;
    say(format_args!(
        "{worlds} worlds, {facts} facts: all laws held, {took:.2} s"
    ));
    Ok(true)
}
