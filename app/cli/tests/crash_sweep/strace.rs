//! The built program itself, killed and failed at system calls by `strace`, where it is installed.
//!
//! `strace` counts calls for each thread by itself. So it kills, or fails, at the N-th call of
//! whichever thread comes to it first; which leaves some out. For syncs, which are what promises rest
//! on, it holds each of them back for a moment instead, and this program counts them over all
//! threads and kills at the N-th. The trace tells where a kill came in truth.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use serde_json::Value;
use windlass_engine::ports::sync::Mutex;
use windlass_testkit::crash::{Scene, judge};

use crate::layer::is_full;
use crate::task::{Language, Stood, Task};
use crate::turn::{Ended, Kept, Program, Turn};

/// What makes something durable, and stands still for it.
const SYNCS: &str = "fsync,fdatasync";
/// What changes files, as our stores do it.
const WRITES: &str = "write,writev,pwrite64,ftruncate,rename";
/// What tells anybody anything.
const WORDS: &str = "write,writev";
/// What may fail of a disk at a sync.
const FLUSHES: &str = "fsync,fdatasync,sync_file_range";
/// How long a sync is held back, in microseconds, so that the kill comes while it is.
const HELD_US: u32 = 50_000;
/// No thread makes so many calls in a turn.
const MOST: u64 = 2_000;
/// Of the calls, every so many, unless all are asked for.
const SAMPLE: u64 = 13;

/// What is done at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Deed {
    /// Kill at the N-th sync of all threads.
    KillAtSync,
    /// Kill at the N-th write of a thread to the store.
    KillAtWrite,
    /// Kill at the N-th write of a thread to anything else too: the user, the model, another thread.
    KillAtWord,
    /// Fail the N-th sync of a thread.
    FailSync,
    /// Fail the N-th write of a thread to the store, with this error.
    FailWrite(&'static str),
}

const DEEDS: [Deed; 6] = [
    Deed::KillAtSync,
    Deed::KillAtWrite,
    Deed::KillAtWord,
    Deed::FailSync,
    Deed::FailWrite("EIO"),
    Deed::FailWrite("ENOSPC"),
];

/// The sample of SQLite, whose syncs and writes are other ones than those of our own files.
const OF_SQLITE: [(Deed, u64); 2] = [(Deed::KillAtSync, 22), (Deed::FailWrite("ENOSPC"), 83)];

/// For a program: it is killed at each sync, and at some of the other writes of a thread. A disk that
/// fails is swept with the other turn.
const OF_A_PROGRAM: [(Deed, u64); 2] = [(Deed::KillAtSync, 1), (Deed::KillAtWord, 13)];

/// A sweep under way.
struct Sweep {
    kept: Kept,
    task: Task,
    /// The requests of a run that nothing disturbs.
    undisturbed: Vec<Value>,
    /// The files of the store, below its folder.
    files: BTreeSet<PathBuf>,
    found: Mutex<Found>,
}

#[derive(Debug, Default)]
struct Found {
    struck: BTreeMap<Deed, u64>,
    /// At which syncs of all threads the kills came.
    landed: BTreeSet<u64>,
    /// Where programs stood when their processes were killed.
    stood: BTreeMap<Stood, u64>,
    wrong: Vec<String>,
}

pub(crate) fn file() {
    let _ = swept(Kept::File, Task::Calls, &DEEDS.map(|deed| (deed, SAMPLE)));
}

pub(crate) fn sled() {
    let _ = swept(Kept::Sled, Task::Calls, &DEEDS.map(|deed| (deed, SAMPLE)));
}

pub(crate) fn sqlite() {
    let _ = match is_full() {
        true => swept(Kept::Sqlite, Task::Calls, &DEEDS.map(|deed| (deed, 1))),
        false => swept(Kept::Sqlite, Task::Calls, &OF_SQLITE),
    };
}

pub(crate) fn program_ptclisp() {
    let task = Task::Program(Language::PtcLisp);
    let Some(found) = swept(Kept::File, task, &OF_A_PROGRAM) else {
        return;
    };
    let between = found.stood.get(&Stood::Between).copied().unwrap_or(0);
    assert!(between > 0, "no kill came between two calls: {:?}", found.stood);
}

