//! `windlass replay --verify`: what an upgrade would change is told before it does.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use common::{Done, Place, done};
use serde_json::{Value, json};
use windlass_testkit::http::{ModelServer, Reply, Script};

/// A session with two turns, tools among them.
fn two_turns(place: &Place) {
    fs::write(place.file("README.md"), "# A winch\n\nIt lifts.\n").unwrap();
    let run = place.run(&["run", "What is in this folder?", "--session", "s"]);
    assert_eq!(run.code, 0, "{}", run.err);
    let run = place.run(&["resume", "s", "write note.txt: hello"]);
    assert_eq!(run.code, 0, "{}", run.err);
}

fn replay(place: &Place, store: &str) -> Done {
    place.run(&["replay", "s", "--verify", "--store", store])
}

/// The session's log, with each of its envelopes changed, imported into another store: without the first
/// line of an export nothing says what it was.
fn forged(place: &Place, mut forge: impl FnMut(&mut Value)) -> (Done, String) {
    let before = place.run(&["log", "s"]).out;
    let mut log = String::new();
    for line in before.lines() {
        // Text stays as it is written but for what is forged.
        let mut fact: Value = serde_json::from_str(line).unwrap();
        let before = fact.clone();
        forge(&mut fact);
        if fact == before {
            log.push_str(line);
        } else {
            log.push_str(&envelope(&fact));
        }
        log.push('\n');
    }
    fs::write(place.file("forged.jsonl"), log).unwrap();
    let store = format!("file:{}", place.file("forged").display());
    let imported = place.run(&["import", "forged.jsonl", "--store", &store]);
    (imported, store)
}

/// An envelope with its keys in their order.
fn envelope(fact: &Value) -> String {
    let keys = ["v", "session", "seq", "turn", "ts", "cause", "kind", "body"];
    let fields = keys.iter().filter_map(|key| {
        let value = fact.get(*key)?;
        Some(format!("{}:{value}", json!(key)))
    });
    let text = format!("{{{}}}", fields.collect::<Vec<_>>().join(","));
    let fact = windlass_engine::ports::codec::decode(text.as_bytes()).unwrap();
    String::from_utf8(windlass_engine::ports::codec::encode(&fact).unwrap()).unwrap()
}

/// All files below a folder.
fn files(folder: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
}

#[test]
fn a_log_of_this_very_engine_is_decided_as_it_was_and_nothing_is_written() {
    let place = Place::new();
    two_turns(&place);
    let mut before = Vec::new();
    files(&place.state(), &mut before);
    let told = place.run(&["replay", "s", "--verify"]);
    assert_eq!(told.code, 0, "{} {}", told.out, told.err);
    assert_eq!(told.err, "");
    let log = place.log("s");
    let facts = format!("s: {} facts and 2 turns folded, ", log.len());
    assert!(told.out.starts_with(&facts), "{}", told.out);
    assert!(told.out.contains(" 0 different, 0 unverifiable"), "{}", told.out);
    assert!(told.out.contains("rendered, 0 of them different"), "{}", told.out);
    let mut after = Vec::new();
    files(&place.state(), &mut after);
    assert_eq!(before, after);
}

/// No model is asked: the server that the session was opened with counts its requests.
#[test]
fn no_model_is_asked_and_a_session_that_another_process_holds_may_be_read() {
    let place = Place::new();
    let server =
        ModelServer::start(Script::respond(|request| match request.asked().results.first() {
            None => Reply::call("shell", json!({"command": "echo ran >> ran; cat barrier"})),
            Some(_) => Reply::say("done"),
        }))
        .unwrap();
    let made = std::process::Command::new("mkfifo").arg(place.file("barrier")).status();
    assert!(made.unwrap().success());
    let base_url = server.base_url();
    let words = [
        "run",
        "go",
        "--session",
        "s",
        "--provider",
        "openai",
        "--base-url",
        &base_url,
        "--model",
        "m",
    ];
    let running = place.command(&words).spawn().unwrap();
    // Opens once the tool reads: the session runs, and its process holds it.
    let barrier = fs::OpenOptions::new().write(true).open(place.file("barrier")).unwrap();
    let told = place.run(&["replay", "s", "--verify", "--json"]);
    assert_eq!(told.code, 0, "{}", told.err);
    drop(barrier);
    assert_eq!(running.wait_with_output().unwrap().status.code(), Some(0));
    assert_eq!(server.samples().len(), 2);
    let told = place.run(&["replay", "s", "--verify", "--json"]);
    assert_eq!(told.code, 0, "{}", told.err);
    assert_eq!(server.samples().len(), 2);
    assert_eq!(fs::read_to_string(place.file("ran")).unwrap(), "ran\n");
    let told: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(told["same"], true);
    assert_eq!(told["requests"]["rendered"], 2);
    assert_eq!(told["decisions"]["different"], 0);
}

