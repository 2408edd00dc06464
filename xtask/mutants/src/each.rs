//! The tests, once for each mutation that is built in: until the first of them fails.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde::Serialize;

use super::list::Mutation;
use super::programs::{Built, Program};
use super::switch::{Numbered, VARIABLE};
use xtask::say::say;

/// Seconds of the processor that one test program may take, which needs less than three without a
/// mutation. Time of the clock would make a busy machine look like a mutation without an end.
const CPU_SECS: u32 = 15;
/// A mutation without an end may also take memory without an end.
const MEMORY_KIB: u32 = 4 << 20;

/// Result of testing a mutation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Fate {
    /// A test failed over the mutation.
    Killed { program: String, test: String },
    /// A test did not come to an end within the time of the processor or the memory that it has, or
    /// took its process with it.
    Ended { program: String, test: String },
    /// All tests passed over the mutation.
    Survived,
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    mutation: &'a str,
    fate: &'a Fate,
    secs: f64,
}

/// Runs the tests over each mutation, on `jobs` threads. A line of each goes to `folder`, as soon as
/// it is known.
///
/// # Errors
/// When a test fails without any mutation, or a program cannot be started.
pub(super) fn run(
    built: &Built,
    mutations: &[Numbered<'_>],
    jobs: usize,
    folder: &Path,
) -> anyhow::Result<BTreeMap<u32, Fate>> {
    let fate = trial(&built.programs, 0)?;
    ensure!(
        fate == Fate::Survived,
        "the tests fail over the core as it is, so they show nothing of a mutation: {fate:?}"
    );
    let path = folder.join("switched.jsonl");
    let told = File::create(&path).with_context(|| format!("making {}", path.display()))?;
    say(format_args!(
        "{} mutations, {jobs} at a time; each is told in {}",
        built.numbers.len(),
        path.display()
    ));
    let these = mutations.iter().copied();
    let shared = Shared {
        waiting: these.filter(|(number, _)| built.numbers.contains(number)).collect(),
        last: BTreeMap::new(),
        fates: BTreeMap::new(),
        told,
    };
    let shared = Mutex::new(shared);
    let work = || work(&built.programs, &shared);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
        let ends = threads.into_iter().map(|thread| match thread.join() {
            Ok(end) => end,
            Err(_) => Err(anyhow::anyhow!("a thread that ran tests panicked")),
        });
        ends.collect::<anyhow::Result<()>>()
    })?;
    let shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(shared.fates)
}

/// State that the threads share.
struct Shared<'a> {
    waiting: VecDeque<Numbered<'a>>,
    /// The program that killed the last mutation of a file: it may well kill the next.
    last: BTreeMap<&'a str, String>,
    fates: BTreeMap<u32, Fate>,
    told: File,
}

fn work<'a>(programs: &[Program], shared: &Mutex<Shared<'a>>) -> anyhow::Result<()> {
    let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let (next, last) = {
            let mut shared = lock();
            let next = shared.waiting.pop_front();
            let last = next.and_then(|(_, mutation)| shared.last.get(mutation.file.as_str()));
            (next, last.cloned())
        };
        let Some((number, mutation)) = next else {
            return Ok(());
        };
        let mut order = programs.to_vec();
        order.sort_by_key(|program| Some(&program.name) != last.as_ref());
        let started = Instant::now();
        let fate = trial(&order, number)?;
        let secs = started.elapsed().as_secs_f64();
        lock().tell(number, mutation, fate, secs)?;
    }
}

impl<'a> Shared<'a> {
    fn tell(
        &mut self,
        number: u32,
        mutation: &'a Mutation,
        fate: Fate,
        secs: f64,
    ) -> anyhow::Result<()> {
        let line = Line { mutation: &mutation.name, fate: &fate, secs };
        let line = serde_json::to_string(&line).context("writing what became of a mutation")?;
        writeln!(self.told, "{line}").context("writing what became of a mutation")?;
        match &fate {
            Fate::Killed { program, .. } | Fate::Ended { program, .. } => {
                self.last.insert(&mutation.file, program.clone());
            }
            Fate::Survived => say(format_args!("survives: {}", mutation.name)),
        }
        self.fates.insert(number, fate);
        let done = self.fates.len();
        if done.is_multiple_of(100) {
            say(format_args!("{done} are through"));
        }
        Ok(())
    }
}

/// Runs the programs over one mutation, in this order, until a test fails.
fn trial(programs: &[Program], number: u32) -> anyhow::Result<Fate> {
    for program in programs {
        let mut child = start(program, number)?;
        let (failed, last) = watch(&mut child);
        let name = program.name.clone();
        if let Some(test) = failed {
            // It may have ended by itself.
            let _ended = child.kill();
            child.wait().context("waiting for a test program")?;
            return Ok(Fate::Killed { program: name, test });
        }
        let status = child.wait().context("waiting for a test program")?;
        if !status.success() {
            return Ok(Fate::Ended { program: name, test: last });
        }
    }
    Ok(Fate::Survived)
}

fn start(program: &Program, number: u32) -> anyhow::Result<Child> {
    let limits =
        format!("ulimit -t {CPU_SECS}; ulimit -v {MEMORY_KIB} || true; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command
        .args(["-c", &limits])
        .arg(&program.path)
        // In one order, so that the first that fails is the same in each run.
        .arg("--test-threads=1")
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .env(VARIABLE, number.to_string())
        .env("PROPTEST_CASES", "96")
        // What fails is not made smaller: that it fails is enough.
        .env("PROPTEST_MAX_SHRINK_ITERS", "0")
        .env("RUST_BACKTRACE", "0")
        .env_remove("UPDATE_EXPECT")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let shown = program.path.display();
    command.spawn().with_context(|| format!("starting {shown}"))
}

/// Reads the output of a test program until it ends or a test fails; returns that test, and the last that began.
fn watch(child: &mut Child) -> (Option<String>, String) {
    let mut last = String::new();
    let Some(out) = child.stdout.take() else {
        return (None, last);
    };
    for line in BufReader::new(out).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        // `test name ... FAILED`; what a test prints itself may stand between.
        if let Some((name, end)) =
            line.strip_prefix("test ").and_then(|rest| rest.split_once(" ..."))
        {
            name.clone_into(&mut last);
            if end.trim_end().ends_with("FAILED") {
                return (Some(last.clone()), last);
            }
        }
    }
    (None, last)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn program(folder: &Path, name: &str, script: &str) -> Program {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Program { name: name.to_owned(), path, folder: folder.to_path_buf() }
    }

    #[test]
    fn the_first_test_that_fails_kills_a_mutation() {
        let folder = tempfile::tempdir().unwrap();
        let passes = program(folder.path(), "passes", "echo 'test a ... ok'");
        let fails = program(
            folder.path(),
            "fails",
            "echo 'test a ... ok'; test $WINDLASS_MUTATION = 1 || exit 0; echo 'test b ... FAILED'; exec sleep 100",
        );
        let both = [passes, fails];
        assert_eq!(trial(&both, 0).unwrap(), Fate::Survived);
        let killed = Fate::Killed { program: String::from("fails"), test: String::from("b") };
        assert_eq!(trial(&both, 1).unwrap(), killed);
    }

    #[test]
    fn a_program_that_ends_badly_is_told_with_the_test_that_ran() {
        let folder = tempfile::tempdir().unwrap();
        let aborts = program(folder.path(), "aborts", "echo 'test a ... '; kill -ABRT $$");
        let ended = Fate::Ended { program: String::from("aborts"), test: String::from("a") };
        assert_eq!(trial(&[aborts], 1).unwrap(), ended);
    }
}
