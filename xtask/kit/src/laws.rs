//! `kit laws`: the laws, in random worlds.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::panic::{catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::Instant;
use std::{fs, thread};

use anyhow::{Context as _, anyhow};
use clap::Args;
use proptest::strategy::{Strategy, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde::Serialize;
use windlass_core::AssemblerLimits;
use windlass_ports::codec;
use windlass_testkit::laws::law_06_chunking_does_not_matter::{self as law_06, assemble};
use windlass_testkit::laws::{self, Broken, law_12_facts_round_trip};
use windlass_testkit::world::{Script, Transitions, check_all, facts, random, watch};

use xtask::say::{complain, say};

/// Number of worlds to run.
#[derive(Debug, Args)]
pub(super) struct Plan {
    /// Number of worlds; with `--watch` also of random facts and of streams.
    #[arg(long, default_value_t = 4_000, value_parser = clap::value_parser!(u64).range(1..))]
    worlds: u64,
    /// The seed of the first world; each world has the next one. A broken law prints the one that
    /// repeats it.
    #[arg(long, default_value_t = 0, conflicts_with = "watch")]
    from: u64,
    /// Steps of a world at most.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..))]
    steps: u16,
    /// Worlds to run at the same time; one for each processor by default
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=64), conflicts_with = "watch")]
    jobs: Option<u16>,
    /// Goes on after a world in which a law breaks, and says which laws broke at that moment, over
    /// all worlds, as one line of JSON. Its worlds have no seeds: they come one after the other.
    #[arg(long)]
    watch: bool,
    /// A script of a world to run before the random ones; may be given more than once.
    #[arg(long, requires = "watch")]
    script: Vec<PathBuf>,
}

/// Checks the laws in random worlds and returns true if all hold.
///
/// # Errors
/// When a world cannot be made.
pub(super) fn run(plan: &Plan) -> anyhow::Result<bool> {
    if plan.watch {
        return watch_all(plan);
    }
    let started = Instant::now();
    let steps = plan.steps;
    let jobs = plan.jobs.map_or_else(available_parallelism, |jobs| {
        Ok(NonZeroUsize::new(usize::from(jobs)).unwrap_or(NonZeroUsize::MIN))
    });
    let jobs = jobs.context("counting the processors: say how many with --jobs")?;
    let looked = look(plan.from, plan.worlds, jobs, || {
        // A strategy does not go from thread to thread.
        let strategy = random::script(steps.into());
        move |seed| world(&strategy, seed)
    });
    let took = started.elapsed().as_secs_f64();
    let Looked { worlds, facts, .. } = looked;
    if let Some((seed, failure)) = looked.first {
        complain(format_args!(
            "seed {seed}: {failure}\nrepeat it: cargo xtask laws --from {seed} --worlds 1 --steps {steps}"
        ));
        return Ok(false);
    }
    say(format_args!("{worlds} worlds, {facts} facts: all laws held, {took:.2} s"));
    Ok(true)
}

/// Makes the world of a seed and holds it to all laws. Answers with how many facts it has.
fn world(strategy: &impl Strategy<Value = Script>, seed: u64) -> Result<u64, String> {
    let script = Many::of(strategy, seed).next();
    let script = script.map_err(|error| format!("{error:#}"))?;
    // The panic itself is on stderr by then, but not in which world it was.
    let held = catch_unwind(|| check_all(Transitions::CORE, laws::ALL, &script));
    match held {
        Ok(Ok(world)) => Ok(world.log().len() as u64),
        Ok(Err(broken)) => Err(format!("{broken}\nin the world{script:?}")),
        Err(_) => Err(format!("it panicked\nin the world{script:?}")),
    }
}

/// Results of the worlds.
#[derive(Debug, Default, PartialEq, Eq)]
struct Looked {
    worlds: u64,
    facts: u64,
    /// First seed whose world breaks a law, with the breach.
    first: Option<(u64, String)>,
}

/// Looks at the worlds of `many` seeds from `from`, in `jobs` threads, each with its own eyes.
///
/// Seeds are given out in their order, and none after one broke. So all before that one are looked
/// at to their end, and whoever is first does not depend on how many threads there are.
fn look<E: FnMut(u64) -> Result<u64, String>>(
    from: u64,
    many: u64,
    jobs: NonZeroUsize,
    eyes: impl Fn() -> E + Sync,
) -> Looked {
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let worker = || {
        let (mut look, mut looked) = (eyes(), Looked::default());
        while !stop.load(Ordering::Relaxed) {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some(seed) = from.checked_add(nth).filter(|_| nth < many) else {
                break;
            };
            looked.worlds += 1;
            match look(seed) {
                Ok(facts) => looked.facts += facts,
                Err(failure) => {
                    stop.store(true, Ordering::Relaxed);
                    looked.first = Some((seed, failure));
                }
            }
        }
        looked
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.get()).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().fold(Looked::default(), |mut all, worker| {
            let part = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            all.worlds += part.worlds;
            all.facts += part.facts;
            all.first = all.first.into_iter().chain(part.first).min();
            all
        })
    })
}

