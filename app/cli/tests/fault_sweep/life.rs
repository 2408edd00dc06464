//! Lives: one program under one fault, and what became of what it acknowledged.

#[path = "../common/mod.rs"]
mod common;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_testkit::faults::{CallPlan, LifeEnd, ShortLibrary, ShortPlan};

use self::common::Place;
use crate::client::{Served, Watched};
use crate::program::{NOTE, PLAN};
use crate::stores::Kept;

/// Sessions of a life under the server.
const SESSIONS: usize = 2;
/// Longest time in which a request is accepted, and in which a turn settles.
const ACCEPT: Duration = Duration::from_secs(20);
/// Longest time for the lease of a process that has died to end, on a machine that is busy.
const LEASE: Duration = Duration::from_secs(60);
const SETTLE: Duration = Duration::from_secs(45);
/// Most system calls that a fault strikes that passes.
const PASSING: usize = 4;
/// Calls of each turn.
const TASK: &str = r#"repeat 3: count {"n":1}"#;
/// Folder of a store in files, below its workspace.
const KEPT: &str = "kept";
/// Session of a life of `windlass run`.
const SESSION: &str = "s";

/// How a fault is made.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// At a call of the port, by the kit's layer.
    Call(CallPlan),
    /// At a system call, by `strace`: the names of the calls, what is injected, and the files of the
    /// store that are meant; any file or socket if none is named.
    SystemCall { calls: &'static str, inject: String, files: Vec<PathBuf> },
    /// At reads and writes on the store's files, by the kit's library.
    Short(ShortLibrary, ShortPlan),
}

/// The place of one life.
struct Scene {
    place: Place,
    store: String,
    tools: String,
}

/// An input that was acknowledged.
struct Acknowledged {
    session: String,
    watched: Watched,
}

impl Fault {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Call(plan) => plan.to_string(),
            Self::SystemCall { inject, .. } => inject.clone(),
            Self::Short(_, plan) => plan.to_string(),
        }
    }
}

/// Serves two sessions with watchers. `None` if the server did not start.
pub(crate) fn served(kept: &Kept, fault: &Fault) -> Option<LifeEnd> {
    let scene = Scene::new(kept);
    let mut end = LifeEnd::default();
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let mut server = Served::start(scene.command(&serve, Some(fault)));
    let mut acknowledged = Vec::new();
    for number in 0..SESSIONS {
        let key = format!("key{number}");
        let opened = server.insist("POST /v1/sessions", &key, "{}", 201, ACCEPT);
        let Some(session) = opened.as_ref().and_then(|opened| opened["id"].as_str()) else {
            continue;
        };
        let watched = Watched::default();
        server.watch(session, watched.clone());
        let what = format!("POST /v1/sessions/{session}/turns");
        let body = json!({"text": TASK}).to_string();
        if server.insist(&what, &key, &body, 202, ACCEPT).is_some() {
            acknowledged.push(Acknowledged { session: session.to_owned(), watched });
        }
    }
    let mut open = settle(&mut server, &acknowledged);
    // `strace` counts by thread: a store that starts threads when it is opened again fails again.
    end.repeated = scene.strikes(fault) > PASSING;
    if !open.is_empty() && end.repeated && !server.has_ended() {
        server.end();
    }
    if server.has_ended() {
        if acknowledged.is_empty() && !server.has_started() {
            return None;
        }
        end.restarts += 1;
        server = Served::start(scene.command(&serve, None));
        open = settle(&mut server, &acknowledged);
    }
    end.settled = acknowledged.len().saturating_sub(open.len()) as u64;
    end.stuck = open;
    server.stop();
    end.injected = scene.injected(fault);
    for one in &acknowledged {
        scene.judge_log(&one.session, &mut end);
        let log = scene.log(&one.session);
        for (at, text) in one.watched.lock().unwrap().iter() {
            let index = usize::try_from(at - 1).unwrap();
            if log.get(index) != Some(text) {
                end.lost.push(format!("a watcher of {} received {text}", one.session));
            }
        }
    }
    scene.judge_effects(&mut end);
    Some(end)
}

