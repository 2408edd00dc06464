//! Measures of the engine and their targets.

use std::ops::Range;
use std::path::Path;

use anyhow::Context as _;
use clap::Args;

use crate::contest::{Course, Took, Who, spawn};
use crate::rounds::Spread;
use crate::server::ServerProcess;
use xtask::say::say;

/// Extent of the measures.
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
    /// Heading of the measure.
    title: &'static str,
    /// Unit that the costs are divided by.
    unit: &'static str,
    script: &'static str,
    turns: usize,
    /// Turns before the metered ones.
    warmup: usize,
    sides: Sides,
    at_most: f64,
}

/// Two sides of a ratio.
enum Sides {
    /// One contestant's cost over another's.
    Two { ours: Who, theirs: Who, cost: fn(&Took) -> f64 },
    /// One contestant's steps at a history of 1,000 of them over another's.
    Late { ours: Who, theirs: Who },
    /// One contestant's late steps over its early ones.
    Steps { who: Who },
}

/// The early steps and the late ones: means of ten around step 10 and step 1,000.
const EARLY: Range<usize> = 5..15;
const LATE: Range<usize> = 995..1_005;
/// The steps at a history of 1,000 of them: each is paid for from the moment that the model is
/// about to be asked to that moment of the next step. Fifty on either side.
const AROUND: Range<usize> = 950..1_050;

const MEASURES: &[Measure] = &[
    Measure {
        letter: 'a',
        title: "CPU of a step at 100 steps, memory log : bare loop",
        unit: "us/step",
        script: "tools-100",
        turns: 20,
        warmup: 2,
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
        warmup: 2,
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
        warmup: 2,
        sides: Sides::Steps { who: Who::EngineAlone },
        at_most: 1.2,
    },
    Measure {
        letter: 'd',
        title: "CPU of a text delta from socket to subscriber : bare loop",
        unit: "ns/delta",
        script: "text-10000",
        turns: 20,
        warmup: 2,
        sides: Sides::Two {
            ours: Who::Engine,
            theirs: Who::Bare,
            cost: |took| per(took.cpu_ns, took.deltas, 1.0),
        },
        at_most: 0.6,
    },
    Measure {
        letter: 'e',
        title: "CPU of a step at 1,000 steps over HTTP, results of 1 KiB, memory log : bare loop",
        unit: "us/step",
        script: "tools-1050@o1024",
        turns: 1,
        warmup: 0,
        sides: Sides::Late { ours: Who::Engine, theirs: Who::Bare },
        at_most: 0.3,
    },
    Measure {
        letter: 'e',
        title: "the same, results of 32 bytes",
        unit: "us/step",
        script: "tools-1050",
        turns: 2,
        warmup: 0,
        sides: Sides::Late { ours: Who::Engine, theirs: Who::Bare },
        at_most: 0.3,
    },
    Measure {
        letter: 'f',
        title: "CPU of step 1,000 : step 10 of one turn over a WebSocket",
        unit: "us/step",
        script: "tools-1010",
        turns: 10,
        warmup: 2,
        sides: Sides::Steps { who: Who::EngineSocket },
        at_most: 1.1,
    },
];

/// Two numbers of one round: ours, theirs.
type Pair = (f64, f64);

/// Result of one round.
struct Round {
    /// Ratio that the measure is about.
    measured: Pair,
    /// The mean over the whole turn, where that is something else and of interest too.
    whole: Option<Pair>,
}

/// Measures, prints, and returns true if all targets are met.
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
        let mut rounds = Vec::new();
        for round in 0..plan.rounds {
            // Beside the program, and not in a folder for temporary files, which may be memory.
            let dir = tempfile::tempdir_in(beside).context("making a folder for the logs")?;
            rounds.push(measure.round(&url, dir.path(), round % 2 == 1)?);
        }
        met &= measure.report(&rounds)?;
    }
    Ok(met)
}

impl Measure {
    /// Runs both sides once, the second one first if they are `swapped`.
    fn round(&self, url: &str, dir: &Path, swapped: bool) -> anyhow::Result<Round> {
        let both = |ours, theirs| -> anyhow::Result<(Took, Took)> {
            if swapped {
                let theirs = self.spawn(theirs, url, dir)?;
                return Ok((self.spawn(ours, url, dir)?, theirs));
            }
            let ours = self.spawn(ours, url, dir)?;
            Ok((ours, self.spawn(theirs, url, dir)?))
        };
        match self.sides {
            Sides::Two { ours, theirs, cost } => {
                let (ours, theirs) = both(ours, theirs)?;
                Ok(Round { measured: (cost(&ours), cost(&theirs)), whole: None })
            }
            Sides::Late { ours, theirs } => {
                let (ours, theirs) = both(ours, theirs)?;
                let mean = |took: &Took| per(took.cpu_ns, took.samples, 1e3);
                Ok(Round {
                    measured: (self.steps(&ours, AROUND)?, self.steps(&theirs, AROUND)?),
                    whole: Some((mean(&ours), mean(&theirs))),
                })
            }
            Sides::Steps { who } => {
                let took = self.spawn(who, url, dir)?;
                Ok(Round {
                    measured: (self.steps(&took, LATE)?, self.steps(&took, EARLY)?),
                    whole: None,
                })
            }
        }
    }

    /// The mean of some steps, all turns together.
    fn steps(&self, took: &Took, range: Range<usize>) -> anyhow::Result<f64> {
        let steps = took.steps_ns.get(range).context("the turn had fewer steps")?;
        let count = steps.len().saturating_mul(self.turns);
        Ok(per(steps.iter().sum(), count as u64, 1e3))
    }

    fn spawn(&self, who: Who, url: &str, dir: &Path) -> anyhow::Result<Took> {
        let dir = dir.join(format!("{who:?}"));
        std::fs::create_dir(&dir).with_context(|| format!("creating {}", dir.display()))?;
        spawn(&Course {
            who,
            url: url.to_owned(),
            script: self.script.to_owned(),
            turns: self.turns,
            warmup: self.warmup,
            dir,
        })
    }

    /// Prints the result of the rounds and returns true if the target is met.
    fn report(&self, rounds: &[Round]) -> anyhow::Result<bool> {
        let Self { letter, title, unit, at_most, .. } = self;
        let measured: Vec<Pair> = rounds.iter().map(|round| round.measured).collect();
        let (ratio, words) = compared(&measured, unit)?;
        let met = ratio.median <= *at_most;
        say(format_args!("({letter}) {title}"));
        let verdict = if met { "met" } else { "MISSED" };
        say(format_args!("    {words}, at most {at_most}: {verdict}"));
        let whole: Vec<Pair> = rounds.iter().filter_map(|round| round.whole).collect();
        if !whole.is_empty() {
            let (_, words) = compared(&whole, unit)?;
            say(format_args!("    {words} as the mean over all steps of the turn"));
        }
        Ok(met)
    }
}

/// Ratios of some pairs, as printed.
fn compared(pairs: &[Pair], unit: &str) -> anyhow::Result<(Spread, String)> {
    let spread = |number: fn(&Pair) -> f64| {
        Spread::of(pairs.iter().map(number).collect()).context("no round was run")
    };
    let ratio = spread(|pair| pair.0 / pair.1)?;
    let (ours, theirs) = (spread(|pair| pair.0)?, spread(|pair| pair.1)?);
    Ok((ratio, format!("{ours} {unit} : {theirs} {unit} = {ratio}")))
}

/// Divides a cost by a count, in the given unit.
fn per(ns: u64, count: u64, unit_ns: f64) -> f64 {
    ns as f64 / count.max(1) as f64 / unit_ns
}
