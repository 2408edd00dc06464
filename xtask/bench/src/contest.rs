//! One contestant on one course, in a process of its own, and its cost.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;
use windlass_openai::Api;

use crate::bare::Bare;
use crate::engine::{Contender, Keep};
use crate::kit;
use crate::marked::Marked;
use crate::meter::Meter;
use crate::script::Script;
use crate::scripted::Scripted;
use xtask::say::say;

/// Course that a contestant runs.
#[derive(Debug, Clone, Args)]
pub(crate) struct Course {
    /// Contestant to run in this process.
    #[arg(long, value_enum)]
    pub(crate) who: Who,
    /// The base address of the model server.
    #[arg(long, default_value = "")]
    pub(crate) url: String,
    /// The model's name, which is the script.
    #[arg(long)]
    pub(crate) script: String,
    /// Turns that are measured, each a session of its own.
    #[arg(long)]
    pub(crate) turns: usize,
    /// Turns before the metered ones.
    #[arg(long)]
    pub(crate) warmup: usize,
    /// Turns at a time.
    #[arg(long, default_value_t = 1)]
    pub(crate) concurrency: usize,
    /// Empty folder for contestants that write.
    #[arg(long)]
    pub(crate) dir: PathBuf,
}

/// Program that runs a course: the bare loop or the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Who {
    /// Bare loop without the engine.
    Bare,
    /// The bare loop with one sync for each message.
    BareSynced,
    /// The engine with a log in memory.
    Engine,
    /// The engine with the file log.
    EngineFile,
    /// The same, with a tool that is declared to change something.
    EngineEffects,
    /// The engine with a log in sled.
    EngineSled,
    /// The engine with a log in memory and a scripted provider: no server, no wire.
    EngineAlone,
    /// The engine with a log in memory that asks for Responses over a WebSocket.
    EngineSocket,
}

/// Counts of some turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Answers of the model.
    pub(crate) samples: u64,
    /// Tool calls that were answered.
    pub(crate) calls: u64,
    /// Text deltas that were received.
    pub(crate) deltas: u64,
}

impl Tally {
    /// Adds the counts of another turn.
    pub(crate) fn add(&mut self, other: Self) {
        self.samples += other.samples;
        self.calls += other.calls;
        self.deltas += other.deltas;
    }
}

/// Cost of a course.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Took {
    pub(crate) wall_ns: u64,
    /// Processor time of the process.
    pub(crate) cpu_ns: u64,
    pub(crate) samples: u64,
    pub(crate) calls: u64,
    pub(crate) deltas: u64,
    /// The most memory that the process had.
    pub(crate) most_kb: u64,
    /// Processor time of each step, all turns together; empty where steps are not marked.
    pub(crate) steps_ns: Vec<u64>,
}

/// Contestant that is set up to run.
enum Runner {
    Bare { bare: Bare, dir: Option<PathBuf> },
    Engine(Box<(Arc<Marked>, Contender)>),
    Alone(Script),
    Socket(Box<(Arc<Marked>, Contender)>),
}

/// Runs a course in this process and prints the cost as one line of JSON.
///
/// # Errors
/// At the first thing that goes wrong.
pub(crate) fn run(course: &Course) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let took = runtime.block_on(go(course))?;
    say(serde_json::to_string(&took)?);
    Ok(())
}

/// Runs a course in a process of its own.
///
/// # Errors
/// When that process fails.
pub(crate) fn spawn(course: &Course) -> anyhow::Result<Took> {
    let who = course.who.to_possible_value().context("a contestant without a name")?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("contest").args(["--who", who.get_name(), "--url", &course.url]);
    command.args(["--script", &course.script, "--turns", &course.turns.to_string()]);
    command.args(["--warmup", &course.warmup.to_string()]);
    command.args(["--concurrency", &course.concurrency.to_string()]);
    command.arg("--dir").arg(&course.dir).stderr(Stdio::inherit());
    let output = command.output().context("starting a contestant")?;
    anyhow::ensure!(output.status.success(), "{} failed on {course:?}", who.get_name());
    serde_json::from_slice(&output.stdout).context("reading what a contestant took")
}