/// The same random values at each run.
struct Many<'a, S> {
    strategy: &'a S,
    runner: TestRunner,
}

impl<'a, S: Strategy> Many<'a, S> {
    fn new(strategy: &'a S) -> Self {
        Self::by(strategy, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
    }

    /// Those of a seed.
    fn of(strategy: &'a S, seed: u64) -> Self {
        let mut bytes = [0; 32];
        for (byte, of_seed) in bytes.iter_mut().zip(seed.to_le_bytes()) {
            *byte = of_seed;
        }
        Self::by(strategy, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
    }

    fn by(strategy: &'a S, luck: TestRng) -> Self {
        let runner = TestRunner::new_with_rng(Config::default(), luck);
        Self { strategy, runner }
    }

    fn next(&mut self) -> anyhow::Result<S::Value> {
        let tree = self.strategy.new_tree(&mut self.runner);
        let tree = tree.map_err(|reason| anyhow!("{reason}"));
        Ok(tree.context("making a world")?.current())
    }
}

/// Report that `--watch` prints.
#[derive(Debug, Default, Serialize)]
struct Watched {
    scripts: usize,
    worlds: u64,
    /// Broken laws, by number.
    broken: BTreeMap<u8, Count>,
}

/// Number of times that a law was broken.
#[derive(Debug, Serialize)]
struct Count {
    /// In how many scripts, worlds, facts and streams.
    times: u64,
    /// First of them, with the breach.
    first: String,
}

impl Watched {
    fn note(&mut self, place: &str, broken: &[Broken]) {
        let mut seen = Vec::new();
        // Only the kit's laws are watched.
        for (law, one) in broken.iter().filter_map(|one| Some((one.number()?, one))) {
            if seen.contains(&one.law) {
                continue;
            }
            seen.push(one.law);
            let count = self.broken.entry(law).or_insert_with(|| Count {
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
    let mut watched =
        Watched { scripts: plan.script.len(), worlds: plan.worlds, ..Watched::default() };
    for path in &plan.script {
        let shown = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("reading {shown}"))?;
        let script: Script =
            text.parse().map_err(|error| anyhow!("reading the script {shown}: {error}"))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        watched.note(&format!("script {name}"), &watch(Transitions::CORE, &script));
    }
    let strategy = random::script(plan.steps.into());
    let mut worlds = Many::new(&strategy);
    let strategy = facts::recorded();
    let mut texts = Many::new(&strategy);
    let strategy = (random::stream(), 1..5_usize, 0..60_usize);
    let mut streams = Many::new(&strategy);
    for number in 0..plan.worlds {
        let broken = watch(Transitions::CORE, &worlds.next()?);
        watched.note(&format!("world {number}"), &broken);
        let held = law_12_facts_round_trip::check(codec::encode, &texts.next()?);
        watched.note(&format!("fact {number}"), held.err().as_slice());
        let (events, size, bytes) = streams.next()?;
        let cut = law_06::cut(&events, size);
        let small = AssemblerLimits { bytes, parts: 3 };
        let held = law_06::check(assemble, AssemblerLimits::default(), &events, &cut)
            .and_then(|()| law_06::check(assemble, small, &events, &cut));
        watched.note(&format!("stream {number}"), held.err().as_slice());
    }
    say(serde_json::to_string(&watched)?);
    Ok(watched.broken.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_broken_seed_is_told_however_many_look() {
        for jobs in [1, 2, 7] {
            let jobs = NonZeroUsize::new(jobs).unwrap();
            let looked = look(3, 1_000, jobs, || {
                |seed| match seed {
                    40 | 41 | 900 => Err(format!("broken {seed}")),
                    _ => Ok(1),
                }
            });
            assert_eq!(looked.first, Some((40, String::from("broken 40"))));
            // Those before it, itself, and what the others had begun.
            let most = 38 + jobs.get() as u64;
            assert!((38..=most).contains(&looked.worlds), "{looked:?}");
            assert!(looked.facts >= 37 && looked.facts < looked.worlds);
        }
    }

    #[test]
    fn each_seed_is_looked_at_once() {
        for jobs in [1, 3] {
            let jobs = NonZeroUsize::new(jobs).unwrap();
            let held = Looked { worlds: 100, facts: (5..105).sum(), first: None };
            assert_eq!(look(5, 100, jobs, || Ok), held);
        }
        let last = look(u64::MAX, 9, NonZeroUsize::MIN, || |_| Ok(1));
        assert_eq!((last.worlds, last.facts), (1, 1));
    }

    #[test]
    fn a_seed_makes_the_same_world_each_time() {
        let strategy = random::script(20);
        let made = |seed| Many::of(&strategy, seed).next().unwrap().to_string();
        assert_eq!(made(7), made(7));
        assert_ne!(made(7), made(8));
        // Beyond the first byte too.
        assert_ne!(made(0), made(1 << 40));
        assert_eq!(world(&strategy, 7), world(&strategy, 7));
    }
}
