//! `kit laws`: the laws, in random worlds.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, anyhow};
use clap::Args;
use proptest::strategy::{Strategy, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde::Serialize;
use windlass_core::Caps;
use windlass_ports::codec;
use windlass_testkit::laws::law_06_chunking_does_not_matter::{self as law_06, assemble};
use windlass_testkit::laws::{Broken, law_12_facts_round_trip};
use windlass_testkit::world::{Machine, Script, check_all, facts, random, watch};

use crate::say::{complain, say};

/// How long to look.
#[derive(Debug, Args)]
pub(super) struct Plan {
    /// How many worlds; with `--watch` as many facts and streams besides.
    #[arg(long, default_value_t = 4_000)]
    worlds: u64,
    /// Steps of a world at most.
    #[arg(long, default_value_t = 60)]
    steps: usize,
    /// Goes on after a world in which a law breaks, and says which laws broke at that moment, over
    /// all worlds, as one line of JSON.
    #[arg(long)]
    watch: bool,
    /// A script of a world to run before the random ones; may be given more than once.
    #[arg(long, requires = "watch")]
    script: Vec<PathBuf>,
}

/// Checks the laws in random worlds. Answers whether all held.
///
/// # Errors
/// When a world cannot be made.
pub(super) fn run(plan: &Plan) -> anyhow::Result<bool> {
    if plan.watch {
        return watch_all(plan);
    }
    let started = Instant::now();
    let strategy = random::script(plan.steps);
    let mut worlds = Many::new(&strategy);
    let mut facts = 0;
    for number in 0..plan.worlds {
        let script = worlds.next()?;
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

/// The same random values at each run.
struct Many<'a, S> {
    strategy: &'a S,
    runner: TestRunner,
}

impl<'a, S: Strategy> Many<'a, S> {
    fn new(strategy: &'a S) -> Self {
        let seed = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let runner = TestRunner::new_with_rng(Config::default(), seed);
        Self { strategy, runner }
    }

    fn next(&mut self) -> anyhow::Result<S::Value> {
        let tree = self.strategy.new_tree(&mut self.runner);
        let tree = tree.map_err(|reason| anyhow!("{reason}"));
        Ok(tree.context("making a world")?.current())
    }
}

/// What `--watch` tells.
#[derive(Debug, Default, Serialize)]
struct Watched {
    scripts: usize,
    worlds: u64,
    /// Broken laws, by number.
    broken: BTreeMap<u8, Count>,
}

/// How often a law was broken.
#[derive(Debug, Serialize)]
struct Count {
    /// In how many scripts, worlds, facts and streams.
    times: u64,
    /// The first of them, and what breaks the law in it.
    first: String,
}

impl Watched {
    fn note(&mut self, place: &str, broken: &[Broken]) {
        let mut seen = Vec::new();
        for one in broken {
            if seen.contains(&one.law) {
                continue;
            }
            seen.push(one.law);
            let count = self.broken.entry(one.law).or_insert_with(|| Count {
                times: 0,
                first: format!("{place}: {}", brief(&one.what)),
            });
            count.times += 1;
        }
    }
}

/// The beginning of what breaks a law: some of it holds whole states.
fn brief(what: &str) -> String {
    what.chars().take(240).collect()
}

/// Holds scripts, random worlds, random facts and random streams to all laws, and prints which were
/// broken. Answers whether none was.
fn watch_all(plan: &Plan) -> anyhow::Result<bool> {
    let mut watched = Watched {
        scripts: plan.script.len(),
        worlds: plan.worlds,
        ..Watched::default()
    };
    for path in &plan.script {
        let shown = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("reading {shown}"))?;
        let script: Script = text
            .parse()
            .map_err(|error| anyhow!("reading the script {shown}: {error}"))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        watched.note(&format!("script {name}"), &watch(Machine::CORE, &script));
    }
    let strategy = random::script(plan.steps);
    let mut worlds = Many::new(&strategy);
    let strategy = facts::recorded();
    let mut texts = Many::new(&strategy);
    let strategy = (random::stream(), 1..5_usize, 0..60_usize);
    let mut streams = Many::new(&strategy);
    for number in 0..plan.worlds {
        let broken = watch(Machine::CORE, &worlds.next()?);
        watched.note(&format!("world {number}"), &broken);
        let held = law_12_facts_round_trip::check(codec::encode, &texts.next()?);
        watched.note(&format!("fact {number}"), held.err().as_slice());
        let (events, size, bytes) = streams.next()?;
        let cut = law_06::cut(&events, size);
        let small = Caps { bytes, parts: 3 };
        let held = law_06::check(assemble, Caps::default(), &events, &cut)
            .and_then(|()| law_06::check(assemble, small, &events, &cut));
        watched.note(&format!("stream {number}"), held.err().as_slice());
    }
    say(serde_json::to_string(&watched)?);
    Ok(watched.broken.is_empty())
}
