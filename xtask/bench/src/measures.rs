//! Measures of the engine and their targets.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use clap::Args;

use crate::contest::{Course, Took, Who, spawn, spawn_floor};
use crate::resume::{self, Resumed};
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
    /// Program of another bare loop, with the arguments and the last line of `bench-peer`. Measures
    /// beside the bare loop are taken beside it too, and its ratio is the one that counts.
    #[arg(long)]
    floor: Option<PathBuf>,
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
    /// Turns at a time.
    concurrency: usize,
    sides: Sides,
    /// Target; `None` for a measure that is taken for information.
    at_most: Option<f64>,
}

/// Two sides of a ratio.
enum Sides {
    /// One contestant's cost over another's.
    Two { ours: Who, theirs: Who, cost: fn(&Took) -> f64 },
    /// One contestant's steps at a history of 1,000 of them over another's.
    Late { ours: Who, theirs: Who },
    /// One contestant's late steps over its early ones.
    Steps { who: Who },
    /// The whole time of one contestant's process over another's.
    Process { ours: Who, theirs: Who },
    /// One cost of a session that goes on over that of the other bare loop, which is needed.
    Resume { cost: fn(&Resumed) -> f64 },
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
        concurrency: 1,
        sides: Sides::Two {
            ours: Who::Engine,
            theirs: Who::Bare,
            cost: |took| per(took.cpu_ns, took.samples, 1e3),
        },
        at_most: Some(1.4),
    },
    Measure {
        letter: 'b',
        title: "wall time of a step at 100 steps, file log : bare loop that syncs each message",
        unit: "us/step",
        script: "tools-100",
        turns: 5,
        warmup: 2,
        concurrency: 1,
        sides: Sides::Two {
            ours: Who::EngineFile,
            theirs: Who::BareSynced,
            cost: |took| per(took.wall_ns, took.samples, 1e3),
        },
        at_most: Some(0.8),
    },
    Measure {
        letter: 'c',
        title: "CPU of step 1,000 : step 10 of one turn, without the wire",
        unit: "us/step",
        script: "tools-1010",
        turns: 10,
        warmup: 2,
        concurrency: 1,
        sides: Sides::Steps { who: Who::EngineAlone },
        at_most: Some(1.2),
    },
    Measure {
        letter: 'd',
        title: "CPU of a text delta from socket to subscriber : bare loop",
        unit: "ns/delta",
        script: "text-10000",
        turns: 20,
        warmup: 2,
        concurrency: 1,
        sides: Sides::Two {
            ours: Who::Engine,
            theirs: Who::Bare,
            cost: |took| per(took.cpu_ns, took.deltas, 1.0),
        },
        at_most: Some(0.6),
    },
    Measure {
        letter: 'e',
        title: "CPU of a step at 1,000 steps over HTTP, results of 1 KiB, memory log : bare loop",
        unit: "us/step",
        script: "tools-1050@o1024",
        turns: 1,
        warmup: 0,
        concurrency: 1,
        sides: Sides::Late { ours: Who::Engine, theirs: Who::Bare },
        at_most: Some(0.3),
    },
    Measure {
        letter: 'e',
        title: "the same, results of 32 bytes",
        unit: "us/step",
        script: "tools-1050",
        turns: 2,
        warmup: 0,
        concurrency: 1,
        sides: Sides::Late { ours: Who::Engine, theirs: Who::Bare },
        at_most: Some(0.3),
    },
    Measure {
        letter: 'f',
        title: "CPU of step 1,000 : step 10 of one turn over a WebSocket",
        unit: "us/step",
        script: "tools-1010",
        turns: 10,
        warmup: 2,
        concurrency: 1,
        sides: Sides::Steps { who: Who::EngineSocket },
        at_most: Some(1.1),
    },
    Measure {
        letter: 'g',
        title: "wall time of a step at 100 steps with a tool that changes something, file log : bare \
                loop that syncs each message",
        unit: "us/step",
        script: "tools-100",
        turns: 5,
        warmup: 2,
        concurrency: 1,
        sides: Sides::Two {
            ours: Who::EngineEffects,
            theirs: Who::BareSynced,
            cost: |took| per(took.wall_ns, took.samples, 1e3),
        },
        at_most: Some(1.0),
    },
    Measure {
        letter: 'h',
        title: "CPU of a step of short turns, 1,000 sessions of one engine, memory log : bare loop",
        unit: "us/step",
        script: "tools-2",
        turns: 4_000,
        warmup: 2,
        concurrency: 1_000,
        sides: Sides::Two {
            ours: Who::Engine,
            theirs: Who::Bare,
            cost: |took| per(took.cpu_ns, took.samples, 1e3),
        },
        at_most: Some(2.0),
    },
    Measure {
        letter: 'h',
        title: "wall time of the same, file log : bare loop that syncs each message",
        unit: "us/step",
        script: "tools-2",
        turns: 4_000,
        warmup: 2,
        concurrency: 1_000,
        sides: Sides::Two {
            ours: Who::EngineFile,
            theirs: Who::BareSynced,
            cost: |took| per(took.wall_ns, took.samples, 1e3),
        },
        at_most: Some(0.25),
    },
    START_MEMORY,
    Measure {
        title: "wall time of a process with one turn, file log : bare loop",
        unit: "ms",
        sides: Sides::Process { ours: Who::EngineFile, theirs: Who::Bare },
        at_most: None,
        ..START_MEMORY
    },
    Measure {
        title: "the same, log in sled",
        unit: "ms",
        sides: Sides::Process { ours: Who::EngineSled, theirs: Who::Bare },
        at_most: None,
        ..START_MEMORY
    },
    Measure {
        title: "the same, log in memory",
        unit: "ms",
        sides: Sides::Process { ours: Who::Engine, theirs: Who::Bare },
        at_most: None,
        ..START_MEMORY
    },
    Measure {
        letter: 'j',
        title: "CPU to go on with a session of 10,000 items in a new process, file log : other bare loop",
        unit: "ms",
        sides: Sides::Resume { cost: |resumed| resumed.cpu_ns as f64 / 1e6 },
        at_most: Some(1.0),
        ..START_MEMORY
    },
    Measure {
        letter: 'j',
        title: "wall time of the same",
        unit: "ms",
        sides: Sides::Resume { cost: |resumed| resumed.wall_ns as f64 / 1e6 },
        at_most: Some(1.0),
        ..START_MEMORY
    },
    Measure {
        letter: 'j',
        title: "bytes of its log and checkpoint : log of the other bare loop",
        unit: "bytes/step",
        sides: Sides::Resume { cost: Resumed::bytes_a_step },
        at_most: Some(4.0),
        ..START_MEMORY
    },
];