/// Sweeps these deeds, each at every so many calls. `None` where nothing can be traced here.
fn swept(kept: Kept, task: Task, deeds: &[(Deed, u64)]) -> Option<Found> {
    if !traces() {
        eprintln!("strace {kept:?} {task:?}: SKIPPED, strace is not installed or may not trace");
        return None;
    }
    let turn = Turn::new(kept, task).unwrap();
    let life = turn.finish(0, Program::Built).unwrap();
    assert_eq!(life.wrong, Vec::<String>::new());
    let sweep = Sweep {
        kept,
        task,
        undisturbed: life.requests,
        files: files(kept, task),
        found: Mutex::default(),
    };
    for (deed, step) in deeds {
        let step = if is_full() { 1 } else { *step };
        everywhere(step, |call| sweep.at(*deed, call));
    }
    let found = sweep.found.into_inner();
    println!(
        "strace {kept:?} {task:?}: struck {:?}; kills came at {} different syncs, up to number {}; the \
         program stood {:?}; {} violations; of the calls, each so-manyth: {}",
        found.struck,
        found.landed.len(),
        found.landed.last().copied().unwrap_or(0),
        found.stood,
        found.wrong.len(),
        match is_full() {
            true => "all".to_owned(),
            false => format!("{deeds:?}"),
        }
    );
    assert!(found.wrong.is_empty(), "{}", found.wrong.join("\n"));
    for (deed, _) in deeds {
        let struck = found.struck.get(deed).copied().unwrap_or(0);
        assert!(struck > 0, "{deed:?} never struck");
    }
    Some(found)
}

/// Whether anything can be traced here. Where `strace` is installed, it may still not be allowed to,
/// as in some containers.
pub(crate) fn traces() -> bool {
    let traces = Command::new("strace").args(["-f", "-qq", "true"]).output();
    traces.is_ok_and(|output| output.status.success())
}

/// The files that a turn writes to in its store, found by watching one.
fn files(kept: Kept, task: Task) -> BTreeSet<PathBuf> {
    let mut turn = Turn::new(kept, task).unwrap();
    let mut traced = strace(&turn, &["-y", "-e", &format!("trace={WRITES},{FLUSHES}")]);
    program(&turn, &mut traced);
    let ended = turn.process(traced).unwrap();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let trace = fs::read_to_string(turn.path().join("trace")).unwrap();
    let store = turn.store();
    let of_descriptors = trace.lines().filter_map(|line| {
        let (_, rest) = line.split_once('<')?;
        Some(PathBuf::from(rest.split_once('>')?.0))
    });
    let below = |path: PathBuf| Some(path.strip_prefix(&store).ok()?.to_owned());
    let files: BTreeSet<PathBuf> = of_descriptors.filter_map(below).collect();
    assert!(!files.is_empty(), "nothing was written: {trace}");
    files
}

impl Sweep {
    /// Does a deed at a call, lets the turn come to its end, and judges. Answers whether it struck
    /// and the turn came to its end.
    fn at(&self, deed: Deed, call: u64) -> bool {
        match self.try_at(deed, call) {
            Ok(struck) => struck,
            Err(what) => {
                self.note(deed, call, what);
                false
            }
        }
    }

    fn try_at(&self, deed: Deed, call: u64) -> Result<bool, String> {
        let mut turn = Turn::new(self.kept, self.task)?;
        let store = turn.store();
        let files: Vec<PathBuf> = self.files.iter().map(|file| store.join(file)).collect();
        let (ended, struck) = match deed {
            Deed::KillAtSync => self.kill_at_sync(&mut turn, call)?,
            Deed::KillAtWrite => killed(inject(&mut turn, WRITES, "signal=KILL", call, &files)?),
            Deed::KillAtWord => killed(inject(&mut turn, WORDS, "signal=KILL", call, &[])?),
            Deed::FailSync => fail(&mut turn, FLUSHES, "EIO", call, &files)?,
            Deed::FailWrite(errno) => fail(&mut turn, WRITES, errno, call, &files)?,
        };
        if !struck && ended.code != Some(0) {
            return Err(format!("nothing struck, and yet: {ended:?}"));
        }
        if struck {
            *self.found().struck.entry(deed).or_default() += 1;
            if let Some(stood) = turn.stood()? {
                *self.found().stood.entry(stood).or_default() += 1;
            }
            let life = turn.finish(1, Program::Built)?;
            let scene = Scene {
                log: &life.log,
                acknowledged: &life.acknowledged,
                effects: &life.effects,
                requests: &life.requests,
                undisturbed: &self.undisturbed,
            };
            let violations = judge(&scene).into_iter().map(|it| it.to_string());
            for what in violations.chain(life.wrong) {
                self.note(deed, call, what);
            }
        }
        Ok(struck)
    }

