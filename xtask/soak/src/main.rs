//! `cargo xtask soak`: one server for a long time, under random clients and faults.
//!
//! The program under test is this program in another role ([`program`]): `windlass serve` as it is, with
//! the kit's layer of faults over its store. Persons ([`visit`]) open sessions, use them at random
//! ([`actions`]) while others watch ([`watcher`]), bring them to rest, and hold them to what was promised
//! ([`judge`]). The conductor ends and starts the server, kills tools, erases old sessions, and measures.
//!
//! What each person and each fault does follows from the seed, which is printed. When it happens follows
//! from the machine too.

#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::panic,
        reason = "tests stop where they may"
    )
)]

mod actions;
mod conductor;
mod events;
mod http;
mod judge;
mod meter;
mod model;
mod program;
mod random;
mod report;
mod server;
mod tally;
mod tools;
mod visit;
mod watcher;
mod world;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use clap::Parser;
use mimalloc::MiMalloc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use xtask::say::{complain, say};

use crate::conductor::{Conductor, Pace};
use crate::report::Growth;
use crate::server::{Site, Store};
use crate::tally::read;
use crate::world::World;

/// The allocator of the program under test.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Longest time in which all sessions come to rest at the end.
const REST: Duration = Duration::from_secs(300);

/// Run a server under random clients and faults, and hold it to its promises
#[derive(Debug, Parser)]
#[command(name = "cargo xtask soak")]
struct Options {
    /// How long clients begin new work, in minutes; fractions are allowed
    #[arg(long, default_value_t = 60.0)]
    minutes: f64,
    /// Store of the server
    #[arg(long, value_enum, default_value = "file")]
    store: Store,
    /// Seed of all choices; a new one without it
    #[arg(long)]
    seed: Option<u64>,
    /// Persons at the same time
    #[arg(long, default_value_t = 6)]
    persons: u64,
}

fn main() -> ExitCode {
    if std::env::var_os(program::SERVED).is_some() {
        return program::run();
    }
    match soak(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            complain(format_args!("soak: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Returns true if all promises held.
fn soak(options: &Options) -> anyhow::Result<bool> {
    let length = Duration::try_from_secs_f64(options.minutes * 60.0).context("--minutes")?;
    let clock = || SystemTime::UNIX_EPOCH.elapsed().map_or(0, |now| u64::from(now.subsec_nanos()));
    let seed = options.seed.unwrap_or_else(clock);
    say(format_args!(
        "soak: {} minutes, store {}, {} persons, seed {seed}",
        options.minutes,
        options.store.name(),
        options.persons
    ));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime?.block_on(run(options, seed, length))
}

/// Times that fit the length: a short soak is the same in small.
fn pace(length: Duration) -> Pace {
    let second = Duration::from_secs(1);
    Pace {
        lives: ((length / 12).max(second), (length / 6).max(second * 2)),
        steady: length / 2,
        strikes: ((length / 200).min(second * 2), (length / 20).min(second * 8)),
        samples: (length / 100).clamp(second / 5, second * 5),
    }
}

async fn run(options: &Options, seed: u64, length: Duration) -> anyhow::Result<bool> {
    let tally = Arc::default();
    let model = model::start(seed, Arc::clone(&tally))?;
    let site = Site::new(options.store, model.base_url())?;
    let think = (length / 30).min(Duration::from_secs(2));
    let world = Arc::new(World::new(seed, tally, site.work(), think));
    let mut conductor = Conductor::new(world.clone(), &site, &model, pace(length)).await?;
    let mut persons = JoinSet::new();
    for which in 0..options.persons {
        persons.spawn(visit::person(world.clone(), which));
    }
    let all = async {
        sleep(length).await;
        world.end();
        let rested = timeout(REST, async { while persons.join_next().await.is_some() {} }).await;
        if rested.is_err() {
            world.tally.wrong("stuck: not all sessions came to rest".into());
        }
    };
    tokio::select! {
        () = all => {}
        broken = conductor.work() => broken?,
    }
    conductor.close().await?;
    for miss in model.misses() {
        world.tally.wrong(format!("the model: {miss}"));
    }
    let samples = std::mem::take(&mut conductor.samples);
    drop(conductor);
    let good = verdict(&world, options, &samples);
    if !good {
        say(format_args!("soak: its files are left in {}", site.keep().display()));
    }
    Ok(good)
}

/// Prints the results and returns true if all promises held.
fn verdict(world: &World, options: &Options, samples: &[meter::Sample]) -> bool {
    let (tally, growth) = (&world.tally, Growth::fit(samples));
    for words in growth.exceeds(options.minutes / 60.0, options.store.erases()) {
        tally.wrong(words);
    }
    let [outcomes, faults, actions] = tally.lines();
    say(format_args!("{outcomes}\n{faults}\n{actions}\n{growth}"));
    let wrong = tally.violations();
    let count = |kind: &str| wrong.iter().filter(|words| words.contains(kind)).count();
    say(format_args!(
        "soak: store {}, seed {}: {} sessions, {} connections of watchers, {} turns settled, {} effects, {} \
         restarts; accepted {}, ended {}, lost {}, twice {}, stuck {}, wrong in all {}",
        options.store.name(),
        world.seed,
        read(&tally.sessions),
        read(&tally.connections),
        read(&tally.turns),
        read(&tally.effects),
        read(&tally.restarts),
        read(&tally.accepted),
        read(&tally.ended),
        count("lost:"),
        count("twice:"),
        count("stuck:"),
        tally.wrongs(),
    ));
    tally.wrongs() == 0
}
