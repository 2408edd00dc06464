//! `windlass compact`: a person has the conversation summarized, with a focus of their own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::time::{Duration, Instant};

use common::{Done, Place, count, kinds, lines};
use serde_json::Value;
use windlass_testkit::http::{ModelServer, Reply, Script};

/// A session of the demo model whose turns read a long note.
fn talked() -> Place {
    let place = Place::new();
    let note = "The winch lifts what nobody could lift alone.\n".repeat(100);
    std::fs::write(place.file("note.txt"), note).unwrap();
    for _ in 0..3 {
        ok(&place.run(&["run", "read note.txt", "--session", "s"]));
    }
    place
}

fn ok(done: &Done) {
    assert_eq!(done.code, 0, "{}", done.err);
}

fn last<'a>(log: &'a [Value], kind: &str) -> &'a Value {
    &log.iter().rfind(|fact| fact["kind"] == kind).unwrap()["body"]
}

#[test]
fn a_person_has_the_conversation_summarized() {
    let place = talked();
    let before = place.log("s");
    let done = place.run(&["compact", "s", "the winch"]);
    ok(&done);
    assert_eq!(done.out, "");
    assert!(done.err.contains("compacted to "), "{}", done.err);
    let log = place.log("s");
    assert_eq!(log[..before.len()], before[..], "the log stays complete");
    let added: Vec<&str> = kinds(&log).split_off(before.len());
    let expected =
        ["CompactionRequested", "TurnOpened", "CompactionStarted", "Compacted", "TurnSettled"];
    assert_eq!(added, expected);
    assert_eq!(last(&log, "CompactionRequested")["focus"], "the winch");
    assert_eq!(last(&log, "CompactionStarted")["trigger"], "manual");
    let compacted = last(&log, "Compacted");
    assert_eq!(compacted["fallback"], Value::Null);
    let summary = compacted["cut"]["summary"].as_str().unwrap();
    assert!(summary.starts_with("## Goal\n- “read note.txt”"), "{summary}");
    assert!(compacted["usage"]["input"].as_u64() > Some(100), "{compacted}");
    assert_eq!(last(&log, "TurnSettled")["outcome"], "completed");

    ok(&place.run(&["run", "hello", "--session", "s"]));
    ok(&place.run(&["verify", "s"]));
    ok(&place.run(&["replay", "s", "--verify"]));
    let shown = place.run(&["show", "s"]);
    assert!(shown.out.contains("with the focus: the winch"), "{}", shown.out);
}

#[test]
fn what_cannot_be_compacted_is_said() {
    let place = talked();
    let done = place.run(&["compact", "other"]);
    assert_eq!(done.code, 2, "{}", done.err);
    let settled = place.run(&["compact", "s", "--json"]);
    ok(&settled);
    let last = lines(&settled.out).pop().unwrap();
    assert_eq!(last["kind"], "TurnSettled");
}

/// A model that answers, and that never answers where it is asked for a summary.
fn silent_on_summaries() -> Script {
    Script::respond(|request| match request.asked().tools.is_empty() {
        true => Reply::say("## Goal").stall_after(1),
        false => Reply::say("It winds and winds. ".repeat(200)),
    })
}

#[test]
fn a_compaction_survives_a_kill_and_is_finished_by_resume() {
    let place = Place::new();
    let server = ModelServer::start(silent_on_summaries()).unwrap();
    let base_url = server.base_url();
    let provider = ["--provider", "openai-chat", "--base-url", &base_url];
    for _ in 0..2 {
        ok(&place.run(&[&["run", "wind", "--session", "s"][..], &provider].concat()));
    }
    let turns = server.samples().len();
    let mut child = place.command(&[&["compact", "s"][..], &provider].concat()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while server.samples().len() == turns {
        assert!(Instant::now() < until, "nobody is asked for a summary");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    drop(server);

    let log = place.log("s");
    assert_eq!(count(&log, "CompactionStarted"), 1);
    let server = ModelServer::start(Script::respond(|_| {
        Reply::say("**Goal**\nto wind\n**Done**\nmuch\n**Open**\nNone.\n**Facts**\nNone.")
    }));
    let server = server.unwrap();
    let base_url = server.base_url();
    ok(&place.run(&["resume", "s", "--provider", "openai-chat", "--base-url", &base_url]));
    let log = place.log("s");
    assert_eq!(count(&log, "CompactionRequested"), 1);
    assert_eq!(count(&log, "CompactionStarted"), 2);
    let compacted = last(&log, "Compacted");
    let summary = "## Goal\nto wind\n## Done\nmuch\n## Open\nNone.\n## Facts\nNone.";
    assert_eq!(compacted["cut"]["summary"], summary, "{compacted}");
    assert_eq!(last(&log, "TurnSettled")["outcome"], "completed");
    ok(&place.run(&["verify", "s"]));
}