    /// Holds each sync back, and kills at the N-th.
    fn kill_at_sync(&self, turn: &mut Turn, nth: u64) -> Result<(Ended, bool), String> {
        let hold = format!("inject={SYNCS}:delay_enter={HELD_US}");
        let mut command = Command::new("strace");
        command.args(["-f", "--seccomp-bpf", "-qq", "-e", &format!("trace={SYNCS}")]);
        command.args(["-e", &hold]);
        // The trace is read as it comes; what the program itself says goes to a file.
        let line = "echo $$ > pid && exec \"$0\" \"$@\" 2> err";
        command.args(["sh", "-c", line]);
        program(turn, &mut command);
        turn.at_home(&mut command);
        let pid = turn.path().join("pid");
        let mut sent = false;
        let ended = turn.process_seeing(command, |trace| {
            if !sent && begun(trace) >= nth {
                sent = true;
                kill(&pid);
            }
        })?;
        let (ended, struck) = killed(ended);
        if struck {
            self.found().landed.insert(done(&ended.err) + 1);
        }
        Ok((ended, struck))
    }

    fn note(&self, deed: Deed, call: u64, what: String) {
        let wrong = format!("{:?} {:?} {deed:?} {call}: {what}", self.kept, self.task);
        self.found().wrong.push(wrong);
    }

    fn found(&self) -> std::sync::MutexGuard<'_, Found> {
        self.found.lock()
    }
}

/// An end, and whether it was by a kill.
fn killed(ended: Ended) -> (Ended, bool) {
    let struck = ended.signal == Some(9);
    (ended, struck)
}

/// Fails calls on the store's files. The program may do without some of them.
fn fail(
    turn: &mut Turn,
    calls: &str,
    errno: &str,
    nth: u64,
    files: &[PathBuf],
) -> Result<(Ended, bool), String> {
    let ended = inject(turn, calls, &format!("error={errno}"), nth, files)?;
    let trace = fs::read_to_string(turn.path().join("trace"));
    let struck = trace.is_ok_and(|trace| trace.contains("(INJECTED)"));
    if struck && ended.code != Some(0) {
        ended.is_store_failure()?;
    }
    Ok((ended, struck))
}

/// Runs the program with something injected at the N-th of these calls, of each thread.
fn inject(
    turn: &mut Turn,
    calls: &str,
    what: &str,
    nth: u64,
    files: &[PathBuf],
) -> Result<Ended, String> {
    let inject = format!("inject={calls}:{what}:when={nth}");
    let mut command = strace(turn, &["-e", &format!("trace={calls}"), "-e", &inject]);
    for file in files {
        command.arg("-P").arg(file);
    }
    program(turn, &mut command);
    turn.process(command)
}

/// `strace` with its trace in a file.
fn strace(turn: &Turn, arguments: &[&str]) -> Command {
    let mut command = Command::new("strace");
    // Without --seccomp-bpf: with it, strace 6.1 sends no signal at any call but a thread's first.
    command.args(["-f", "-qq", "-o", "trace"]);
    command.args(arguments);
    turn.at_home(&mut command);
    command
}

/// Adds the program and its words.
fn program(turn: &Turn, command: &mut Command) {
    command.arg(env!("CARGO_BIN_EXE_windlass"));
    command.args(turn.words().unwrap());
}

/// How many syncs a trace has begin.
fn begun(trace: &[u8]) -> u64 {
    String::from_utf8_lossy(trace).matches("sync(").count() as u64
}

/// How many syncs a trace has end well.
fn done(trace: &str) -> u64 {
    let ends = |line: &&str| line.contains("sync") && line.trim_end().contains("= 0");
    trace.lines().filter(ends).count() as u64
}

/// Kills the process whose number is in this file.
fn kill(pid: &std::path::Path) {
    let number = fs::read_to_string(pid).unwrap_or_default();
    let number = number.trim().parse().ok();
    if let Some(pid) = number.and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// Does this for 1 and every `step`-th number after it, until it answers `false`.
pub(crate) fn everywhere(step: u64, act: impl Fn(u64) -> bool + Sync) {
    let (next, ended) = (AtomicU64::new(1), AtomicBool::new(false));
    let workers = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while !ended.load(Ordering::SeqCst) {
                    let number = next.fetch_add(step, Ordering::SeqCst);
                    assert!(number < MOST, "it strikes for ever");
                    if !act(number) {
                        ended.store(true, Ordering::SeqCst);
                    }
                }
            });
        }
    });
}
