//! What tests of the built command share: a folder of its own, a clean environment, one way to
//! run it.

#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod server;
pub(crate) mod terminal;
pub(crate) mod tmux;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A workspace for one test, and a state folder for its user.
pub(crate) struct Place {
    dir: TempDir,
    user: TempDir,
}

/// A finished command.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { dir: TempDir::new().unwrap(), user: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The state folder of the user.
    pub(crate) fn state(&self) -> PathBuf {
        self.user.path().join("state")
    }

    /// A path in the default store.
    pub(crate) fn stored(&self, name: &str) -> PathBuf {
        self.state().join("store").join(name)
    }

    /// The URL of the default store.
    pub(crate) fn store_url(&self) -> String {
        format!("file:{}", self.state().join("store").display())
    }

    /// A command in this workspace that sees no key and no configuration of whoever tests.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        command
            .args(words)
            .args(model(words))
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.file("home"))
            .env("WINDLASS_HOME", self.state())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// A command that has no terminal, wherever the tests run.
    pub(crate) fn without_terminal(&self, words: &[&str]) -> Done {
        self.without_terminal_as(&self.command(words))
    }

    /// Runs a command of this workspace without a terminal.
    pub(crate) fn without_terminal_as(&self, plain: &Command) -> Done {
        let mut command = Command::new("setsid");
        command
            .args(["-w", env!("CARGO_BIN_EXE_windlass")])
            .args(plain.get_args())
            .current_dir(self.path())
            .env_clear()
            .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        done(command.stdin(Stdio::null()).output().unwrap())
    }

    pub(crate) fn run(&self, words: &[&str]) -> Done {
        done(self.command(words).output().unwrap())
    }

    /// The log of a session, as `windlass log` prints it.
    pub(crate) fn log(&self, session: &str) -> Vec<Value> {
        lines(&self.run(&["log", session]).out)
    }

    /// Writes a tool `count` that appends its idempotency key to a file, and answers the path of
    /// its definition.
    pub(crate) fn counter(&self, effect: &str) -> String {
        let tools = serde_json::json!({"tools": [{
            "name": "count",
            "description": "Counts.",
            "parameters": {"type": "object", "properties": {"n": {"type": "integer"}},
                "required": ["n"], "additionalProperties": false},
            "command": ["sh", "-c",
                "echo $WINDLASS_IDEMPOTENCY_KEY >> counter && wc -l < counter"],
            "effect": effect,
            "concurrency": "exclusive",
        }]});
        let path = self.file("tools.json");
        std::fs::write(&path, tools.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The lines of the counter's file.
    pub(crate) fn counted(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.file("counter")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// A model for a command that opens sessions at a server that is no vendor's, and names none.
pub(crate) fn model(words: &[&str]) -> &'static [&'static str] {
    let has = |word: &str| words.contains(&word);
    match (has("run") || has("serve")) && has("--base-url") && !has("--model") {
        true if has("anthropic") => &["--model", "claude-sonnet-4-5"],
        true => &["--model", "gpt-5"],
        false => &[],
    }
}

pub(crate) fn done(output: Output) -> Done {
    Done {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Sends a process a signal.
pub(crate) fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-s", name, &pid]).status();
    assert!(sent.unwrap().success());
}

/// How many facts of a kind a log has.
pub(crate) fn count(log: &[Value], kind: &str) -> usize {
    log.iter().filter(|fact| fact["kind"] == kind).count()
}

/// One JSON value a line.
pub(crate) fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The kinds of a log.
pub(crate) fn kinds(log: &[Value]) -> Vec<&str> {
    log.iter().filter_map(|fact| fact["kind"].as_str()).collect()
}