#[test]
fn a_decision_that_would_be_another_is_named_by_its_position() {
    let place = Place::new();
    two_turns(&place);
    let mut at = 0;
    let (imported, store) = forged(&place, |fact| {
        if fact["kind"] == "CallDecided" && at == 0 {
            at = fact["seq"].as_u64().unwrap();
            fact["body"]["reason"] = json!("an older engine had another reason");
        }
    });
    assert_eq!(imported.code, 0, "{}", imported.err);
    let told = replay(&place, &store);
    assert_eq!(told.code, 1, "{} {}", told.out, told.err);
    assert!(told.out.contains(" 1 different, 0 unverifiable"), "{}", told.out);
    let named = format!("at {at}: the log has CallDecided, this engine writes the same");
    assert!(told.out.contains(&named), "{}", told.out);

    let words = ["replay", "s", "--verify", "--json", "--store", &store];
    let told = place.run(&words);
    assert_eq!(told.code, 1);
    let told: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(told["same"], false);
    assert_eq!(told["decisions"]["first"][0]["seq"], at);
}

/// It does not fold, so it is not taken in; a log that was written around the import is told too.
#[test]
fn a_forged_digest_of_a_request_is_damage() {
    let place = Place::new();
    two_turns(&place);
    let forge = |fact: &mut Value| {
        if fact["kind"] == "SampleStarted" {
            fact["body"]["digest"] = json!("0123456789abcdef0123456789abcdef");
        }
    };
    let (imported, _) = forged(&place, forge);
    assert_eq!(imported.code, 2);
    assert!(imported.err.contains("SampleStarted"), "{}", imported.err);

    let text = fs::read_to_string(place.file("forged.jsonl")).unwrap();
    let store = format!("file:{}", place.file("around").display());
    write_around(&place.file("around"), &text);
    let told = replay(&place, &store);
    assert_eq!(told.code, 5, "{} {}", told.out, told.err);
    assert_eq!(told.out, "");
    assert!(told.err.contains("(SampleStarted)"), "{}", told.err);
}

/// Writes a log into a file store without looking at what it says.
fn write_around(folder: &Path, log: &str) {
    use std::sync::Arc;
    use windlass_file::FileStore;
    let facts: Vec<Arc<windlass_engine::core::RecordedFact>> = log
        .lines()
        .map(|line| Arc::new(windlass_engine::ports::codec::decode(line.as_bytes()).unwrap()))
        .collect();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        use windlass_engine::ports::LogStore as _;
        let store = FileStore::open(folder.to_owned()).unwrap();
        let id = &facts[0].session;
        let claim = store.claim(id).await.unwrap();
        let done = store.append(id, claim.epoch, claim.last, &facts).await;
        done.unwrap();
        store.release(id, claim.epoch).await.unwrap();
    });
}

#[test]
fn a_log_that_is_damaged_is_refused() {
    let place = Place::new();
    two_turns(&place);
    let mut logs = Vec::new();
    files(&place.state(), &mut logs);
    let (path, mut bytes) = logs.into_iter().max_by_key(|(_, bytes)| bytes.len()).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).unwrap();
    let told = place.run(&["replay", "s", "--verify"]);
    assert_eq!(told.code, 5, "{} {}", told.out, told.err);
    assert_eq!(told.out, "");
}

#[test]
fn a_turn_that_was_killed_and_went_on_is_decided_as_it_was() {
    let place = Place::new();
    let tools = place.counter("effectful");
    let words =
        ["run", r#"repeat 3: count {"n":1}"#, "--json", "--session", "s", "--tools", &tools];
    let mut child = place.command(&words).stdout(Stdio::piped()).spawn().unwrap();
    // Open until it is dead: a run whose output is closed stops by itself.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains(r#""kind":"CallStarted""#)));
    child.kill().unwrap();
    child.wait().unwrap();
    let resumed = place.run(&["resume", "s", "--tools", &tools]);
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    let told = place.run(&["replay", "s", "--verify"]);
    assert_eq!(told.code, 0, "{} {}", told.out, told.err);
    assert!(told.out.contains(" 0 different, "), "{}", told.out);
}

#[test]
fn usage_is_said() {
    let place = Place::new();
    two_turns(&place);
    let bare = place.run(&["replay", "s"]);
    assert_eq!(bare.code, 2);
    assert!(bare.err.contains("windlass replay s --verify"), "{}", bare.err);
    let unknown = place.run(&["replay", "other", "--verify"]);
    assert_eq!(unknown.code, 2, "{}", unknown.err);
    assert_eq!(done(place.command(&["replay"]).output().unwrap()).code, 2);
}