/// Runs one turn of the command, and resumes it if it does not end well.
pub(crate) fn ran(kept: &Kept, fault: &Fault) -> Option<LifeEnd> {
    let scene = Scene::new(kept);
    let mut end = LifeEnd::default();
    let run = ["run", TASK, "--session", SESSION, "--json"];
    let output = scene.command(&run, Some(fault)).output().unwrap();
    end.injected = scene.injected(fault);
    let told = String::from_utf8(output.stdout).unwrap();
    let facts: Vec<&str> = told.lines().filter(|line| is_fact(line)).collect();
    if output.status.code() != Some(0) {
        end.restarts += 1;
        let resumed = scene.resumed();
        let known = !facts.is_empty();
        if known && resumed.status.code() != Some(0) {
            let words = String::from_utf8_lossy(&resumed.stderr).into_owned();
            end.stuck.push(format!("{SESSION} cannot be resumed: {words}"));
        }
        if !known && resumed.status.code() != Some(0) {
            // Nothing was acknowledged, and there may be no session.
            scene.judge_effects(&mut end);
            return Some(end);
        }
    }
    end.settled += u64::from(end.stuck.is_empty());
    let log = scene.log(SESSION);
    for fact in facts {
        if !log.iter().any(|line| line == fact) {
            end.lost.push(format!("the user was told {fact}"));
        }
    }
    scene.judge_log(SESSION, &mut end);
    scene.judge_effects(&mut end);
    Some(end)
}

/// Files and folders of a store in files after a run that nothing disturbs, relative to the workspace.
pub(crate) fn files(kept: &Kept) -> Vec<PathBuf> {
    let scene = Scene::new(kept);
    let run = ["run", TASK, "--session", SESSION, "--json"];
    let output = scene.command(&run, None).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let workspace = scene.place.file("");
    let (mut found, mut folders) = (Vec::new(), vec![scene.place.file(KEPT)]);
    while let Some(folder) = folders.pop() {
        found.push(folder.strip_prefix(&workspace).unwrap().to_owned());
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path.strip_prefix(&workspace).unwrap().to_owned()),
            }
        }
    }
    let while_open: &[&str] = match kept {
        Kept::Sqlite => &["windlass.sqlite3-wal", "windlass.sqlite3-shm"],
        Kept::File | Kept::Sled | Kept::Postgres(_) | Kept::Nats(_) => &[],
    };
    found.extend(while_open.iter().map(|name| PathBuf::from(KEPT).join(name)));
    found
}

fn is_fact(line: &str) -> bool {
    let envelope: Value = serde_json::from_str(line).unwrap_or_default();
    envelope["seq"].is_u64()
}

