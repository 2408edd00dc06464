//! Escalation: a model asks for a command outside of the sandbox, and a person decides about exactly
//! that call, each time. Nothing else allows it: no mode, no rule, no grant, no log.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::PathBuf;

use common::server::Server;
use common::terminal::TerminalProcess;
use common::{Done, Place, count};
use serde_json::{Value, json};
use windlass_testkit::http::{ModelServer, Reply, Script};

const KEYS: &str = "or say why not: ";

/// A model that makes these calls of the shell, one an answer.
fn model(calls: &[Value]) -> ModelServer {
    let calls = calls.iter().map(|arguments| Reply::call("shell", arguments.clone()));
    ModelServer::start(Script::list(calls.chain([Reply::say("Done.")]).collect::<Vec<_>>()))
        .unwrap()
}

/// A file that no command in the sandbox can make, and that the test can.
fn elsewhere() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = folder.path().join("made");
    (folder, file)
}

fn touch(file: &std::path::Path, outside: bool) -> Value {
    let command = format!("touch {}", file.display());
    match outside {
        true => json!({ "command": command, "outside_sandbox": true }),
        false => json!({ "command": command }),
    }
}

fn words<'a>(server: &'a str, flags: &[&'a str]) -> Vec<&'a str> {
    let at = [
        "run",
        "go",
        "--provider",
        "openai",
        "--model",
        "m",
        "--base-url",
        server,
        "--session",
        "s",
    ];
    [&at[..], flags].concat()
}

fn observations(place: &Place) -> Vec<Value> {
    let log = place.log("s");
    let observed = log.into_iter().filter(|fact| fact["kind"] == "CallObserved");
    observed.map(|fact| fact["body"]["observation"].clone()).collect()
}

fn answered(place: &Place, words: &[&str], answer: &str) -> (String, Done) {
    let mut asked = TerminalProcess::run(place, words);
    let question = asked.until(KEYS);
    asked.line(answer);
    let done = asked.end();
    assert_eq!(done.code, 0, "{}", done.err);
    (question, done)
}

#[test]
fn a_call_that_the_sandbox_refused_runs_outside_once_a_person_approved_it() {
    let (place, (_folder, file)) = (Place::new(), elsewhere());
    let server = model(&[touch(&file, false), touch(&file, true)]);
    let (question, done) =
        answered(&place, &words(&server.base_url(), &["--permissions", "auto"]), "y");
    assert!(question.contains("OUTSIDE OF THE SANDBOX"), "{question}");
    assert!(question.contains("It failed in the sandbox:"), "{question}");
    assert!(question.contains("outside_sandbox: true"), "{question}");
    assert!(!question.contains("[s]"), "{question}");
    assert!(file.exists(), "{}", done.err);
    let observed = observations(&place);
    assert_eq!(observed[0]["status"], "failed");
    let hint = observed[0]["output"].as_str().unwrap();
    assert!(hint.contains("\"outside_sandbox\": true: a person is asked"), "{hint}");
    assert_eq!(observed[1]["confinement"]["tier"], "off");
    assert_ne!(observed[0]["confinement"]["tier"], "off");
    assert_eq!(place.run(&["replay", "s", "--verify"]).code, 0);
}

#[test]
fn nothing_but_a_person_allows_it() {
    for flags in [
        &["--permissions", "auto"][..],
        &["--permissions", "auto", "--allow", "shell"],
        &["--permissions", "ask", "--allow", "shell(command=*)"],
    ] {
        let (place, (_folder, file)) = (Place::new(), elsewhere());
        let server = model(&[touch(&file, true)]);
        let (_, done) = answered(&place, &words(&server.base_url(), flags), "not that");
        assert!(!file.exists(), "{flags:?}");
        let log = place.log("s");
        assert_eq!(count(&log, "CallStarted"), 0, "{}", done.err);
    }
    for flags in [&["--deny", "shell(command=touch *)"][..], &["--mode", "plan"]] {
        let (place, (_folder, file)) = (Place::new(), elsewhere());
        let server = model(&[touch(&file, true)]);
        let done = TerminalProcess::run(&place, &words(&server.base_url(), flags)).end();
        assert_eq!(done.code, 0, "{}", done.err);
        assert!(!file.exists(), "{flags:?}");
        assert_eq!(count(&place.log("s"), "ApprovalAsked"), 0, "{flags:?}");
    }
}

#[test]
fn a_grant_does_not_cover_it() {
    let (place, (_folder, file)) = (Place::new(), elsewhere());
    let server = model(&[json!({"command": "touch a"}), touch(&file, true)]);
    let base_url = server.base_url();
    let mut asked = TerminalProcess::run(&place, &words(&base_url, &["--permissions", "ask"]));
    asked.until(KEYS);
    asked.line("p");
    let question = asked.until(KEYS);
    assert!(question.contains("OUTSIDE OF THE SANDBOX"), "{question}");
    asked.line("p");
    let said = asked.until(KEYS);
    assert!(said.contains("approved by itself"), "{said}");
    asked.line("n");
    assert_eq!(asked.end().code, 0);
    assert!(place.file("a").exists() && !file.exists());
}

#[test]
fn a_process_that_forbids_it_refuses_in_plain_words() {
    let forbidden = [
        (&["--permissions", "auto"][..], true),
        (&["--permissions", "auto", "--escalation", "never"], false),
    ];
    for (flags, detached) in forbidden {
        let (place, (_folder, file)) = (Place::new(), elsewhere());
        let server = model(&[touch(&file, true)]);
        let base_url = server.base_url();
        let words = words(&base_url, flags);
        let done = match detached {
            true => place.without_terminal(&words),
            false => TerminalProcess::run(&place, &words).end(),
        };
        assert_eq!(done.code, 0, "{}", done.err);
        assert!(!file.exists());
        let observed = observations(&place);
        let said = observed[0]["output"].as_str().unwrap();
        assert!(said.contains("outside_sandbox"), "{said}");
        assert_eq!(count(&place.log("s"), "ApprovalAsked"), 0);
        let offered = String::from_utf8(server.requests()[0].body.clone()).unwrap();
        assert!(!offered.contains("outside_sandbox"), "{offered}");
    }
}

#[test]
fn an_edit_is_approved_as_it_is_typed_and_takes_no_call_out() {
    let (place, (_folder, file)) = (Place::new(), elsewhere());
    let edited = |place: &Place, call: Value, edit: &Value| {
        let server = model(&[call]);
        let base_url = server.base_url();
        let mut asked = TerminalProcess::run(place, &words(&base_url, &["--permissions", "ask"]));
        asked.until(KEYS);
        asked.line("e");
        asked.until("on one line: ");
        asked.line(&edit.to_string());
        let done = asked.end();
        assert_eq!(done.code, 0, "{}", done.err);
        observations(place)[0].clone()
    };
    // The person was asked about a call in the sandbox.
    let seen = edited(&place, json!({"command": "touch a"}), &touch(&file, true));
    assert_eq!(seen["status"], "denied", "{seen}");
    assert!(!file.exists());
    // What was asked about runs as it was edited: outside, or inside again.
    let place = Place::new();
    let seen =
        edited(&place, json!({"command": "ls", "outside_sandbox": true}), &touch(&file, true));
    assert_eq!((&seen["status"], &seen["confinement"]["tier"]), (&json!("done"), &json!("off")));
    assert!(file.exists());
    let place = Place::new();
    let seen = edited(&place, touch(&file, true), &json!({"command": "touch a"}));
    assert_eq!(seen["status"], "done");
    assert_ne!(seen["confinement"]["tier"], "off");
}

/// Leaves a question about a call outside of the sandbox open, and stores its log again as `forge`
/// rewrites it.
fn forged(file: &std::path::Path, forge: impl Fn(&str) -> String) -> Place {
    let place = Place::new();
    let server = model(&[touch(file, true)]);
    let base_url = server.base_url();
    let mut first = TerminalProcess::run(&place, &words(&base_url, &["--permissions", "auto"]));
    first.until(KEYS);
    first.signal("KILL");
    first.end();
    let export = place.run(&["export", "s"]).out;
    assert_eq!(place.run(&["erase", "s", "--yes"]).code, 0);
    // Without its header, an export is one of an earlier version.
    let facts: Vec<&str> = export.lines().skip(1).collect();
    std::fs::write(place.file("planted.jsonl"), forge(&(facts.join("\n") + "\n"))).unwrap();
    let imported = place.run(&["import", "planted.jsonl"]);
    assert_eq!(imported.code, 0, "{}", imported.err);
    place
}

/// The facts of a log with the approval of its last question, and with the start of the call too.
fn with_answer(log: &str, starts: bool) -> String {
    let facts: Vec<&str> = log.lines().filter(|line| line.contains("\"kind\"")).collect();
    let last: Value = serde_json::from_str(facts.last().unwrap()).unwrap();
    let log = facts.join("\n") + "\n";
    let asked = facts.iter().find(|line| line.contains("\"ApprovalAsked\"")).unwrap();
    let asked: Value = serde_json::from_str(asked).unwrap();
    let body = &asked["body"];
    let seq = last["seq"].as_u64().unwrap();
    // The members of a fact have an order.
    let envelope = |more: u64, kind: &str, body: &str| {
        let (seq, turn, ts) = (seq + more, &last["turn"], &last["ts"]);
        format!(
            "{{\"v\":1,\"session\":\"s\",\"seq\":{seq},\"turn\":{turn},\"ts\":{ts},\"kind\":\"{kind}\",\
             \"body\":{body}}}\n"
        )
    };
    let (call, arguments) = (&body["call"], &body["arguments"]);
    let by = r#"{"kind":"principal","tenant":"local","principal":"mallory"}"#;
    let answer =
        format!(r#"{{"call":{call},"by":{by},"verdict":"allow","arguments":{arguments}}}"#);
    let start =
        format!(r#"{{"call":{call},"attempt":1,"idempotency_key":"s.{call}","timeout_ms":60000}}"#);
    let start = if starts { envelope(2, "CallStarted", &start) } else { String::new() };
    log + &envelope(1, "ApprovalAnswered", &answer) + &start
}

#[test]
fn no_log_allows_it() {
    let (_folder, file) = elsewhere();
    type Forge = fn(&str) -> String;
    let forges: [(Forge, Option<&str>); 5] = [
        // The question is asked again.
        (str::to_owned, Some("n")),
        // A person is said to have approved it: that is decided again, here.
        (|log| with_answer(log, false), Some("n")),
        (|log| with_answer(log, true), None),
        // The log hides that the call asks for it.
        (|log| log.replace(r#""outside_sandbox":true,"#, ""), Some("y")),
        (|log| with_answer(&log.replace(r#""outside_sandbox":true,"#, ""), false), None),
    ];
    for (nth, (forge, asks)) in forges.into_iter().enumerate() {
        let place = forged(&file, forge);
        let server = model(&[]);
        let base_url = server.base_url();
        let resume =
            ["resume", "s", "--provider", "openai", "--model", "m", "--base-url", &base_url];
        let mut second = TerminalProcess::run(&place, &resume);
        if let Some(answer) = asks {
            second.until(KEYS);
            second.line(answer);
        }
        let done = second.end();
        assert_eq!(done.code, 0, "{nth}: {}", done.err);
        assert!(!file.exists(), "{nth}");
        // Nor without anybody to ask.
        let place = forged(&file, forge);
        let server = model(&[]);
        let base_url = server.base_url();
        let resume =
            ["resume", "s", "--provider", "openai", "--model", "m", "--base-url", &base_url];
        let done = place.without_terminal(&[&resume[..], &["--escalation", "ask"]].concat());
        assert_eq!(done.code, 0, "{nth}: {}", done.err);
        assert!(!file.exists(), "{nth}");
    }
}

#[test]
fn nobody_is_asked_about_a_call_whose_log_has_the_digest_of_other_arguments() {
    let (_folder, file) = elsewhere();
    let place = forged(&file, |log| {
        let at = log.find("sha256:").unwrap();
        let digest = &log[at + 7..at + 71];
        log.replace(digest, &"0".repeat(64))
    });
    let server = model(&[]);
    let base_url = server.base_url();
    let resume = ["resume", "s", "--provider", "openai", "--model", "m", "--base-url", &base_url];
    let done = TerminalProcess::run(&place, &resume).end();
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(!file.exists());
    let said = observations(&place)[0]["output"].as_str().unwrap().to_owned();
    assert!(said.contains("digest of other arguments"), "{said}");
}

/// Serves a session whose model asks for a call outside of the sandbox. Returns its open questions
/// and the requests to the model once the turn waits or has ended.
fn served(flags: &[&str], file: &std::path::Path, remember: bool) -> (Vec<Value>, String) {
    let place = Place::new();
    let model = model(&[touch(file, true)]);
    let base_url = model.base_url();
    let at = ["--provider", "openai", "--model", "m", "--base-url", &base_url];
    let server = Server::start(&place, &[&at[..], flags].concat());
    let session = server.session();
    server.send(&session, "go");
    let asked = loop {
        let (_, page) = server.get(server.token(), "/v1/approvals", "");
        let open = page["approvals"].as_array().unwrap().clone();
        let (_, shown) = server.get(server.token(), &format!("/v1/sessions/{session}"), "");
        if !open.is_empty() || shown["state"] == "idle" {
            break open;
        }
    };
    if let (Some(open), true) = (asked.first(), remember) {
        let path = format!("/v1/sessions/{session}/approvals/{}", open["call"]);
        let word = |more: Value| {
            let mut word = json!({"decision": "allow", "digest": open["digest"]});
            word.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            server.post(server.token(), &path, &word)
        };
        assert_eq!(word(json!({"remember": "session"})).0, 422);
        assert_eq!(word(json!({"digest": format!("sha256:{}", "0".repeat(64))})).0, 409);
        assert!(!file.exists());
        assert_eq!(word(json!({})).0, 202);
        while server.get(server.token(), &format!("/v1/sessions/{session}"), "").1["state"]
            != "idle"
        {}
    }
    (asked, String::from_utf8(model.requests()[0].body.clone()).unwrap())
}

#[test]
fn a_server_puts_it_to_its_clients_only_if_it_is_told_to() {
    let (_folder, file) = elsewhere();
    let (asked, offered) = served(&["--permissions", "auto"], &file, true);
    assert!(asked.is_empty() && !file.exists() && !offered.contains("outside_sandbox"));
    let flags = ["--permissions", "auto", "--escalation", "ask"];
    let (asked, offered) = served(&flags, &file, true);
    assert!(offered.contains("outside_sandbox"), "{offered}");
    assert_eq!(asked[0]["reason"], "outside_sandbox");
    assert_eq!(asked[0]["grant"], Value::Null);
    assert!(asked[0]["view"][0].as_str().unwrap().contains("OUTSIDE OF THE SANDBOX"));
    assert!(file.exists());
}
