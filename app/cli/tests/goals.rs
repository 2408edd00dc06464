//! Goals and budgets: what has turns follow one another, and what ends them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead as _, BufReader};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{Place, count, lines};
use serde_json::json;
use windlass_testkit::http::{ModelServer, Reply, Script};
use windlass_testkit::{Answer, within};

const GOAL: [&str; 4] = ["--goal", "all tests pass", "--session", "s"];

#[test]
fn turns_follow_one_another_until_the_goal_is_met() {
    let place = Place::new();
    let server = ModelServer::start(Script::list([
        Reply::say("one"),
        Reply::say("two"),
        Reply::call("goal_met", json!({"evidence": "they do"})),
        Reply::say("three"),
    ]))
    .unwrap();
    let base_url = server.base_url();
    let provider = ["--provider", "openai-chat", "--base-url", &base_url];
    let done = place.run(&[&["run", "begin"][..], &GOAL, &provider].concat());
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(done.out, "three\n", "{}", done.err);
    assert_eq!(server.remaining(), 0);
    let log = place.log("s");
    assert_eq!(count(&log, "TurnSettled"), 3);
    assert_eq!(count(&log, "CallStarted"), 0, "nothing is run for it");
    let second = server.samples()[1].body.clone();
    assert!(String::from_utf8(second).unwrap().contains("all tests pass"));
}

#[test]
fn a_rule_stands_against_the_models_word_that_the_goal_is_met() {
    let place = Place::new();
    let server =
        ModelServer::start(Script::respond(|request| match request.asked().results.is_empty() {
            true => Reply::call("goal_met", json!({"evidence": "they do"})),
            false => Reply::say("so be it"),
        }))
        .unwrap();
    let base_url = server.base_url();
    let provider = ["--provider", "openai-chat", "--base-url", &base_url];
    let more = ["--deny", "goal_met", "--goal-turns", "2"];
    let done = place.run(&[&["run", "begin"][..], &GOAL, &more, &provider].concat());
    assert_eq!(done.code, 6, "{}", done.err);
    let log = place.log("s");
    let ended = log.iter().find(|fact| fact["kind"] == "GoalEnded").unwrap();
    assert!(!ended.to_string().contains("met"), "{ended}");
    let decided = log.iter().find(|fact| fact["kind"] == "CallDecided");
    assert_eq!(decided.unwrap()["body"]["verdict"], "deny");
}

#[test]
fn a_goal_outlives_its_process() {
    let place = Place::new();
    let asked = AtomicUsize::new(0);
    let server =
        ModelServer::start(Script::respond(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
            0 => Reply::say("one"),
            1 => Reply::say("two, that never ends").stall_after(0),
            2 => Reply::say("two"),
            3 => Reply::call("goal_met", json!({"evidence": "they do"})),
            _ => Reply::say("three"),
        }))
        .unwrap();
    let base_url = server.base_url();
    let provider = ["--provider", "openai-chat", "--base-url", &base_url];
    let words = [&["run", "begin", "--json"][..], &GOAL, &provider].concat();
    let mut child = place.command(&words).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..2 {
        assert!(out.any(|line| line.unwrap().contains("SampleStarted")));
    }
    within(Duration::from_secs(60), server.wait_requests(2)).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let resumed = place.run(&["resume", "s"]);
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    assert_eq!(resumed.out, "three\n", "{}", resumed.err);
    let log = place.log("s");
    assert_eq!((count(&log, "GoalEnded"), count(&log, "TurnSettled")), (1, 3));
    // Taken back, it opens no more turns.
    let words = ["resume", "s", "on", "--goal", "more"];
    assert_eq!(place.run(&[&words[..], &["--goal-turns", "1"]].concat()).code, 6);
    let back = place.run(&["resume", "s", "and on", "--no-goal"]);
    assert_eq!(back.code, 0, "{}", back.err);
    assert_eq!(place.run(&["run", "x", "--goal", " "]).code, 2);
}

#[test]
fn a_goal_has_a_budget_of_turns() {
    let place = Place::new();
    let server = ModelServer::start(Script::respond(|_| Reply::say("on it"))).unwrap();
    let base_url = server.base_url();
    let provider = ["--provider", "openai-chat", "--base-url", &base_url];
    let flags = ["--goal-turns", "3", "--json"];
    // The goal is the prompt where there is no other.
    let done = place.run(&[&["run"][..], &GOAL, &provider, &flags].concat());
    assert_eq!(done.code, 6, "{}", done.err);
    assert_eq!(lines(&done.out).pop().unwrap()["kind"], "TurnSettled");
    let log = place.log("s");
    assert_eq!(count(&log, "GoalEnded"), 1);
    let turns = count(&log, "TurnSettled");
    assert_eq!(server.samples().len(), turns);
    assert!((3..=4).contains(&turns), "{turns}");
    let next = place.run(&["resume", "s", "and now"]);
    assert_eq!(next.code, 0, "{}", next.err);
    assert_eq!(count(&place.log("s"), "TurnSettled"), turns + 1);
}

#[test]
fn tokens_and_money_have_limits() {
    let server = ModelServer::start(Script::respond(|_| {
        let answer = Answer::new().call("list_dir", json!({"path": "."}));
        Reply::answer(answer.tokens(2_000, 100))
    }))
    .unwrap();
    let base_url = server.base_url();
    let run = |flags: &[&str]| {
        let place = Place::new();
        let words = ["run", "go", "--session", "s"];
        let provider = ["--provider", "openai-chat", "--base-url", &base_url];
        let done = place.run(&[&words[..], &provider, flags].concat());
        let settled = place.log("s").pop();
        (done, settled)
    };
    let (done, settled) = run(&["--max-tokens", "20000"]);
    assert_eq!(done.code, 6, "{}", done.err);
    assert!(done.err.contains("--max-tokens"), "{}", done.err);
    assert_eq!(settled.unwrap()["body"]["limit"], "tokens");
    let price = ["--price", "1,0.1,10", "--max-cost", "0.05"];
    let (done, settled) = run(&price);
    assert_eq!(done.code, 6, "{}", done.err);
    let settled = settled.unwrap();
    assert_eq!(settled["body"]["limit"], "cost", "{settled}");
    let cost = settled["body"]["spent"]["cost_micros"].as_u64().unwrap();
    // 2 000 tokens at 1, and 100 at 10, a million: 0.003 a sample.
    assert!(cost > 0 && cost <= 50_000 && cost.is_multiple_of(3_000), "{cost}");
    let (done, _) = run(&["--max-cost", "1"]);
    assert_eq!(done.code, 2, "{}", done.err);
    assert!(done.err.contains("--price"), "{}", done.err);
}

#[test]
fn a_dry_run_does_not_go_with_a_goal() {
    let place = Place::new();
    let dry = place.run(&[&["run", "run: touch made", "--dry-run"][..], &GOAL].concat());
    assert_eq!(dry.code, 2, "{}", dry.err);
    assert!(dry.err.contains("--no-goal"), "{}", dry.err);
    assert!(!place.file("made").exists());
    assert_eq!(place.run(&["sessions"]).out, "");
}
