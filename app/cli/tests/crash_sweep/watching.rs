//! A read that fails while the command watches a turn: the turn stays open, and goes on.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_testkit::http::{ModelServer, Reply, Script};

use crate::program::{PLAN, READ_FAILS};

/// The goal's second turn is under way when the command fails.
pub(crate) fn a_read_that_fails() {
    let place = TempDir::new().unwrap();
    let asked = AtomicUsize::new(0);
    let server = ModelServer::start(Script::respond(move |request| {
        match (asked.fetch_add(1, Ordering::SeqCst), request.asked().results.is_empty()) {
            (0, _) => Reply::say("one"),
            (_, true) => Reply::call("goal_met", json!({"evidence": "they do"})),
            (_, false) => Reply::say("two"),
        }
    }))
    .unwrap();
    let command = |program: &str, words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).args(["--store", "file:store"]).current_dir(place.path()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", place.path().join("home")).env("WINDLASS_SANDBOX", "off");
        command.stdin(Stdio::null());
        command
    };
    let base_url = server.base_url();
    let turn = ["--permissions", "auto", "--provider", "openai-chat", "--base-url", &base_url];
    let own = std::env::current_exe().unwrap();
    let run = ["run", "begin", "--model", "m", "--session", "s", "--goal", "it holds"];
    let mut failing = command(own.to_str().unwrap(), &[&run[..], &turn].concat());
    let failed = failing.env(PLAN, "none").env(READ_FAILS, "1").output().unwrap();
    let err = String::from_utf8_lossy(&failed.stderr);
    assert_eq!(failed.status.code(), Some(5), "{err}");
    let built = env!("CARGO_BIN_EXE_windlass");
    let log = || {
        let printed = command(built, &["export", "s"]).output().unwrap();
        let text = String::from_utf8(printed.stdout).unwrap();
        let facts = text.lines().map(|line| serde_json::from_str(line).unwrap());
        facts.collect::<Vec<Value>>()
    };
    let settled = |outcome: &str| {
        let of =
            |fact: &&Value| fact["kind"] == "TurnSettled" && fact["body"]["outcome"] == outcome;
        log().iter().filter(of).count()
    };
    assert_eq!(settled("interrupted"), 0, "{err}");
    let mut resume = command(built, &[&["resume", "s"][..], &turn].concat());
    let resumed = resume.output().unwrap();
    let err = String::from_utf8_lossy(&resumed.stderr);
    assert_eq!(resumed.status.code(), Some(0), "{err}");
    assert_eq!((settled("interrupted"), settled("completed")), (0, 2), "{err}");
}