const START_MEMORY: Measure = Measure {
    letter: 'i',
    title: "memory of a process with one turn, memory log : bare loop",
    unit: "MB",
    script: "tools-2",
    turns: 1,
    warmup: 0,
    concurrency: 1,
    sides: Sides::Two {
        ours: Who::Engine,
        theirs: Who::Bare,
        cost: |took| took.most_kb as f64 / 1e3,
    },
    at_most: Some(2.5),
};

/// Two numbers of one round: ours, theirs.
type Pair = (f64, f64);

/// Result of one round.
struct Round {
    /// Ratio that the measure is about.
    measured: Pair,
    /// The mean over the whole turn, where that is something else and of interest too.
    whole: Option<Pair>,
    /// The same ratio beside the program that was named, if there is one.
    floor: Option<Pair>,
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
        if plan.floor.is_none() && matches!(measure.sides, Sides::Resume { .. }) {
            say(format_args!("({}) {}\n    skipped: no --floor", measure.letter, measure.title));
            continue;
        }
        let mut rounds = Vec::new();
        for round in 0..plan.rounds {
            // Beside the program, and not in a folder for temporary files, which may be memory.
            let dir = tempfile::tempdir_in(beside).context("making a folder for the logs")?;
            rounds.push(measure.round(&url, dir.path(), round % 2 == 1, plan.floor.as_deref())?);
        }
        met &= measure.report(&rounds)?;
    }
    Ok(met)
}

