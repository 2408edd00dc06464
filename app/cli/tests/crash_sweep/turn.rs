//! A turn in a place of its own, from its first process to its last.

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use windlass_engine::core::{Fact, ObservationStatus, RecordedFact};
use windlass_engine::ports::codec;
use windlass_testkit::crash::{Effect, Life, Plan};
use windlass_testkit::http::ModelServer;

use crate::program::{LAGS, PLAN, SYNCS};
use crate::task::{EFFECTS, Stood, Task, noted_effects};

/// The session's name.
pub(crate) const SESSION: &str = "s";
const PROMPT: &str = "look, keep, pay";
/// How many processes a turn may need to settle once nothing disturbs it.
const MOST_RESUMES: usize = 2;
/// How long one process may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A store that turns are run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    File,
    Sled,
    Sqlite,
    Memory,
}

/// Which program runs the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    /// The program as it is built.
    Built,
    /// This program, whose store keeps its word.
    Sound,
    /// This program, whose store acknowledges an append before it keeps it.
    Lagging,
}

/// A place with a turn in it.
pub(crate) struct Turn {
    dir: TempDir,
    kept: Kept,
    task: Task,
    server: ModelServer,
    acknowledged: Vec<RecordedFact>,
    pub(crate) wrong: Vec<String>,
    begun: bool,
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Turn {
    pub(crate) fn new(kept: Kept, task: Task) -> Result<Self, String> {
        let made = || -> std::io::Result<Self> {
            let dir = TempDir::new()?;
            fs::write(dir.path().join("tools.json"), task.tools().to_string())?;
            Ok(Self {
                dir,
                kept,
                task,
                server: ModelServer::start(task.model())?,
                acknowledged: Vec::new(),
                wrong: Vec::new(),
                begun: false,
            })
        };
        made().map_err(|error| format!("a place for a turn: {error}"))
    }

    /// The folder of the store.
    pub(crate) fn store(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The words that run the turn, or go on with it.
    pub(crate) fn words(&self) -> Result<Vec<String>, String> {
        let begins = ["run", PROMPT, "--session", SESSION, "--model", "gpt-5"].into_iter();
        let words: Vec<&str> = match self.is_queued()? {
            // A prompt that is in no log was never acknowledged: its user says it again.
            false => begins.chain(self.task.words()).collect(),
            true => vec!["resume", SESSION],
        };
        let base_url = self.server.base_url();
        let more = ["--json", "--tools", "tools.json", "--provider", "openai-chat"];
        let place = ["--base-url", &base_url, "--store", &self.url()];
        let auto = ["--permissions", "auto"];
        let words = words.into_iter().chain(more).chain(place).chain(auto);
        Ok(words.map(str::to_owned).collect())
    }

    /// The built program on this place, with these words after it.
    pub(crate) fn windlass(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        command.args(words).args(["--store", &self.url()]);
        if ["run", "resume"].contains(&words[0]) {
            command.args(["--permissions", "auto"]);
        }
        self.at_home(&mut command);
        command
    }

    /// Has a command run here and see nothing of whoever tests.
    pub(crate) fn at_home(&self, command: &mut Command) {
        command
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path().join("home"))
            // Tools note their effects outside of the workspace, for the sweep to count them.
            .env("WINDLASS_SANDBOX", "off")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    /// Runs this program under a plan.
    pub(crate) fn planned(
        &mut self,
        plan: Option<&Plan>,
        program: Program,
    ) -> Result<Ended, String> {
        let this = match program {
            Program::Built => PathBuf::from(env!("CARGO_BIN_EXE_windlass")),
            Program::Sound | Program::Lagging => {
                std::env::current_exe().map_err(|error| error.to_string())?
            }
        };
        let mut command = Command::new(this);
        command.args(self.words()?);
        self.at_home(&mut command);
        command.env(PLAN, plan.map_or("none".to_owned(), Plan::to_string));
        if program == Program::Lagging {
            command.env(LAGS, "yes");
        }
        self.process(command)
    }

    /// Runs a process of the turn and takes down what it acknowledged.
    pub(crate) fn process(&mut self, command: Command) -> Result<Ended, String> {
        self.process_seeing(command, |_| {})
    }

    /// As [`process`](Self::process), and shows what it has said on standard error as it comes.
    pub(crate) fn process_seeing(
        &mut self,
        command: Command,
        see: impl FnMut(&[u8]),
    ) -> Result<Ended, String> {
        self.begun = true;
        let ended = seen(command, see)?;
        for line in ended.out.lines() {
            let whole: Result<Value, _> = serde_json::from_str(line);
            match whole {
                Ok(line) if line["seq"].is_null() => continue,
                Ok(_) => {}
                // The last line of a process that died may be cut short.
                Err(_) if ended.signal.is_some() => continue,
                Err(error) => self.wrong.push(format!("{line:?} is not JSON: {error}")),
            }
            match codec::decode(line.as_bytes()) {
                Ok(fact) => self.acknowledged.push(fact),
                Err(error) => self.wrong.push(format!("{line:?}: {error}")),
            }
        }
        Ok(ended)
    }

    /// Whether the prompt is in the log.
    fn is_queued(&self) -> Result<bool, String> {
        if !self.begun || !self.store().exists() {
            return Ok(false);
        }
        let queued = |facts: &[RecordedFact]| {
            let mut facts = facts.iter();
            facts.any(|fact| matches!(fact.fact, Fact::InputQueued(_)))
        };
        Ok(queued(&self.acknowledged) || queued(&self.log()?))
    }

    /// The log, as the command prints it.
    pub(crate) fn log(&self) -> Result<Vec<RecordedFact>, String> {
        let told = finished(self.windlass(&["log", SESSION]))?;
        match told.code {
            Some(0) => {}
            // There is no such session yet.
            Some(2) => return Ok(Vec::new()),
            Some(_) | None => return Err(format!("the log cannot be read: {}", told.err)),
        }
        let facts = told.out.lines().map(|line| codec::decode(line.as_bytes()));
        facts.collect::<Result<_, _>>().map_err(|error| format!("the log does not read: {error}"))
    }

    /// Where its program stands by now, if it has one.
    pub(crate) fn stood(&self) -> Result<Option<Stood>, String> {
        match self.task {
            Task::Calls => Ok(None),
            Task::Program(_) => Ok(self.task.stood(&self.log()?)),
        }
    }

    /// Runs the turn to its end with nothing in its way, and gathers what is left.
    pub(crate) fn finish(mut self, struck: usize, program: Program) -> Result<Life, String> {
        let mut syncs = 0;
        for left in (0..MOST_RESUMES).rev() {
            let ended = self.planned(None, program)?;
            syncs = ended.syncs();
            if ended.code == Some(0) {
                break;
            }
            if left == 0 {
                self.wrong.push(format!("it does not settle: {ended:?}"));
                break;
            }
            self.wrong.push(format!("it needed another process: {ended:?}"));
        }
        let verified = finished(self.windlass(&["verify", SESSION]))?;
        if verified.code != Some(0) {
            self.wrong.push(format!("verify: {verified:?}"));
        }
        let log = self.log()?;
        self.wrong.extend(self.task.wrong(&log));
        self.wrong.extend(self.server.misses());
        let requests = self.requests()?;
        let effects = self.effects(&log)?;
        Ok(Life {
            struck,
            syncs,
            log,
            effects,
            requests,
            acknowledged: self.acknowledged,
            wrong: self.wrong,
        })
    }

    /// The bodies of the requests, with one name for all places.
    fn requests(&self) -> Result<Vec<Value>, String> {
        let place = self.path().display().to_string();
        let samples = self.server.samples().into_iter();
        let bodies = samples.map(|request| {
            let text = String::from_utf8_lossy(&request.body).replace(&place, "PLACE");
            serde_json::from_str(&text).map_err(|error| format!("request {text:?}: {error}"))
        });
        bodies.collect()
    }

    /// What the tools have noted of their runs.
    fn effects(&self, log: &[RecordedFact]) -> Result<Vec<Effect>, String> {
        let noted = match fs::read_to_string(self.path().join(EFFECTS)) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(format!("the tools' notes cannot be read: {error}")),
        };
        match noted {
            Some(text) => noted_effects(&text),
            // Without a file no tool has run, so no call may say that it did.
            None => {
                let ran = |it: &&RecordedFact| {
                    matches!(&it.fact, Fact::CallObserved(call)
                        if call.observation.status == ObservationStatus::Done)
                };
                match log.iter().find(ran) {
                    None => Ok(Vec::new()),
                    Some(ran) => Err(format!("no tool has noted its run, and yet: {ran:?}")),
                }
            }
        }
    }

    fn url(&self) -> String {
        match self.kept {
            Kept::File => format!("file:{}", self.store().display()),
            Kept::Sled => format!("sled:{}", self.store().display()),
            Kept::Sqlite => format!("sqlite:{}", self.store().display()),
            Kept::Memory => "memory:".to_owned(),
        }
    }
}

impl Ended {
    /// The syncs that the program that dies has counted.
    fn syncs(&self) -> u64 {
        let last = self.err.lines().last().unwrap_or_default();
        let count = last.strip_prefix(SYNCS).and_then(|count| count.parse().ok());
        count.unwrap_or(0)
    }