/// Waits until all turns have settled, or the server has ended. Returns those that have not.
fn settle(server: &mut Served, acknowledged: &[Acknowledged]) -> Vec<String> {
    let until = Instant::now() + SETTLE;
    let mut open = Vec::new();
    for one in acknowledged {
        let what = format!("GET /v1/sessions/{}/turns", one.session);
        loop {
            let answer = server.ask(&what, "", "");
            let turns = answer.as_ref().and_then(|(_, answer)| answer["turns"].as_array());
            let settled = |turn: &Value| turn["state"] == "settled";
            if turns.is_some_and(|turns| !turns.is_empty() && turns.iter().all(settled)) {
                break;
            }
            if server.has_ended() || Instant::now() > until {
                open.push(format!("{}: {answer:?}", one.session));
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
    open
}

impl Scene {
    fn new(kept: &Kept) -> Self {
        let place = Place::new();
        let tools = place.counter("effectful");
        Self { place, store: kept.fresh(), tools }
    }

    /// The command, with the fault.
    fn command(&self, words: &[&str], fault: Option<&Fault>) -> Command {
        let more = match words.first() {
            Some(&"log" | &"verify") => vec!["--store", &self.store],
            Some(_) | None => vec!["--store", &self.store, "--tools", &self.tools],
        };
        let plain = self.place.command(&[words, &more].concat());
        let mut command = match fault {
            None => Command::new(env!("CARGO_BIN_EXE_windlass")),
            Some(Fault::Call(plan)) => {
                let mut command = Command::new(std::env::current_exe().unwrap());
                command.env(PLAN, plan.to_string()).env(NOTE, self.note());
                command
            }
            Some(Fault::SystemCall { calls, inject, files }) => {
                let mut command = Command::new("strace");
                command.args(["-D", "-f", "-qq", "-o"]).arg(self.note());
                command.args(["-e", &format!("trace={calls}")]);
                command.args(["-e", &format!("inject={inject}")]);
                for file in files {
                    command.arg("-P").arg(self.place.file("").join(file));
                }
                command.arg(env!("CARGO_BIN_EXE_windlass"));
                command
            }
            Some(Fault::Short(library, plan)) => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
                let below = self.place.path().canonicalize().unwrap().join(KEPT);
                library.preload(&mut command, *plan, &below, &self.note());
                command
            }
        };
        command.args(plain.get_args()).current_dir(self.place.path());
        let envs: Vec<_> = plain.get_envs().collect();
        for name in ["PATH", "HOME", "WINDLASS_HOME"] {
            let value = envs.iter().find(|(known, _)| *known == name);
            if let Some((name, Some(value))) = value {
                command.env(name, value);
            }
        }
        // What nobody reads would fill a pipe.
        command.env("WINDLASS_LOG", "off").stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Resumes the session, again while a process that has died still holds its lease.
    fn resumed(&self) -> Output {
        let until = Instant::now() + LEASE;
        loop {
            let output = self.command(&["resume", SESSION, "--json"], None).output().unwrap();
            let words = String::from_utf8_lossy(&output.stderr);
            if !words.contains("without a renewal") || Instant::now() > until {
                return output;
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    fn note(&self) -> PathBuf {
        self.place.file("note")
    }

    /// Number of system calls that were failed.
    fn strikes(&self, fault: &Fault) -> usize {
        let note = std::fs::read_to_string(self.note()).unwrap_or_default();
        match fault {
            Fault::Call(_) | Fault::Short(..) => 0,
            Fault::SystemCall { .. } => note.matches("(INJECTED)").count(),
        }
    }

    fn injected(&self, fault: &Fault) -> bool {
        let note = std::fs::read_to_string(self.note()).unwrap_or_default();
        match fault {
            Fault::Call(_) | Fault::Short(..) => !note.is_empty(),
            Fault::SystemCall { inject, .. } => {
                note.contains("(INJECTED)")
                    || (inject.contains("signal=") && note.contains("+++ killed by SIGKILL"))
            }
        }
    }

    /// The lines of a session's log.
    fn log(&self, session: &str) -> Vec<String> {
        let output = self.command(&["log", session], None).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// Holds a log to its one input and to its checks.
    fn judge_log(&self, session: &str, end: &mut LifeEnd) {
        let queued = |line: &&String| line.contains("\"kind\":\"InputQueued\"");
        let queued = self.log(session).iter().filter(queued).count();
        match queued {
            1 => {}
            0 => end.lost.push(format!("the input of {session}")),
            many => end.twice.push(format!("the input of {session} is there {many} times")),
        }
        let verified = self.command(&["verify", session], None).output().unwrap();
        if verified.status.code() != Some(0) {
            let words = String::from_utf8_lossy(&verified.stderr).into_owned();
            end.wrong.push(format!("{session} does not verify: {words}"));
        }
    }

    /// Holds the effects to at most one a key.
    fn judge_effects(&self, end: &mut LifeEnd) {
        let mut keys = BTreeSet::new();
        for key in self.place.counted() {
            if !keys.insert(key.clone()) {
                end.twice.push(format!("the call with the key {key}"));
            }
        }
    }
}
