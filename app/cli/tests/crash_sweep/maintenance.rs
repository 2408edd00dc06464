//! Maintenance commands, killed at their system calls, with a call on a file that fails, or with reads and
//! writes that move a part: the same command again finishes, and nothing that it erases is left in any
//! file.
//!
//! `strace` counts the calls of a kind by thread, so of two threads that come to the N-th call it
//! strikes at the first.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;
use windlass_engine::ports::sync::Mutex;
use windlass_testkit::faults::{ShortCalls, ShortLibrary, ShortPart, ShortPlan};

use crate::chores::{CHORES, Chore, FILE, changed};
use crate::layer::is_full;
use crate::strace::{everywhere, traces};
use crate::turn::{Ended, finished};

/// Calls that change files or make changes durable.
const CALLS: [&str; 11] = [
    "write",
    "pwrite64",
    "ftruncate",
    "fsync",
    "fdatasync",
    "rename",
    "unlink",
    "unlinkat",
    "rmdir",
    "mkdir",
    "openat",
];
/// Calls that fail, and their errors.
const ERRORS: [(&str, &str); 13] = [
    ("write", "EIO"),
    ("write", "ENOSPC"),
    ("pwrite64", "EIO"),
    ("pwrite64", "ENOSPC"),
    ("ftruncate", "EIO"),
    ("fsync", "EIO"),
    ("fdatasync", "EIO"),
    ("rename", "EIO"),
    ("unlink", "EIO"),
    ("unlinkat", "EIO"),
    ("mkdir", "ENOSPC"),
    ("openat", "EMFILE"),
    ("pread64", "EIO"),
];
/// Code of a command whose store failed.
const STORE_FAILED: i32 = 5;
/// Of the kinds of calls, a command is killed at every so many in the sample.
const SAMPLE_OF_KILLS: usize = 4;
/// Of the kinds of errors, a command has every so many in the sample.
const SAMPLE_OF_ERRORS: usize = 24;
/// Of the commands, every so many has short reads and writes in the sample.
const SAMPLE_OF_SHORT: usize = 4;
/// Of the calls of a kind, every so many, unless all are asked for.
const SAMPLE: u64 = 40;
/// Opening files is the most frequent call, and changes something only where it creates one.
const SAMPLE_OF_OPENS: u64 = 97;

/// A folder with stores and files.
pub(crate) struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.0.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("WINDLASS_SANDBOX", "off")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ended {
        let mut command = self.command(env!("CARGO_BIN_EXE_windlass"));
        command.args(words);
        finished(command).unwrap()
    }

    pub(crate) fn ok(&self, words: &[&str]) -> String {
        let ended = self.run(words);
        assert_eq!(ended.code, Some(0), "{words:?}: {ended:?}");
        ended.out
    }

    /// Runs a command that is killed at the N-th call of this kind.
    fn kill(&self, words: &[&str], call: &str, nth: u64) -> Ended {
        let mut command = self.command("strace");
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}")]);
        command.args(["-e", &format!("inject={call}:signal=KILL:when={nth}")]);
        command.arg(env!("CARGO_BIN_EXE_windlass")).args(words);
        finished(command).unwrap()
    }

    /// Runs a command of which the N-th call of this kind fails that a thread makes on these files.
    /// Returns true if one did.
    fn fail(
        &self,
        words: &[&str],
        (call, error): (&str, &str),
        nth: u64,
        files: &[PathBuf],
    ) -> (Ended, bool) {
        let mut command = self.command("strace");
        let trace = TempDir::new().unwrap();
        let trace = trace.path().join("trace");
        command.args(["-f", "-qq", "-o"]).arg(&trace).args(["-e", &format!("trace={call}")]);
        command.args(["-e", &format!("inject={call}:error={error}:when={nth}")]);
        for file in files {
            command.arg("-P").arg(self.0.path().join(file));
        }
        command.arg(env!("CARGO_BIN_EXE_windlass")).args(words);
        let ended = finished(command).unwrap();
        let trace = fs::read_to_string(trace).unwrap_or_default();
        (ended, trace.contains("(INJECTED)"))
    }

    /// Runs a command whose reads and writes are short by this plan. Returns true if one was.
    fn shorten(&self, words: &[&str], library: &ShortLibrary, plan: ShortPlan) -> (Ended, bool) {
        let note = TempDir::new().unwrap();
        let note = note.path().join("note");
        let mut command = self.command(env!("CARGO_BIN_EXE_windlass"));
        library.preload(&mut command, plan, &self.0.path().canonicalize().unwrap(), &note);
        command.args(words);
        let ended = finished(command).unwrap();
        (ended, note.exists())
    }

    /// Files and folders, without those of the user, relative to the place.
    fn files(&self) -> BTreeSet<PathBuf> {
        let (mut found, mut folders) = (BTreeSet::new(), vec![self.0.path().to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let relative = path.strip_prefix(self.0.path()).unwrap().to_owned();
                if relative.starts_with("home") {
                    continue;
                }
                found.insert(relative);
                if path.is_dir() {
                    folders.push(path);
                }
            }
        }
        found
    }

    fn copy(&self) -> Self {
        let copy = Self::new();
        copy_folder(self.0.path(), copy.0.path());
        copy
    }

    /// Sessions whose logs differ from those that were noted before.
    pub(crate) fn differing(&self, store: &str, sessions: &[&str]) -> Vec<String> {
        let mut wrong = Vec::new();
        for session in sessions {
            let noted = fs::read_to_string(self.path(&format!("{session}.log"))).unwrap();
            let log = self.run(&["log", session, "--store", store]);
            if (log.code, &log.out) != (Some(0), &noted) {
                wrong.push(format!("the log of {session} in {store} is another: {log:?}"));
            }
        }
        wrong
    }

    /// Files below a folder that contain a text.
    pub(crate) fn containing(&self, folder: &str, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.path(folder)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let bytes = fs::read(&path).unwrap();
                    if bytes.windows(text.len()).any(|at| at == text.as_bytes()) {
                        found.push(format!("{} contains {text}", path.display()));
                    }
                }
            }
        }
        found
    }
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let copy = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&copy).unwrap();
            copy_folder(&entry.path(), &copy);
        } else {
            fs::copy(entry.path(), copy).unwrap();
        }
    }
}

