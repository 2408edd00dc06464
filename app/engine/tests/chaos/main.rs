//! Chaos: many seeds, each a small world of users, models, tools and a store that all misbehave,
//! with processes that die at any moment; then a fair world, and the promises are checked.
//!
//! The world under test is the real driver. In most seeds time is paused: delays are virtual, and
//! a seed takes milliseconds. In the others the driver runs on several threads, and delays are a
//! number of yields: there the scheduler is part of the chaos.
//!
//! `WINDLASS_CHAOS_SEED=n` runs one seed; `WINDLASS_CHAOS_SEEDS=n` runs so many.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::panic, reason = "a test fails by panicking")]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it says what happened, and how to see it again"
)]
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "it looks for a few kinds of fact in a log"
)]

mod check;
#[path = "../support/clock.rs"]
mod clock;
mod gates;
mod life;
mod luck;
mod model;
mod moments;
mod ports;
mod runs;
mod tools;
mod user;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use windlass_testkit::Errors;
use world::{Time, World};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn run(time: Time, count: u64) {
    let seeds = match number("WINDLASS_CHAOS_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("WINDLASS_CHAOS_SEEDS").unwrap_or(count),
    };
    let mut tally = check::Tally::default();
    for seed in seeds {
        let world = World::new(seed, time);
        let errors = (time == Time::Virtual).then(Errors::catch);
        let lived = catch_unwind(AssertUnwindSafe(|| {
            life::live(&world);
            let errors = errors.as_ref().map(Errors::take);
            check::errors(&world, &errors.unwrap_or_default());
            check::all(&world, &mut tally);
        }));
        if let Err(panic) = lived {
            eprintln!("WINDLASS_CHAOS_SEED={seed} ({time:?}) broke a promise; its logs:");
            eprintln!("{}", check::tell(&world));
            resume_unwind(panic);
        }
    }
    println!("{tally:?}");
    if number("WINDLASS_CHAOS_SEED").is_none() {
        tally.assert_that_much_happened(time);
    }
}

#[test]
fn in_virtual_time() {
    run(Time::Virtual, 160);
}

#[test]
fn on_several_threads() {
    run(Time::Threads, 60);
}