/// Runs a course in another program with the contract of `bench-peer`, which has no engine. With
/// `durable`, it syncs each message.
///
/// # Errors
/// When that program fails.
pub(crate) fn spawn_floor(program: &Path, course: &Course, durable: bool) -> anyhow::Result<Took> {
    let mut command = Command::new(program);
    command.args(["--base-url", &course.url, "--model", &course.script, "--mode", "turns"]);
    command.args(["--turns", &course.turns.to_string(), "--warmup", &course.warmup.to_string()]);
    command.args(["--concurrency", &course.concurrency.to_string()]);
    command.args(["--durable", if durable { "each" } else { "none" }]);
    command.arg("--dir").arg(&course.dir);
    let line: PeerLine = last_line(&mut command)?;
    Ok(Took {
        wall_ns: line.wall_ns,
        cpu_ns: line.user_ns.saturating_add(line.sys_ns),
        samples: line.tools.saturating_add(line.turns),
        calls: line.tools,
        deltas: line.deltas,
        most_kb: line.hwm_kb,
        steps_ns: Vec::new(),
    })
}

/// Runs a program with the contract of `bench-peer` and reads its last line.
///
/// # Errors
/// When it fails, or prints something else.
pub(crate) fn last_line<T: DeserializeOwned>(command: &mut Command) -> anyhow::Result<T> {
    let output =
        command.stderr(Stdio::inherit()).output().with_context(|| format!("{command:?}"))?;
    anyhow::ensure!(output.status.success(), "{command:?} failed");
    let told = String::from_utf8(output.stdout)?;
    let last = told.lines().next_back().unwrap_or_default();
    serde_json::from_str(last).with_context(|| format!("reading the last line of {command:?}"))
}

/// The fields that are read of the line in which such a program reports its cost.
#[derive(Debug, Deserialize)]
pub(crate) struct PeerLine {
    turns: u64,
    tools: u64,
    deltas: u64,
    pub(crate) wall_ns: u64,
    pub(crate) user_ns: u64,
    pub(crate) sys_ns: u64,
    hwm_kb: u64,
}

async fn go(course: &Course) -> anyhow::Result<Took> {
    let runner = Arc::new(Runner::new(course)?);
    let mut unmetered = Vec::new();
    for number in 0..course.warmup {
        runner.turn(course, &format!("warmup-{number}"), &mut unmetered).await?;
    }
    let mut tally = Tally::default();
    let mut steps_ns = Vec::new();
    let meter = Meter::start()?;
    if course.concurrency > 1 {
        tally = many(&runner, course).await?;
    } else {
        for number in 0..course.turns {
            tally.add(runner.turn(course, &format!("turn-{number}"), &mut steps_ns).await?);
        }
    }
    let reading = meter.read()?;
    Ok(Took {
        wall_ns: reading.wall_ns,
        cpu_ns: reading.cpu_ns(),
        samples: tally.samples,
        calls: tally.calls,
        deltas: tally.deltas,
        most_kb: reading.hwm_kb,
        steps_ns,
    })
}

/// Runs the turns, several at a time. Their steps cannot be told apart.
async fn many(runner: &Arc<Runner>, course: &Course) -> anyhow::Result<Tally> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..course.concurrency {
        let (runner, course, next) = (runner.clone(), course.clone(), next.clone());
        workers.spawn(async move {
            let (mut tally, mut unmarked) = (Tally::default(), Vec::new());
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= course.turns {
                    return anyhow::Ok(tally);
                }
                let name = format!("turn-{number}");
                tally.add(runner.turn(&course, &name, &mut unmarked).await?);
                unmarked.clear();
            }
        });
    }
    let mut tally = Tally::default();
    while let Some(ran) = workers.join_next().await {
        tally.add(ran.context("a worker broke off")??);
    }
    Ok(tally)
}

