//! Tokens of a turn are kept before they are spent, in every dialect; and what a server says of its
//! model is heard.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Done, Place, count};
use serde_json::{Value, json};
use windlass_testkit::Answer;
use windlass_testkit::http::{ModelServer, Reply, Request, Script};

const DIALECTS: [(&str, &[&str]); 3] = [
    ("openai", &["max_output_tokens"]),
    ("openai-chat", &["max_tokens", "max_completion_tokens"]),
    ("anthropic", &["max_tokens"]),
];

fn run(place: &Place, server: &ModelServer, provider: &str, more: &[&str]) -> Done {
    let base_url = server.base_url();
    let model = if provider == "anthropic" { "claude-sonnet-4-5" } else { "m" };
    let session = ["run", "hello", "--session", "s", "--provider", provider];
    let at = ["--base-url", &base_url, "--model", model];
    with_key(place, &[&session[..], &at, more].concat())
}

fn with_key(place: &Place, words: &[&str]) -> Done {
    common::done(place.command(words).env("ANTHROPIC_API_KEY", "k").output().unwrap())
}

/// The most tokens that a request asks for.
fn asked_for(request: &Request, names: &[&str]) -> Option<u64> {
    let json = request.json.as_ref().unwrap();
    names.iter().find_map(|name| json.get(name)).and_then(Value::as_u64)
}

#[test]
fn an_answer_that_used_up_the_tokens_runs_none_of_its_calls() {
    for (provider, names) in DIALECTS {
        let place = Place::new();
        let call = json!({"command": "echo ran > ran.txt"});
        let answer = Answer::new().text("I run it.").call("shell", call).tokens(3_000, 5_000);
        let server = ModelServer::start(Script::list([Reply::answer(answer)])).unwrap();
        let done = run(&place, &server, provider, &["--max-tokens", "6000"]);
        assert_eq!(done.code, 6, "{provider}: {}", done.err);
        assert!(done.err.contains("--max-tokens"), "{provider}: {}", done.err);
        assert!(!place.file("ran.txt").exists(), "{provider}: the call ran");
        let log = place.log("s");
        assert_eq!(count(&log, "CallStarted"), 0, "{provider}");
        let observed = log.iter().find(|fact| fact["kind"] == "CallObserved").unwrap();
        assert_eq!(observed["body"]["observation"]["status"], "not_started", "{provider}");
        let most = asked_for(&server.samples()[0], names).unwrap();
        assert!(most < 6_000, "{provider}: {most}");
    }
}

#[test]
fn a_turn_that_exceeds_its_tokens_is_exhausted_without_calls_too() {
    let place = Place::new();
    let answer = Answer::new().text("Hello!").tokens(100, 2_000);
    let server = ModelServer::start(Script::list([Reply::answer(answer)])).unwrap();
    let done = run(&place, &server, "openai", &["--max-tokens", "2000"]);
    assert_eq!(done.code, 6, "{}", done.err);
    let settled = place.log("s").pop().unwrap();
    assert_eq!(settled["body"]["limit"], "tokens");
}

#[test]
fn the_longest_answer_is_that_of_the_flag_or_what_is_left() {
    for (provider, names) in DIALECTS {
        let place = Place::new();
        let reply = || Reply::answer(Answer::new().text("Hello!").tokens(1_000, 3));
        let server = ModelServer::start(Script::respond(move |_| reply())).unwrap();
        let answers = ["--max-answer-tokens", "700"];
        assert_eq!(run(&place, &server, provider, &answers).code, 0);
        let both = [&answers[..], &["--max-tokens", "3000"]].concat();
        let url = server.base_url();
        let resumed = [&["resume", "s", "hello", "--base-url", &url][..], &both].concat();
        let resumed = with_key(&place, &resumed);
        assert_eq!(resumed.code, 0, "{provider}: {}", resumed.err);
        let sent: Vec<_> = server.samples().iter().map(|one| asked_for(one, names)).collect();
        assert_eq!(sent.first(), Some(&Some(700)), "{provider}");
        // Of 3000 tokens at least a request of 1000 comes off.
        let left = sent[1].unwrap();
        assert!(left == 700 || (256..700).contains(&left), "{provider}: {left}");
    }
}

#[test]
fn a_model_that_nobody_asked_for_is_recorded_and_warned_of_once() {
    let place = Place::new();
    std::fs::write(place.file("note.txt"), "A note.").unwrap();
    let look = || Answer::new().call("read_file", json!({"path": "note.txt"})).model("m-small");
    let last = Answer::new().text("Done.").model("m-small");
    let replies = [look(), look(), last].map(Reply::answer);
    let server = ModelServer::start(Script::list(replies)).unwrap();
    let done = run(&place, &server, "openai-chat", &[]);
    assert_eq!(done.code, 0, "{}", done.err);
    let warning = "the server reports the model m-small, and m was requested";
    assert_eq!(done.err.matches(warning).count(), 1, "{}", done.err);
    let log = place.log("s");
    let ended: Vec<&Value> = log.iter().filter(|fact| fact["kind"] == "SampleEnded").collect();
    assert_eq!(ended.len(), 3);
    for fact in ended {
        assert_eq!(fact["body"]["request"]["reported_model"], "m-small");
    }
    assert!(place.run(&["show", "s"]).out.contains(warning));
}
