//! `kit sim`: many sessions over a faulty log, from seeds.

use std::time::Instant;

use clap::Args;
use windlass_testkit::laws;
use windlass_testkit::sim::{Covered, Happening, Plan as Simulated, simulate};

use xtask::say::{complain, say};

/// Range of seeds to run.
#[derive(Debug, Args)]
pub(super) struct Plan {
    /// Number of seeds to run.
    #[arg(long, default_value_t = 2_000)]
    seeds: u64,
    /// The first seed; a failure prints the one that repeats it.
    #[arg(long, default_value_t = 0)]
    from: u64,
}

/// Seeds from which on each kind of fault must have occurred.
const LARGE: u64 = 1_000;

/// Runs the simulation for a range of seeds and says what it covered. Answers whether all held, and
/// whether a large run has left nothing out.
pub(super) fn run(plan: &Plan) -> bool {
    let started = Instant::now();
    let mut covered = Covered::default();
    for seed in (plan.from..=u64::MAX).take(usize::try_from(plan.seeds).unwrap_or(usize::MAX)) {
        match simulate(&Simulated::default(), laws::ALL, seed) {
            Ok(ran) => covered.add(&ran.covered),
            Err(failure) => {
                complain(format_args!("{failure}"));
                return false;
            }
        }
    }
    for happening in Happening::ALL {
        let times = covered.times(*happening);
        say(format_args!("{times:>10} {}", happening.words()));
    }
    for (kind, times) in covered.failures() {
        say(format_args!("{times:>10} of the samples that failed: {kind:?}"));
    }
    let (seeds, from) = (plan.seeds, plan.from);
    let took = started.elapsed().as_secs_f64();
    say(format_args!("{seeds} seeds from {from}: all laws and promises held, {took:.2} s"));
    let missing = covered.missing();
    if seeds < LARGE || missing.is_empty() {
        return true;
    }
    let missing = missing.join("; ");
    complain(format_args!("what never occurred, so that nothing is known of it: {missing}"));
    false
}
