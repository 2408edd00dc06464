//! What is measured, and against which targets.

use std::path::Path;

use anyhow::Context as _;
use clap::Args;

use crate::bench::contest::{Course, Took, Who, spawn};
use crate::bench::rounds::Spread;
use crate::bench::server::ServerProcess;
use crate::say::say;

/// How much is measured.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Rounds of each measure; the median counts.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Measures to take, by their letters; all when none is named.
    #[arg(long)]
    only: Option<String>,
}

/// One measure: a ratio, and the most that it may be.
struct Measure {
    letter: char,
    /// What is compared.
    title: &'static str,
    /// What the costs are costs of.
    unit: &'static str,
    script: &'static str,
    turns: usize,
    sides: Sides,
    at_most: f64,
}

/// What a ratio is a ratio of.
enum Sides {
    /// One contestant's cost over another's.
    Two {
        ours: Who,
        theirs: Who,
        cost: fn(&Took) -> f64,
    },
    /// One contestant's late steps over its early ones.
    Steps { who: Who },
}

/// The early steps and the late ones: means of ten around step 10 and step 1,000.
const EARLY: std::ops::Range<usize> = 5..15;
const LATE: std::ops::Range<usize> = 995..1_005;

const MEASURES: &[Measure] = &[
    Measure {
        letter: 'a',
        title: "CPU of a step at 100 steps, memory log : bare loop",
        unit: "us/step",
        script: "tools-100",
        turns: 20,
        sides: Sides::Two {
            ours: Who::Engine,
            theirs: Who::Bare,
            cost: |took| per(took.cpu_ns, took.samples, 1e3),
        },
        at_most: 1.5,
    },
    Measure {
        letter: 'b',
        title: "wall time of a step at 100 steps, file log : bare loop that syncs each message",
        unit: "us/step",
        script: "tools-100",
        turns: 5,
        sides: Sides::Two {
            ours: Who::EngineFile,
            theirs: Who::BareSynced,
            cost: |took| per(took.wall_ns, took.samples, 1e3),
        },
        at_most: 0.8,
    },
    Measure {
        letter: 'c',
        title: "CPU of step 1,000 : step 10 of one turn, without the wire",
        unit: "us/step",
        script: "tools-1010",
        turns: 10,
        sides: Sides::Steps {
            who: Who::EngineAlone,
        },
        at_most: 1.2,
    },
    Measure {
        letter: 'd',
        title: "CPU of a text delta from socket to subscriber : bare loop",
        unit: "ns/delta",
        script: "text-10000",
        turns: 20,
        sides: Sides::Two {
            ours: Who::Engine,
            theirs: Who::Bare,
            cost: |took| per(took.cpu_ns, took.deltas, 1.0),
        },
        at_most: 0.6,
    },
    Measure {
        letter: 'e',
        title: "CPU of a step at 1,000 steps over HTTP, memory log : bare loop",
        unit: "us/step",
        script: "tools-1000",
        turns: 2,
        sides: Sides::Two {
            ours: Who::Engine,
            theirs: Who::Bare,
            cost: |took| per(took.cpu_ns, took.samples, 1e3),
        },
        at_most: 0.3,
    },
    Measure {
        letter: 'f',
        title: "CPU of step 1,000 : step 10 of one turn over a WebSocket",
        unit: "us/step",
        script: "tools-1010",
        turns: 10,
        sides: Sides::Steps {
            who: Who::EngineSocket,
        },
        at_most: 1.1,
    },
];

/// The numbers of one round: ours, theirs.
type Pair = (f64, f64);

/// Measures, prints, and answers whether all targets were met.
///
/// # Errors
/// When a contestant fails.
pub(crate) fn run(plan: &Plan) -> anyhow::Result<bool> {
    let server = ServerProcess::start()?;
    let url = format!("http://{}/v1", server.address);
    let program = std::env::current_exe()?;
    let beside = program.parent().context("this program lies in no folder")?;
    let only = plan.only.as_deref();
    let chosen = |measure: &&Measure| only.is_none_or(|only| only.contains(measure.letter));
    let mut met = true;
    for measure in MEASURES.iter().filter(chosen) {
        let mut pairs = Vec::new();
        for round in 0..plan.rounds {
            // Beside the program, and not in a folder for temporary files, which may be memory.
            let dir = tempfile::tempdir_in(beside).context("making a folder for the logs")?;
            pairs.push(measure.round(&url, dir.path(), round % 2 == 1)?);
        }
        met &= measure.report(&pairs)?;
    }
    Ok(met)
}

impl Measure {
    /// Runs both sides once, the second one first if they are `swapped`.
    fn round(&self, url: &str, dir: &Path, swapped: bool) -> anyhow::Result<Pair> {
        match self.sides {
            Sides::Two { ours, theirs, cost } if swapped => {
                let theirs = cost(&self.spawn(theirs, url, dir)?);
                Ok((cost(&self.spawn(ours, url, dir)?), theirs))
            }
            Sides::Two { ours, theirs, cost } => {
                let ours = cost(&self.spawn(ours, url, dir)?);
                Ok((ours, cost(&self.spawn(theirs, url, dir)?)))
            }
            Sides::Steps { who } => {
                let took = self.spawn(who, url, dir)?;
                let mean = |range: std::ops::Range<usize>| -> anyhow::Result<f64> {
                    let steps = took
                        .steps_ns
                        .get(range)
                        .context("the turn had fewer steps")?;
                    let count = steps.len().saturating_mul(self.turns);
                    Ok(per(steps.iter().sum(), count as u64, 1e3))
                };
                Ok((mean(LATE)?, mean(EARLY)?))
            }
        }
    }

    fn spawn(&self, who: Who, url: &str, dir: &Path) -> anyhow::Result<Took> {
        let dir = dir.join(format!("{who:?}"));
        std::fs::create_dir(&dir).with_context(|| format!("creating {}", dir.display()))?;
        spawn(&Course {
            who,
            url: url.to_owned(),
            script: self.script.to_owned(),
            turns: self.turns,
            warmup: 2,
            dir,
        })
    }

    /// Prints what the rounds came to; answers whether the target was met.
    fn report(&self, pairs: &[Pair]) -> anyhow::Result<bool> {
        let spread = |number: fn(&Pair) -> f64| {
            Spread::of(pairs.iter().map(number).collect()).context("no round was run")
        };
        let ratio = spread(|pair| pair.0 / pair.1)?;
        let met = ratio.median <= self.at_most;
        let Self {
            letter,
            title,
            unit,
            at_most,
            ..
        } = self;
        say(format_args!("({letter}) {title}"));
        say(format_args!(
            "    {} {unit} : {} {unit} = {ratio}, at most {at_most}: {}",
            spread(|pair| pair.0)?,
            spread(|pair| pair.1)?,
            if met { "met" } else { "MISSED" }
        ));
        Ok(met)
    }
}

/// A cost of one of many, in units of so many nanoseconds.
fn per(ns: u64, count: u64, unit_ns: f64) -> f64 {
    ns as f64 / count.max(1) as f64 / unit_ns
}
