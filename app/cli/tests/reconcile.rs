//! Calls whose process was killed: a tool that can tell is asked what became of them, and is not
//! run again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs::{File, OpenOptions};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use common::{Place, count};
use serde_json::{Value, json};

const PROMPT: &str = r#"repeat 1: count {"n":1}"#;
/// Whether the call is in the file of those that took effect; 0, 3, or 2 for a file that is not
/// there.
const CHECK: &str = "echo $WINDLASS_IDEMPOTENCY_KEY >> asked; cat >> asked; \
                     grep -x \"$WINDLASS_IDEMPOTENCY_KEY\" counter; code=$?; [ $code -ne 1 ] || code=3; \
                     exit $code";

/// A FIFO that a tool waits at.
struct Barrier(PathBuf);

impl Barrier {
    fn new(place: &Place) -> Self {
        let path = place.file("barrier");
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        Self(path)
    }

    /// Waits until a tool waits. It goes on when the file is dropped.
    fn reached(&self) -> File {
        let (path, (sent, got)) = (self.0.clone(), mpsc::channel());
        std::thread::spawn(move || sent.send(OpenOptions::new().write(true).open(path)));
        got.recv_timeout(Duration::from_secs(60)).unwrap().unwrap()
    }
}

/// Kills a run while its tool, which is this script, waits at the barrier, and goes on with the
/// turn. Answers the log and what the call was observed to be.
fn killed(place: &Place, script: &str) -> (Vec<Value>, Value) {
    let tools = json!({"tools": [{
        "name": "count",
        "description": "Counts.",
        "parameters": {"type": "object"},
        "command": ["sh", "-c", script],
        "reconcile": ["sh", "-c", CHECK],
    }]});
    let path = place.file("tools.json");
    std::fs::write(&path, tools.to_string()).unwrap();
    let tools = path.to_str().unwrap();
    let barrier = Barrier::new(place);
    let words = ["run", PROMPT, "--session", "s", "--tools", tools];
    let mut child = place.command(&words).spawn().unwrap();
    let waiting = barrier.reached();
    child.kill().unwrap();
    child.wait().unwrap();

    let resumed = place.run(&["resume", "s", "--tools", tools]);
    drop(waiting);
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    let words = "asking the tool for the outcome of";
    assert!(resumed.err.contains(words), "{}", resumed.err);
    assert_eq!(place.run(&["verify", "s"]).code, 0);
    let log = place.log("s");
    let kinds = ["CallStarted", "CallObserved"];
    assert_eq!(kinds.map(|kind| count(&log, kind)), [1, 1]);
    let reconciles = |kind: &str| kind.starts_with("Reconcile");
    let kinds = log.iter().filter_map(|fact| fact["kind"].as_str());
    assert_eq!(kinds.filter(|kind| reconciles(kind)).count(), 1);
    let find = |kind: &str| log.iter().find(|fact| fact["kind"] == kind).unwrap();
    let key = &find("CallStarted")["body"]["idempotency_key"];
    let asked = std::fs::read_to_string(place.file("asked")).unwrap();
    assert_eq!(asked, format!("{}\n{{\"n\":1}}", key.as_str().unwrap()));
    let observation = find("CallObserved")["body"]["observation"].clone();
    (log, observation)
}

#[test]
fn what_took_effect_is_done_and_is_not_done_again() {
    let place = Place::new();
    let script = "echo $WINDLASS_IDEMPOTENCY_KEY >> counter; cat barrier; echo end";
    let (log, observation) = killed(&place, script);
    assert_eq!(observation["status"], "done");
    let counted = place.counted();
    assert_eq!(counted.len(), 1, "the tool ran once");
    assert_eq!(observation["output"], format!("{}\n", counted[0]));
    // The model goes on from there.
    assert_eq!(count(&log, "SampleStarted"), 2);
    assert_eq!(count(&log, "TurnSettled"), 1);
}

#[test]
fn what_took_no_effect_has_failed_and_the_model_is_told() {
    let place = Place::new();
    std::fs::write(place.file("counter"), "").unwrap();
    let (_, observation) = killed(&place, "cat barrier");
    assert_eq!(observation["status"], "failed");
    let output = observation["output"].as_str().unwrap();
    assert!(output.contains("did not take effect"), "{output}");
    assert!(place.counted().is_empty());
}

#[test]
fn what_nobody_can_tell_is_unknown() {
    let place = Place::new();
    let (_, observation) = killed(&place, "cat barrier");
    assert_eq!(observation["status"], "unknown");
    let output = observation["output"].as_str().unwrap();
    assert!(output.contains("check before you repeat it"), "{output}");
}