impl Measure {
    /// Runs both sides once, the second one first if they are `swapped`.
    fn round(
        &self,
        url: &str,
        dir: &Path,
        swapped: bool,
        floor: Option<&Path>,
    ) -> anyhow::Result<Round> {
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
                let synced = theirs == Who::BareSynced;
                let (ours, theirs) = both(ours, theirs)?;
                let floor = match floor {
                    Some(program) => {
                        let took = spawn_floor(
                            program,
                            &self.course(Who::Bare, url, dir, "floor")?,
                            synced,
                        )?;
                        Some((cost(&ours), cost(&took)))
                    }
                    None => None,
                };
                Ok(Round { measured: (cost(&ours), cost(&theirs)), whole: None, floor })
            }
            Sides::Late { ours, theirs } => {
                let (ours, theirs) = both(ours, theirs)?;
                let mean = |took: &Took| per(took.cpu_ns, took.samples, 1e3);
                Ok(Round {
                    measured: (self.steps(&ours, AROUND)?, self.steps(&theirs, AROUND)?),
                    whole: Some((mean(&ours), mean(&theirs))),
                    floor: None,
                })
            }
            Sides::Process { ours, theirs } => {
                let timed = |who| -> anyhow::Result<f64> {
                    let start = Instant::now();
                    self.spawn(who, url, dir)?;
                    Ok(start.elapsed().as_secs_f64() * 1e3)
                };
                let measured = match swapped {
                    true => {
                        let theirs = timed(theirs)?;
                        (timed(ours)?, theirs)
                    }
                    false => (timed(ours)?, timed(theirs)?),
                };
                Ok(Round { measured, whole: None, floor: None })
            }
            Sides::Resume { cost } => {
                let program = floor.context("a measure beside the other bare loop without one")?;
                let measured = match swapped {
                    true => {
                        let theirs = resume::floor(program, url, dir)?;
                        (cost(&resume::engine(url, dir)?), cost(&theirs))
                    }
                    false => {
                        let ours = resume::engine(url, dir)?;
                        (cost(&ours), cost(&resume::floor(program, url, dir)?))
                    }
                };
                Ok(Round { measured, whole: None, floor: None })
            }
            Sides::Steps { who } => {
                let took = self.spawn(who, url, dir)?;
                Ok(Round {
                    measured: (self.steps(&took, LATE)?, self.steps(&took, EARLY)?),
                    whole: None,
                    floor: None,
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
        spawn(&self.course(who, url, dir, &format!("{who:?}"))?)
    }

    /// Course of a contestant, with a folder of this name.
    fn course(&self, who: Who, url: &str, dir: &Path, name: &str) -> anyhow::Result<Course> {
        let dir = dir.join(name);
        std::fs::create_dir(&dir).with_context(|| format!("creating {}", dir.display()))?;
        Ok(Course {
            who,
            url: url.to_owned(),
            script: self.script.to_owned(),
            turns: self.turns,
            warmup: self.warmup,
            concurrency: self.concurrency,
            dir,
        })
    }

    /// Prints the result of the rounds and returns true if the target is met.
    fn report(&self, rounds: &[Round]) -> anyhow::Result<bool> {
        let Self { letter, title, unit, at_most, .. } = self;
        let measured: Vec<Pair> = rounds.iter().map(|round| round.measured).collect();
        let floor: Vec<Pair> = rounds.iter().filter_map(|round| round.floor).collect();
        let beside = if floor.is_empty() { "" } else { " beside the other bare loop" };
        let counting = if floor.is_empty() { &measured } else { &floor };
        let (ratio, words) = compared(counting, unit)?;
        let met = at_most.is_none_or(|most| ratio.median <= most);
        say(format_args!("({letter}) {title}"));
        match at_most {
            Some(most) => {
                let verdict = if met { "met" } else { "MISSED" };
                say(format_args!("    {words}{beside}, at most {most}: {verdict}"));
            }
            None => say(format_args!("    {words}{beside}")),
        }
        if !floor.is_empty() {
            let (_, words) = compared(&measured, unit)?;
            say(format_args!("    {words} beside the bare loop of this program"));
        }
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
