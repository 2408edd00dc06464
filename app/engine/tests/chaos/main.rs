//! Chaos: many seeds, each a small world of users, models, tools and a store that all misbehave,
//! with processes that die at any moment; then a fair world, and the promises are checked.
//!
//! The world under test is the real driver. In most seeds time is paused: delays are virtual, and
//! a seed takes milliseconds. In the others the driver runs on several threads, and delays are a
//! number of yields: there the scheduler is part of the chaos. When a process dies there depends on
//! what has happened in it, not on how fast the machine is.
//!
//! `WINDLASS_CHAOS_SEED=n` runs one seed; `WINDLASS_CHAOS_SEEDS=n` runs so many.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::panic, reason = "a test fails by panicking")]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it says what happened, and how to see it again"
)]
#![allow(clippy::wildcard_enum_match_arm, reason = "it looks for a few kinds of fact in a log")]

mod check;
#[path = "../support/clock.rs"]
mod clock;
mod gates;
mod life;
mod luck;
mod model;
mod moments;
mod ports;
mod programs;
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

/// How many times as many seeds may be run, until enough has happened.
const MORE: u64 = 4;

fn run(time: Time, count: u64) {
    let mut tally = check::Tally::default();
    if let Some(seed) = number("WINDLASS_CHAOS_SEED") {
        return one(seed, time, &mut tally);
    }
    let count = number("WINDLASS_CHAOS_SEEDS").unwrap_or(count);
    // What a seed meets is chance, and on threads also the scheduler's choice: the seeds go on
    // until what must be met was met. Each of them is held to all promises.
    let mut seeds = 0;
    for seed in 0..count * MORE {
        if seed >= count && tally.lacking(time).is_empty() {
            break;
        }
        one(seed, time, &mut tally);
        seeds += 1;
    }
    println!("{seeds} seeds, {time:?}: {tally:?}");
    let lacking = tally.lacking(time);
    assert!(lacking.is_empty(), "too little happened: {lacking:#?}");
}

fn one(seed: u64, time: Time, tally: &mut check::Tally) {
    let world = World::new(seed, time);
    let errors = (time == Time::Virtual).then(Errors::catch);
    let lived = catch_unwind(AssertUnwindSafe(|| {
        life::live(&world);
        let errors = errors.as_ref().map(Errors::take);
        check::errors(&world, &errors.unwrap_or_default());
        check::all(&world, tally);
    }));
    if let Err(panic) = lived {
        eprintln!("WINDLASS_CHAOS_SEED={seed} ({time:?}) broke a promise; its logs:");
        eprintln!("{}", check::tell(&world));
        // Again: the logs are long, and a report may show no more than the end.
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let why = text.unwrap_or("a panic without words");
        eprintln!("WINDLASS_CHAOS_SEED={seed} ({time:?}) broke a promise: {why}");
        resume_unwind(panic);
    }
}

#[test]
fn in_virtual_time() {
    run(Time::Virtual, 100);
}

#[test]
fn on_several_threads() {
    run(Time::Threads, 60);
}
