//! Answers of a shape: standard output has what fits, or nothing.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::sync::Mutex;

use common::{Done, Place, count};
use windlass_testkit::http::{ModelServer, Reply, Script};

const SCHEMA: &str = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;

/// A place with a schema in it, and a server that gives these answers, one after another.
fn world(answers: &[&'static str]) -> (Place, ModelServer) {
    let place = Place::new();
    fs::write(place.file("count.json"), SCHEMA).unwrap();
    let answers: Vec<&'static str> = answers.iter().rev().copied().collect();
    let answers = Mutex::new(answers);
    let script = Script::respond(move |_| Reply::say(answers.lock().unwrap().pop().unwrap()));
    (place, ModelServer::start(script).unwrap())
}

fn run(place: &Place, server: &ModelServer, command: &[&str], more: &[&str]) -> Done {
    let base_url = server.base_url();
    let mut words = command.to_vec();
    words.extend(["--provider", "openai-chat", "--base-url", &base_url]);
    words.extend(["--model", "m"]);
    words.extend(more);
    place.run(&words)
}

#[test]
fn an_answer_that_fits_at_last_is_all_that_is_printed() {
    let (place, server) = world(&["It is 3.", "```json\n{\"n\": 3}\n```", "{\"n\":4}"]);
    let schema = place.file("count.json");
    let schema = schema.to_str().unwrap();
    let command = ["run", "hello", "--session", "s"];
    let first = run(&place, &server, &command, &["--answer-schema", schema]);
    assert_eq!((first.code, first.out.as_str()), (0, "{\"n\": 3}\n"), "{}", first.err);
    assert!(first.err.contains("It is not JSON"), "{}", first.err);
    let log = place.log("s");
    let answer = &log[0]["body"]["settings"]["options"]["output_schema"];
    assert_eq!(answer["name"], "count", "{answer}");
    assert_eq!(answer["max_re_asks"], 2, "{answer}");
    // The session keeps it.
    let next = run(&place, &server, &["resume", "s", "more"], &[]);
    assert_eq!((next.code, next.out.as_str()), (0, "{\"n\":4}\n"), "{}", next.err);
}

#[test]
fn without_an_answer_that_fits_nothing_is_printed() {
    let (place, server) = world(&["one", "two", "three"]);
    let schema = place.file("count.json");
    let schema = schema.to_str().unwrap();
    let more = ["--answer-schema", schema, "--answer-retries", "1"];
    let first = run(&place, &server, &["run", "hello", "--session", "s"], &more);
    assert_eq!((first.code, first.out.as_str()), (6, ""), "{}", first.err);
    assert!(first.err.contains("two"), "{}", first.err);
    assert!(first.err.contains("--answer-schema"), "{}", first.err);
    let log = place.log("s");
    assert_eq!(count(&log, "SampleStarted"), 2);
    assert_eq!(log.last().unwrap()["body"]["outcome"], "invalid_output");
    // Taken back, any answer will do.
    let next = run(&place, &server, &["resume", "s", "more"], &["--no-answer-schema"]);
    assert_eq!((next.code, next.out.as_str()), (0, "three\n"), "{}", next.err);
}

#[test]
fn a_schema_that_cannot_be_used_is_refused_before_anything_is_spent() {
    let (place, server) = world(&[]);
    for (name, text, words) in [
        ("odd.json", "{\"type\":\"nonsense\"}", "the JSON Schema odd of the answer"),
        ("a b.json", "{}", "cannot name the shape of an answer"),
        ("cut.json", "{", "the JSON Schema cut of the answer"),
    ] {
        let file = place.file(name);
        fs::write(&file, text).unwrap();
        let more = ["--answer-schema", file.to_str().unwrap()];
        let done = run(&place, &server, &["run", "hello", "--session", "s"], &more);
        assert_eq!(done.code, 2, "{name}: {}", done.err);
        assert!(done.err.contains(words), "{name}: {}", done.err);
    }
    let absent = place.file("absent.json");
    let more = ["--answer-schema", absent.to_str().unwrap()];
    let done = run(&place, &server, &["run", "hello"], &more);
    assert_eq!(done.code, 2, "{}", done.err);
    assert!(done.err.contains("absent.json"), "{}", done.err);
    let done = run(&place, &server, &["run", "hello"], &["--answer-retries", "1"]);
    assert_eq!(done.code, 2, "{}", done.err);
    assert!(done.err.contains("--answer-schema FILE"), "{}", done.err);
    assert!(server.requests().is_empty());
}
