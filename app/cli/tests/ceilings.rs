//! The configuration of the process at hand is a ceiling: what an earlier process allowed and did
//! not start is decided again, by `resume` and by `serve`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use common::server::Server;
use common::{Place, count, signal};
use serde_json::{Value, json};
use windlass_testkit::Answer;
use windlass_testkit::http::{ModelServer, Reply, Script};

/// A turn whose first call runs, and whose second one is allowed and waits for the first.
struct Interrupted {
    place: Place,
    server: ModelServer,
    base_url: String,
}

impl Interrupted {
    fn new() -> Self {
        let place = Place::new();
        let shell = |command: &str| json!({"command": command});
        let script = Script::respond(move |request| match request.asked().results.is_empty() {
            true => Reply::answer(
                Answer::new()
                    .call("shell", shell("echo begun > begun; sleep 20"))
                    .call("shell", shell("echo planted > planted")),
            ),
            false => Reply::say("done"),
        });
        let server = ModelServer::start(script).unwrap();
        let base_url = server.base_url();
        let it = Self { place, server, base_url };
        let run = ["run", "go on", "--session", "s", "--json"];
        let mut child = it.command(&run).spawn().unwrap();
        until(|| it.place.file("begun").exists());
        until(|| count(&it.place.log("s"), "CallDecided") == 2);
        kill(&mut child);
        it
    }

    fn command(&self, words: &[&str]) -> Command {
        self.place.command(&self.words(words))
    }

    fn words<'a>(&'a self, words: &[&'a str]) -> Vec<&'a str> {
        let provider = ["--provider", "openai-chat", "--base-url", &self.base_url, "--model", "m"];
        [words, &provider[..]].concat()
    }

    fn was_planted(&self) -> bool {
        self.place.file("planted").exists()
    }

    /// The observations of the session's calls.
    fn observed(&self) -> Vec<String> {
        let log = self.place.log("s");
        let observed = log.iter().filter(|fact| fact["kind"] == "CallObserved");
        let output =
            |fact: &Value| fact["body"]["observation"]["output"].as_str().map(str::to_owned);
        observed.filter_map(output).collect()
    }
}

fn kill(child: &mut Child) {
    signal(child, "KILL");
    child.wait().unwrap();
}

fn until(holds: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < end, "it never came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_process_that_permits_it_goes_on() {
    let it = Interrupted::new();
    let resumed = it.place.run(&it.words(&["resume", "s"]));
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    assert!(it.was_planted(), "{:?}", it.observed());
    let said = "allowed shell {\"command\":\"echo planted > planted\"}: this one decides";
    assert!(resumed.err.contains(said), "{}", resumed.err);
}

#[test]
fn a_narrower_process_does_not_start_what_its_log_allows() {
    for flags in [
        &["--permissions", "read-only"][..],
        &["--mode", "plan"],
        &["--deny", "*"],
        &["--deny", "shell(command=*planted*)"],
    ] {
        let it = Interrupted::new();
        let resumed = it.place.run(&[&it.words(&["resume", "s"])[..], flags].concat());
        assert_eq!(resumed.code, 0, "{flags:?}: {}", resumed.err);
        assert!(!it.was_planted(), "{flags:?}");
        assert_eq!(count(&it.place.log("s"), "PermissionsNarrowed"), 1, "{flags:?}");
        assert_eq!(it.observed().len(), 2, "{flags:?}");
        assert!(it.server.misses().is_empty());
    }
}

#[test]
fn a_server_does_not_start_what_the_log_of_a_store_allows() {
    let it = Interrupted::new();
    let words = it.words(&["--permissions", "read-only", "--mode", "plan", "--deny", "*"]);
    let server = Server::start(&it.place, &words);
    until(|| count(&it.place.log("s"), "TurnSettled") == 1);
    assert!(!it.was_planted());
    assert!(it.observed()[1].starts_with("Denied"), "{:?}", it.observed());
    server.stop("TERM");
}

#[test]
fn a_server_holds_what_was_allowed_for_a_person() {
    let it = Interrupted::new();
    let mut server = Server::start(&it.place, &it.words(&["--recover", "hold"]));
    server.said_at_last("an earlier process allowed this call");
    until(|| count(&it.place.log("s"), "ApprovalAsked") == 1);
    assert!(!it.was_planted());
    let token = server.token().to_owned();
    let (status, open) = server.get(&token, "/v1/sessions/s/approvals", "");
    assert_eq!(status, 200, "{open}");
    let question = &open["approvals"][0];
    let said = json!({"decision": "allow", "digest": question["digest"]});
    let path = format!("/v1/sessions/s/approvals/{}", question["call"]);
    let (status, answer) = server.post(&token, &path, &said);
    assert_eq!(status, 202, "{answer}");
    until(|| it.was_planted());
    until(|| count(&it.place.log("s"), "TurnSettled") == 1);
    server.stop("TERM");
}

#[test]
fn an_import_names_what_the_session_goes_on_with() {
    let it = Interrupted::new();
    let exported = it.place.run(&["export", "s"]);
    assert_eq!(exported.code, 0, "{}", exported.err);
    let other = Place::new();
    std::fs::write(other.file("s.jsonl"), &exported.out).unwrap();
    let imported = other.run(&["import", "s.jsonl"]);
    assert_eq!(imported.code, 0, "{}", imported.err);
    let said = "an earlier process allowed shell {\"command\":\"echo planted > planted\"}";
    assert!(imported.err.contains(said), "{}", imported.err);
}