    /// What is wrong with an end by a fault of the store: it must be told by code and in words, and
    /// the last line must be an end of the turn that is in no log.
    pub(crate) fn is_store_failure(&self) -> Result<(), String> {
        let last = self.out.lines().last().unwrap_or_default();
        let last: Value = serde_json::from_str(last).unwrap_or_default();
        let told = last["kind"] == "TurnSettled"
            && last["seq"].is_null()
            && last["body"]["failure"] == "store";
        // Whoever reads it learns what was being done, and to what.
        let named = self.err.contains(SESSION) || self.err.contains("store");
        match self.code == Some(5) && told && named {
            true => Ok(()),
            false => Err(format!("not told as a failure of the store: {self:?}")),
        }
    }
}

/// Runs a command to its end, and ends it when it takes too long.
pub(crate) fn finished(command: Command) -> Result<Ended, String> {
    seen(command, |_| {})
}

/// As [`finished`], and shows all that was said on standard error each time that more is.
fn seen(mut command: Command, mut see: impl FnMut(&[u8])) -> Result<Ended, String> {
    let shown = format!("{command:?}");
    let failed = |error: std::io::Error| format!("running {shown}: {error}");
    // A group of its own, so that all of it can be ended.
    let mut child = command.process_group(0).spawn().map_err(failed)?;
    let pid = rustix::process::Pid::from_child(&child);
    let (done, waits) = channel::<()>();
    let watchdog = thread::spawn(move || {
        let late = waits.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
        if late {
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
        late
    });
    let stdout = child.stdout.take();
    let out = thread::spawn(move || {
        let mut out = Vec::new();
        let read = stdout.map(|mut stdout| stdout.read_to_end(&mut out));
        read.transpose().map(|_| out)
    });
    let (mut err, mut part) = (Vec::new(), [0; 4096]);
    if let Some(mut stderr) = child.stderr.take() {
        loop {
            let read = stderr.read(&mut part).map_err(failed)?;
            err.extend_from_slice(&part[..read]);
            if read == 0 {
                break;
            }
            see(&err);
        }
    }
    let status = child.wait().map_err(failed)?;
    drop(done);
    let late = watchdog.join().unwrap_or(false);
    let out = out.join().unwrap_or(Ok(Vec::new())).map_err(failed)?;
    let ended = Ended {
        code: status.code(),
        signal: status.signal(),
        out: String::from_utf8_lossy(&out).into_owned(),
        err: String::from_utf8_lossy(&err).into_owned(),
    };
    match late {
        true => Err(format!("{shown} takes more than {PATIENCE:?}: {ended:?}")),
        false => Ok(ended),
    }
}