impl Runner {
    fn new(course: &Course) -> anyhow::Result<Self> {
        let engine = |keep: Keep| -> anyhow::Result<Self> {
            let marked = Arc::new(Marked::new(kit::provider(&course.url, Api::Chat)?));
            let contender = Contender::new(marked.clone(), keep, &course.script);
            let contender = match course.who == Who::EngineEffects {
                true => contender.with_effects(),
                false => contender,
            };
            Ok(Self::Engine(Box::new((marked, contender))))
        };
        let bare = |dir: Option<&Path>| -> anyhow::Result<Self> {
            let bare = Bare::new(&course.url)?;
            let bare = if course.concurrency > 1 { bare.concurrent() } else { bare };
            Ok(Self::Bare { bare, dir: dir.map(Path::to_owned) })
        };
        match course.who {
            Who::Bare => bare(None),
            Who::BareSynced => bare(Some(&course.dir)),
            Who::Engine => engine(Keep::Nothing),
            Who::EngineFile | Who::EngineEffects => engine(Keep::In(kit::file(&course.dir)?)),
            Who::EngineSled => engine(Keep::In(kit::sled(&course.dir)?)),
            Who::EngineSocket => {
                let marked = Arc::new(Marked::counting(kit::socket(&course.url)?));
                let contender = Contender::new(marked.clone(), Keep::Nothing, &course.script);
                Ok(Self::Socket(Box::new((marked, contender))))
            }
            Who::EngineAlone => {
                let script = Script::parse(&course.script);
                Ok(Self::Alone(script.with_context(|| format!("no script: {}", course.script))?))
            }
        }
    }

    async fn turn(
        &self,
        course: &Course,
        name: &str,
        steps_ns: &mut Vec<u64>,
    ) -> anyhow::Result<Tally> {
        let mut seen = 0_usize;
        let mut on_text = |text: &str| seen = std::hint::black_box(seen.wrapping_add(text.len()));
        match self {
            Self::Bare { bare, dir } => {
                let file = dir.as_ref().map(|dir| dir.join(name));
                let turn = bare.turn(&course.script, file.as_deref(), &mut on_text);
                let ran = turn.await?;
                add_steps(steps_ns, &ran.marks);
                Ok(ran.tally)
            }
            Self::Engine(both) => {
                let (marked, contender) = both.as_ref();
                let told = contender.turn(name, &mut on_text).await?;
                add_steps(steps_ns, &marked.marks());
                Ok(told.tally)
            }
            Self::Alone(script) => {
                let provider = Arc::new(Scripted::new(*script));
                let contender = Contender::new(provider.clone(), Keep::Nothing, &course.script);
                let told = contender.turn(name, &mut on_text).await?;
                add_steps(steps_ns, &provider.marks());
                Ok(told.tally)
            }
            Self::Socket(both) => {
                let (marked, contender) = both.as_ref();
                let told = contender.turn(name, &mut on_text).await?;
                let (marks, rests) = (marked.marks(), marked.rests());
                let asked = marks.len() as u64;
                anyhow::ensure!(
                    rests + 1 == asked,
                    "{rests} of {asked} requests held only what was new"
                );
                add_steps(steps_ns, &marks);
                Ok(told.tally)
            }
        }
    }
}

/// Adds the time between each two marks to that step's.
fn add_steps(steps_ns: &mut Vec<u64>, marks: &[u64]) {
    let steps = marks.iter().zip(marks.iter().skip(1));
    for (number, (from, to)) in steps.enumerate() {
        let step_ns = to.saturating_sub(*from);
        match steps_ns.get_mut(number) {
            Some(sum) => *sum = sum.saturating_add(step_ns),
            None => steps_ns.push(step_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_several_turns_are_added_up() {
        let mut steps = Vec::new();
        add_steps(&mut steps, &[10, 30, 60]);
        add_steps(&mut steps, &[5, 6, 8, 11]);
        assert_eq!(steps, [21, 32, 3]);
    }
}