/// What strikes a command.
#[derive(Debug, Clone, Copy)]
enum Strike<'a> {
    /// It is killed at a call of this kind.
    Kill(&'a str),
    /// A call on one of the files fails.
    Fail((&'a str, &'a str), &'a [PathBuf]),
    /// Reads or writes move half of their bytes: the one with the number, or each for 0.
    Short(ShortCalls, &'a ShortLibrary),
}

/// A command under strikes, and what they found.
struct Sweep<'a> {
    chore: &'a Chore,
    before: &'a Place,
    struck: AtomicU64,
    found: Mutex<Vec<String>>,
}

/// Kills each command at its calls, lets its calls fail, and runs it again.
pub(crate) fn swept() {
    if !traces() {
        eprintln!("maintenance: SKIPPED, strace is not installed or may not trace");
        return;
    }
    let folder = TempDir::new().unwrap();
    let library = ShortLibrary::build(folder.path());
    if let Err(error) = &library {
        eprintln!("maintenance with short counts: SKIPPED, {error}");
    }
    let only = std::env::var("WINDLASS_CRASH_CHORE").ok();
    let mut wrong = Vec::new();
    let chores = CHORES.iter().enumerate();
    for (number, chore) in chores.filter(|(_, it)| only.as_ref().is_none_or(|only| only == it.name))
    {
        let place = Place::new();
        (chore.prepare)(&place);
        let killed = Sweep::new(chore, &place);
        for (at_call, call) in CALLS.into_iter().enumerate() {
            if is_full() || (number + at_call).is_multiple_of(SAMPLE_OF_KILLS) {
                killed.at_calls(Strike::Kill(call), call);
            }
        }
        let files = touched(chore, &place);
        let failed = Sweep::new(chore, &place);
        for (at_error, error) in ERRORS.into_iter().enumerate() {
            if is_full() || (number + at_error).is_multiple_of(SAMPLE_OF_ERRORS) {
                failed.at_calls(Strike::Fail(error, &files), error.0);
            }
        }
        let shortened = Sweep::new(chore, &place);
        if let Ok(library) = &library {
            shortened.short(library, number);
        }
        let [(killed, found), (failed, more), (shortened, most)] =
            [killed.end(), failed.end(), shortened.end()];
        println!(
            "maintenance {}: killed {killed}, failed {failed}, shortened {shortened}; {} violations",
            chore.name,
            found.len() + more.len() + most.len()
        );
        assert!(killed > 0, "{} was never killed", chore.name);
        wrong.extend(found.into_iter().chain(more).chain(most));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Files that a command finds and leaves, in a run that nothing disturbs, and those that SQLite has while a
/// database is open.
fn touched(chore: &Chore, before: &Place) -> Vec<PathBuf> {
    let place = before.copy();
    let mut files = place.files();
    place.ok(chore.words);
    files.extend(place.files());
    let database = |file: &&PathBuf| file.extension().is_some_and(|it| it == "sqlite3");
    let databases: Vec<PathBuf> = files.iter().filter(database).cloned().collect();
    for database in databases {
        files.extend(["sqlite3-wal", "sqlite3-shm"].map(|it| database.with_extension(it)));
    }
    files.into_iter().collect()
}

impl<'a> Sweep<'a> {
    fn new(chore: &'a Chore, before: &'a Place) -> Self {
        Self { chore, before, struck: AtomicU64::new(0), found: Mutex::new(Vec::new()) }
    }

    fn end(self) -> (u64, Vec<String>) {
        (self.struck.into_inner(), self.found.into_inner())
    }

    /// Strikes at call after call of a kind, or at a sample.
    fn at_calls(&self, strike: Strike<'_>, call: &str) {
        let step = match (is_full(), call) {
            (true, _) => 1,
            (false, "openat") => SAMPLE_OF_OPENS,
            (false, _) => SAMPLE,
        };
        everywhere(step, |nth| {
            let struck = self.at(strike, nth);
            self.struck.fetch_add(u64::from(struck), Ordering::SeqCst);
            struck
        });
    }

    /// Shortens each read and write at once, in a full sweep also call after call.
    fn short(&self, library: &ShortLibrary, number: usize) {
        if !is_full() && !number.is_multiple_of(SAMPLE_OF_SHORT) {
            return;
        }
        let struck = self.at(Strike::Short(ShortCalls::Both, library), 0);
        self.struck.fetch_add(u64::from(struck), Ordering::SeqCst);
        assert!(struck, "{}: no call was shortened", self.chore.name);
        for calls in [ShortCalls::Reads, ShortCalls::Writes].into_iter().filter(|_| is_full()) {
            self.at_calls(Strike::Short(calls, library), "");
        }
    }

    /// Strikes a command at a call, runs it again, and judges. Returns false if nothing struck.
    fn at(&self, strike: Strike<'_>, nth: u64) -> bool {
        let (chore, place) = (self.chore, self.before.copy());
        let name = match strike {
            Strike::Kill(call) => format!("{} killed at {call} {nth}", chore.name),
            Strike::Fail((call, error), _) => format!("{} {error} at {call} {nth}", chore.name),
            Strike::Short(calls, _) => format!("{} short count in {calls:?} {nth}", chore.name),
        };
        let note = |what: String| self.found.lock().push(format!("{name}: {what}"));
        let (ended, struck) = match strike {
            Strike::Kill(call) => {
                let ended = place.kill(chore.words, call, nth);
                let struck = ended.signal == Some(9);
                (ended, struck)
            }
            Strike::Fail(error, files) => place.fail(chore.words, error, nth, files),
            Strike::Short(calls, library) => {
                let number = (nth > 0).then_some(nth);
                let part = ShortPart::Half;
                let plan = ShortPlan { calls, part, number, taken_for_whole: false };
                place.shorten(chore.words, library, plan)
            }
        };
        let allowed: &[i32] = match (struck, strike) {
            // A short count is no error.
            (false, _) | (true, Strike::Short(..)) => &[0],
            // Some calls are not needed, as those that write a cache.
            (true, Strike::Fail(..)) => &[0, STORE_FAILED],
            (true, Strike::Kill(_)) => &[],
        };
        if !allowed.is_empty() && !ended.code.is_some_and(|code| allowed.contains(&code)) {
            note(format!("struck: {struck}, and yet {ended:?}"));
        }
        if !struck {
            return false;
        }
        let store = changed(chore.words);
        let verify = place.run(&["verify", "--store", &store]);
        if ![Some(0), Some(2), Some(5)].contains(&verify.code) {
            note(format!("between: {verify:?}"));
        }
        // Until the loss is recorded, the other log may go on in the damaged stretch.
        if store == FILE && !["vacuum-erase", "discard"].contains(&chore.name) {
            place.differing(FILE, &["a"]).into_iter().for_each(note);
        }
        let again = place.run(chore.words);
        // What was done before the strike needs not be done again, and is told so.
        let done = verify.code == Some(0) && [Some(2), Some(5)].contains(&again.code);
        if again.code != Some(0) && !done {
            note(format!("again: {again:?}"));
        }
        (chore.wrong)(&place).into_iter().for_each(note);
        let verify = place.run(&["verify", "--store", &store]);
        if verify.code != Some(0) {
            note(format!("verify: {verify:?}"));
        }
        true
    }
}
