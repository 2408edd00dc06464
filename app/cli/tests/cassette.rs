//! `--record` and `--replay`: a turn that was recorded once runs again without its server.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Done, Place, count, done};
use serde_json::{Value, json};
use windlass_testkit::http::{Cut, ModelServer, Reply, Script};

const KEY: &str = "sk-secret-key-123";

/// A server whose model reads a file, breaks off, and says what it read.
fn serve() -> ModelServer {
    let first = std::sync::atomic::AtomicBool::new(true);
    ModelServer::start(Script::respond(move |request| {
        let asked = request.asked();
        match asked.results.first() {
            None => Reply::call("read_file", json!({"path": "note.txt"})),
            Some(_) if first.swap(false, std::sync::atomic::Ordering::SeqCst) => {
                Reply::say("I read something long").cut_after(120, Cut::Fin)
            }
            Some((_, result)) => Reply::say(format!("I read: {result}")).with_header("x-echo", KEY),
        }
    }))
    .unwrap()
}

fn run(place: &Place, words: &[&str], environment: &[(&str, &str)]) -> Done {
    let mut command = place.command(words);
    command.envs(environment.iter().copied());
    done(command.output().unwrap())
}

/// What a log says, without times and positions: a call may end before or after the answer that it
/// belongs to, so facts are compared in an order of their own.
fn said(mut log: Vec<Value>) -> Vec<String> {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                let kept =
                    |name: &String, value: &mut Value| name == "status" || !value.is_number();
                fields.retain(|name, value| kept(name, value));
                let inner = fields.iter_mut().filter(|(name, _)| *name != "usage");
                inner.for_each(|(_, value)| strip(value));
            }
            Value::Array(list) => list.iter_mut().for_each(strip),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    log.iter_mut().for_each(strip);
    let mut said: Vec<String> = log.iter().map(Value::to_string).collect();
    said.sort();
    said
}

#[test]
fn a_recorded_turn_runs_again_without_its_server_and_gives_the_same_facts() {
    for api in ["openai", "openai-chat"] {
        let place = Place::new();
        std::fs::write(place.file("note.txt"), "the word is winch").unwrap();
        let server = serve();
        let base_url = server.base_url();
        let with = |tape: &str, store: &str| {
            let words = [
                "run",
                "read it",
                "--provider",
                api,
                "--model",
                "m",
                "--base-url",
                &base_url,
                "--session",
                "s",
                "--store",
                store,
                tape,
                "tape.jsonl",
            ];
            words.map(str::to_owned)
        };
        let words = with("--record", "file:one");
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let recorded = run(&place, &words, &[("OPENAI_API_KEY", KEY)]);
        assert_eq!(recorded.code, 0, "{api}: {}", recorded.err);
        assert!(server.misses().is_empty(), "{:?}", server.misses());
        let cassette = std::fs::read_to_string(place.file("tape.jsonl")).unwrap();
        assert!(!cassette.contains("secret-key"), "{cassette}");
        assert!(cassette.contains("[\"x-echo\",\"[redacted]\"]"), "{cassette}");
        assert!(cassette.contains("winch") && cassette.lines().count() == 4, "{cassette}");
        let again = run(&place, &words, &[("OPENAI_API_KEY", KEY)]);
        assert_eq!(again.code, 2, "a cassette is not overwritten: {}", again.err);

        // The port is closed, and no key is there.
        drop(server);
        let words = with("--replay", "file:two");
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let replayed = run(&place, &words, &[]);
        assert_eq!(replayed.code, 0, "{api}: {}", replayed.err);
        assert_eq!(replayed.out, recorded.out);
        let log = |store: &str| common::lines(&place.run(&["log", "s", "--store", store]).out);
        let (one, two) = (log("file:one"), log("file:two"));
        assert_eq!(count(&one, "TurnSettled"), 1);
        // The call; the answer that broke off; the answer.
        assert_eq!(count(&one, "SampleStarted"), 3, "{api}");
        assert_eq!(said(one), said(two), "{api}");
    }
}

#[test]
fn what_was_not_recorded_fails_at_once_and_says_what_differs() {
    let place = Place::new();
    let recorded = place.run(&["run", "hello", "--record", "tape"]);
    assert_eq!(recorded.code, 0, "{}", recorded.err);
    let same = place.run(&["run", "hello", "--replay", "tape"]);
    assert_eq!((same.code, &same.out), (0, &recorded.out), "{}", same.err);
    let miss = place.run(&["run", "hullo", "--session", "m", "--replay", "tape"]);
    assert_eq!(miss.code, 1, "{}", miss.err);
    for word in ["no recording of POST /v1/chat/completions", "\"hello\"", "\"hullo\"", "--record"]
    {
        assert!(miss.err.contains(word), "{word}: {}", miss.err);
    }
    let log = place.log("m");
    assert_eq!(count(&log, "SampleStarted"), 1);
    assert!(!miss.err.contains("retrying"), "{}", miss.err);
}

#[test]
fn a_session_that_goes_on_adds_to_its_cassette() {
    let place = Place::new();
    for words in [
        &["run", "hello", "--session", "s", "--record", "tape"][..],
        &["resume", "s", "hello again", "--record", "tape"],
    ] {
        let ran = place.run(words);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    for words in [
        &["run", "hello", "--session", "r", "--replay", "tape"][..],
        &["resume", "r", "hello again", "--replay", "tape"],
    ] {
        let ran = place.run(words);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
}

#[test]
fn what_is_hidden_is_in_no_cassette() {
    let place = Place::new();
    let words = ["run", "my name is Rumpelstiltskin", "--hide", "NAME", "--record", "tape"];
    assert_eq!(place.run(&words).code, 2, "the variable is not set");
    let ran = run(&place, &words, &[("NAME", "Rumpelstiltskin")]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let cassette = std::fs::read_to_string(place.file("tape")).unwrap();
    assert!(!cassette.contains("Rumpel") && cassette.contains("my name is [redacted]"));
    let words = ["run", "my name is Rumpelstiltskin", "--hide", "NAME", "--replay", "tape"];
    let ran = run(&place, &words, &[("NAME", "Rumpelstiltskin")]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn both_at_once_and_what_is_no_cassette_are_usage() {
    let place = Place::new();
    std::fs::write(place.file("tape"), "{\"cassette\":99}\n").unwrap();
    for (words, said) in [
        (&["run", "x", "--record", "a", "--replay", "b"][..], "cannot be used with"),
        (&["run", "x", "--replay", "tape"], "version 99"),
        (&["run", "x", "--replay", "none"], "none"),
        (&["run", "x", "--hide", "A"], "--record"),
    ] {
        let ran = place.run(words);
        assert_eq!(ran.code, 2, "{words:?}: {}", ran.err);
        assert!(ran.err.contains(said), "{words:?}: {}", ran.err);
    }
}
