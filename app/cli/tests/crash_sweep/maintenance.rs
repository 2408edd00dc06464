//! Maintenance commands, killed at their system calls: the same command again finishes, and nothing
//! that it erases is left in any file.
//!
//! `strace` counts the calls of a kind by thread, so of two threads that come to the N-th call it
//! kills at the first.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;
use windlass_engine::ports::sync::Mutex;

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
/// Of the calls of a kind, every so many, unless all are asked for.
const SAMPLE: u64 = 9;
/// Opening files is the most frequent call, and changes something only where it creates one.
const SAMPLE_OF_OPENS: u64 = 47;
/// Text of the session that is erased, and of nothing else.
const SECRET: &str = "the-secret-of-the-erased-session";

/// A command, its place before it, and what holds after it.
struct Chore {
    name: &'static str,
    prepare: fn(&Place),
    words: &'static [&'static str],
    wrong: fn(&Place) -> Vec<String>,
}

/// A folder with stores and files.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
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

    fn run(&self, words: &[&str]) -> Ended {
        let mut command = self.command(env!("CARGO_BIN_EXE_windlass"));
        command.args(words);
        finished(command).unwrap()
    }

    fn ok(&self, words: &[&str]) -> String {
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

    fn copy(&self) -> Self {
        let copy = Self::new();
        copy_folder(self.0.path(), copy.0.path());
        copy
    }

    /// Sessions whose logs differ from those that were noted before.
    fn differing(&self, store: &str, sessions: &[&str]) -> Vec<String> {
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
    fn containing(&self, folder: &str, text: &str) -> Vec<String> {
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

const FILE: &str = "file:st";
/// Facts of the demo's first turn.
const FORKED_AT: &str = "10";
const SEGMENT: &str = "st/lanes/0000/00000001.seg";

/// A store with sessions `a`, `s` and `c`, of which `c` is in a second segment and `s` in both, and
/// with notes of their logs.
fn sessions(place: &Place) {
    let prompt = format!("run: echo {SECRET} $(seq 1 20000)");
    let run = |prompt: &str, session: &str| {
        place.ok(&["run", prompt, "--session", session, "--store", FILE, "--permissions", "auto"])
    };
    run("hello", "a");
    run(&prompt, "s");
    // A segment whose first bytes are damaged is sealed by its next writer.
    flip(&place.path(SEGMENT));
    run("hello", "c");
    let end = fs::metadata(place.path("st/lanes/0000/00000002.seg")).unwrap().len();
    fs::write(place.path("c.end"), end.to_string()).unwrap();
    flip(&place.path(SEGMENT));
    place.ok(&["resume", "s", "hello again", "--store", FILE, "--permissions", "auto"]);
    for session in ["a", "s", "c"] {
        let log = place.ok(&["log", session, "--store", FILE]);
        fs::write(place.path(&format!("{session}.log")), log).unwrap();
    }
}

fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    bytes[3] ^= 1;
    fs::write(path, bytes).unwrap();
}

fn in_sled(place: &Place) {
    sessions(place);
    place.ok(&["copy", "--from", FILE, "--to", "sled:sl"]);
}

fn exported(place: &Place) {
    sessions(place);
    let export = place.ok(&["export", "s", "--with-outputs", "--store", FILE]);
    fs::write(place.path("s.export"), export).unwrap();
}

/// All that session `c` has was overwritten, and no witness knows it.
fn overwritten(place: &Place) {
    sessions(place);
    let path = place.path("st/lanes/0000/00000002.seg");
    let mut bytes = fs::read(&path).unwrap();
    let end = fs::read_to_string(place.path("c.end")).unwrap();
    bytes[64..end.parse().unwrap()].fill(b'#');
    fs::write(&path, bytes).unwrap();
    fs::remove_dir_all(place.path("st/witness")).unwrap();
}

const CHORES: [Chore; 12] = [
    Chore {
        name: "erase",
        prepare: sessions,
        words: &["erase", "s", "--yes", "--store", FILE],
        wrong: |place| {
            let mut wrong = place.differing(FILE, &["a", "c"]);
            wrong.extend(place.containing("st", SECRET));
            let log = place.run(&["log", "s", "--store", FILE]);
            if log.code != Some(2) {
                wrong.push(format!("it is still there: {log:?}"));
            }
            wrong
        },
    },
    Chore {
        name: "vacuum",
        prepare: sessions,
        words: &["vacuum", "--store", FILE],
        wrong: |place| {
            let mut wrong = place.differing(FILE, &["a", "s", "c"]);
            if place.path(SEGMENT).exists() {
                wrong.push("the merged segment is still there".to_owned());
            }
            wrong
        },
    },
    Chore {
        name: "vacuum-erase",
        prepare: sessions,
        words: &["vacuum", "--erase-after", "0s", "--store", FILE],
        wrong: |place| place.containing("st", SECRET),
    },
    Chore {
        name: "truncate",
        prepare: sessions,
        words: &["repair", "s", "--truncate-at", "5", "--store", FILE],
        wrong: |place| {
            let whole = fs::read_to_string(place.path("s.log")).unwrap();
            let kept = place.run(&["log", "s", "--store", FILE]);
            let saved = fs::read_to_string(place.path("s-after-5.jsonl")).unwrap_or_default();
            let mut wrong = place.differing(FILE, &["a", "c"]);
            if kept.out.lines().count() != 5 || kept.out.clone() + &saved != whole {
                wrong.push(format!("kept {} and saved {}", kept.out.len(), saved.len()));
            }
            wrong
        },
    },
    Chore {
        name: "discard",
        prepare: overwritten,
        words: &["repair", "--lost", "0000/00000002@64", "--save", "lost", "--store", FILE],
        wrong: |place| {
            let saved = fs::read_to_string(place.path("lost.damaged")).unwrap_or_default();
            let mut wrong = place.differing(FILE, &["a"]);
            if !saved.contains("IyMj") {
                wrong.push(format!("nothing was saved: {saved:?}"));
            }
            wrong
        },
    },
    Chore {
        name: "copy-to-file",
        prepare: sessions,
        words: &["copy", "--from", FILE, "--to", "file:there"],
        wrong: |place| place.differing("file:there", &["a", "s", "c"]),
    },
    Chore {
        name: "copy-to-sled",
        prepare: sessions,
        words: &["copy", "--from", FILE, "--to", "sled:there"],
        wrong: |place| place.differing("sled:there", &["a", "s", "c"]),
    },
    Chore {
        name: "copy-from-sled",
        prepare: in_sled,
        words: &["copy", "--from", "sled:sl", "--to", "file:there"],
        wrong: |place| place.differing("file:there", &["a", "s", "c"]),
    },
    Chore {
        name: "import-to-file",
        prepare: exported,
        words: &["import", "s.export", "--store", "file:there"],
        wrong: |place| place.differing("file:there", &["s"]),
    },
    Chore {
        name: "import-to-sled",
        prepare: exported,
        words: &["import", "s.export", "--store", "sled:there"],
        wrong: |place| place.differing("sled:there", &["s"]),
    },
    Chore {
        name: "fork",
        prepare: sessions,
        words: &["fork", "a", "--at", FORKED_AT, "--as", "f", "--store", FILE],
        wrong: |place| {
            let fork = place.run(&["log", "f", "--store", FILE]);
            let mut wrong = place.differing(FILE, &["a", "s", "c"]);
            if fork.code != Some(0) || fork.out.lines().count().to_string() != FORKED_AT {
                wrong.push(format!("the fork is not whole: {fork:?}"));
            }
            wrong
        },
    },
    Chore {
        name: "fork-sled",
        prepare: in_sled,
        words: &["fork", "a", "--at", FORKED_AT, "--as", "f", "--store", "sled:sl"],
        wrong: |place| {
            let fork = place.run(&["log", "f", "--store", "sled:sl"]);
            match fork.code == Some(0) && fork.out.lines().count().to_string() == FORKED_AT {
                true => Vec::new(),
                false => vec![format!("the fork is not whole: {fork:?}")],
            }
        },
    },
];

/// Store that a command changes.
fn changed(words: &[&str]) -> String {
    let after = |flag: &str| {
        let at = words.iter().position(|word| *word == flag)?;
        words.get(at + 1).map(|word| (*word).to_owned())
    };
    after("--to").or_else(|| after("--store")).unwrap()
}

/// Kills each command at its calls, and runs it again.
pub(crate) fn swept() {
    if !traces() {
        eprintln!("maintenance: SKIPPED, strace is not installed or may not trace");
        return;
    }
    let only = std::env::var("WINDLASS_CRASH_CHORE").ok();
    let mut wrong = Vec::new();
    let chores = CHORES.iter().enumerate();
    for (number, chore) in chores.filter(|(_, it)| only.as_ref().is_none_or(|only| only == it.name))
    {
        let place = Place::new();
        (chore.prepare)(&place);
        let (killed, found) = (AtomicU64::new(0), Mutex::new(Vec::new()));
        for (at_call, call) in CALLS.into_iter().enumerate() {
            // In the sample, each command is killed at every other kind of call.
            if !is_full() && !(number + at_call).is_multiple_of(2) {
                continue;
            }
            let step = match (is_full(), call) {
                (true, _) => 1,
                (false, "openat") => SAMPLE_OF_OPENS,
                (false, _) => SAMPLE,
            };
            everywhere(step, |nth| {
                let struck = at(chore, &place, call, nth, &found);
                killed.fetch_add(u64::from(struck), Ordering::SeqCst);
                struck
            });
        }
        let found = found.into_inner();
        let killed = killed.into_inner();
        println!("maintenance {}: killed {killed}; {} violations", chore.name, found.len());
        assert!(killed > 2, "{} was killed {killed} times", chore.name);
        wrong.extend(found);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Kills a command at a call, runs it again, and judges. Returns false if nothing was killed.
fn at(chore: &Chore, before: &Place, call: &str, nth: u64, found: &Mutex<Vec<String>>) -> bool {
    let place = before.copy();
    let ended = place.kill(chore.words, call, nth);
    let note = |what: String| found.lock().push(format!("{} {call} {nth}: {what}", chore.name));
    if ended.signal != Some(9) {
        if ended.code != Some(0) {
            note(format!("nothing was killed, and yet {ended:?}"));
        }
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
    // What was done before the kill needs not be done again, and is told so.
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
