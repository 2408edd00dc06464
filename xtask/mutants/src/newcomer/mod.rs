//! `cargo xtask newcomer`: the way of somebody who builds on Windlass. A crate outside of the workspace with
//! the quick start, the guide's store and a provider of its own runs the suites of their ports. Then defects
//! are seeded in its store and its provider, and the case of a suite that each names must find it.

mod crate_folder;
mod seeds;

use std::fs::File;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context as _, bail, ensure};

use crate_folder::CrateFolder;
use seeds::{Defect, Part};
use xtask::say::say;
use xtask::step::{cargo, root, step};
use xtask::tools::target;

/// Longest run of one case over a defect, which may wait forever.
const LONGEST: Duration = Duration::from_secs(120);
/// Interval between two looks at a running case.
const LOOK: Duration = Duration::from_millis(20);
/// Longest part of a finding that is printed, in characters.
const SHOWN: usize = 200;

/// Builds the newcomer's crate, runs its tests, and seeds the defects.
///
/// # Errors
/// When a test of the crate fails, a defect no longer applies, or its case does not find it.
pub(super) fn run() -> anyhow::Result<()> {
    let started = Instant::now();
    let made = CrateFolder::make(&root())?;
    let built = target()?.join("newcomer");
    step("suites", cargo_in(made.path(), &built).args(["test", "--offline"]))?;

    let defects = Part::ALL.map(|part| seeds::read(&root(), part));
    let [store, provider] = defects;
    let (store, provider) = (store?, provider?);
    let defects: Vec<Defect> = store.into_iter().chain(provider).collect();
    seeds::plant(made.path(), &defects)?;
    let build = ["build", "--offline", "--example", "defects"];
    step("seeded defects", cargo_in(made.path(), &built).args(build))?;
    let program = built.join("debug/examples/defects");
    let missed = look(&program, made.path(), &defects)?;
    let (found, took) = (defects.len() - missed.len(), started.elapsed().as_secs());
    say(format_args!("{found} of {} defects found, {took} s", defects.len()));
    ensure!(missed.is_empty(), "not found:\n{}", missed.join("\n"));
    Ok(())
}

/// Command for cargo in a folder, as a user of that crate runs it.
fn cargo_in(folder: &Path, built: &Path) -> Command {
    let mut command = cargo();
    command.current_dir(folder).env("CARGO_TARGET_DIR", built).env_remove("RUSTFLAGS");
    command
}

/// Runs the case of each defect, some at once, and returns the defects that are not found.
fn look(program: &Path, folder: &Path, defects: &[Defect]) -> anyhow::Result<Vec<String>> {
    let (next, missed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || -> anyhow::Result<()> {
        while let Some(defect) = defects.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Defect { part, seed, .. } = defect;
            let line = format!("{part}: {}: {}", seed.name, seed.case);
            match finding(program, folder, defect)? {
                Some(words) => {
                    let words: String = words.chars().take(SHOWN).collect();
                    say(format_args!("found: {line}\n  {words}"));
                }
                None => {
                    say(format_args!("NOT FOUND: {line}"));
                    missed.lock().unwrap_or_else(|lock| lock.into_inner()).push(line);
                }
            }
        }
        Ok(())
    };
    let at_once = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            worker.join().map_err(|_| anyhow::anyhow!("a worker died"))??;
        }
        anyhow::Ok(())
    })?;
    Ok(missed.into_inner().unwrap_or_else(|lock| lock.into_inner()))
}

/// Runs the case of one defect, and returns what it says if it finds it.
fn finding(program: &Path, folder: &Path, defect: &Defect) -> anyhow::Result<Option<String>> {
    let words = folder.join(format!("{}.told", defect.module()));
    let told = File::create(&words).with_context(|| format!("making {}", words.display()))?;
    let mut case = Command::new(program);
    case.args([defect.module().as_str(), &defect.seed.case]).current_dir(folder);
    let case = case.stdin(Stdio::null()).stdout(told).stderr(Stdio::null()).spawn();
    let mut case = case.with_context(|| format!("starting {}", program.display()))?;
    let started = Instant::now();
    let status = loop {
        if let Some(status) = case.try_wait().context("waiting for a case")? {
            break status;
        }
        if started.elapsed() > LONGEST {
            case.kill().context("ending a case")?;
            case.wait().context("ending a case")?;
            return Ok(None);
        }
        thread::sleep(LOOK);
    };
    let words = first_line(&words)?;
    match (status.code(), words) {
        (Some(0), _) => Ok(None),
        (Some(1), Some(words)) => Ok(Some(words)),
        (code, words) => bail!("{} ended with {code:?}: {words:?}", defect.seed.name),
    }
}

fn first_line(file: &PathBuf) -> anyhow::Result<Option<String>> {
    let text = fs::read(file).with_context(|| format!("reading {}", file.display()))?;
    Ok(String::from_utf8_lossy(&text).lines().next().map(str::to_owned))
}
