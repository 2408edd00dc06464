//! Inputs: what waits in a session is listed, edited, moved and withdrawn, also of a process that died.

#![expect(clippy::unwrap_used, reason = "it is all test code, also what its tests share")]

mod common;

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::process::Child;

use common::server::Server;
use common::{Done, Place, signal};
use serde_json::{Value, json};
use windlass_testkit::http::{ModelServer, Reply, Script};

/// A hook on prompts that records them, and does not answer as long as the file `stall` exists.
fn hooks(place: &Place) {
    let command = "cat >> seen; while test -e stall; do sleep 0.1; done";
    let hook = json!({"type": "command", "command": command, "timeout": 60});
    let hooks = json!({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}});
    std::fs::write(place.file("hooks.json"), hooks.to_string()).unwrap();
    File::create(place.file("stall")).unwrap();
}

/// A command whose hook on the prompt runs, and does not end.
fn stalled(place: &Place, words: &[&str]) -> Child {
    let words = [words, &["--json", "--hooks", "hooks.json"]].concat();
    let mut child = place.command(&words).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("HooksAsked") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "the hook was not asked");
    }
    child.stdout = Some(out.into_inner());
    child
}

/// Sends a prompt, and interrupts the turn before a hook has let it in.
fn interrupted(place: &Place, words: &[&str]) {
    let child = stalled(place, words);
    signal(&child, "INT");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
}

fn begin<'a>(server: &'a str, prompt: &'a str) -> [&'a str; 8] {
    ["run", prompt, "--session", "s", "--provider", "openai-chat", "--base-url", server]
}

fn ok(done: Done) -> Done {
    assert_eq!(done.code, 0, "{}\n{}", done.out, done.err);
    done
}

/// The ids and texts that wait.
fn queue(place: &Place) -> Vec<(u64, String)> {
    let listed = ok(place.run(&["inputs", "s", "--json"])).out;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let inputs = listed["inputs"].as_array().unwrap().iter();
    let input =
        |one: &Value| (one["input"].as_u64().unwrap(), one["text"].as_str().unwrap().to_owned());
    inputs.map(input).collect()
}

/// What the user says in the latest request.
fn asked(server: &ModelServer) -> String {
    let request = server.samples().pop().unwrap().json.unwrap();
    let messages = request["messages"].as_array().unwrap().iter();
    let user = messages.filter(|message| message["role"] == "user");
    user.map(|message| message["content"].to_string()).collect()
}

#[test]
fn inputs_that_wait_are_changed_before_the_session_goes_on() {
    let place = Place::new();
    hooks(&place);
    let server = ModelServer::start(Script::list([Reply::say("one"), Reply::say("two")])).unwrap();
    let base_url = server.base_url();
    interrupted(&place, &begin(&base_url, "first"));
    for prompt in ["second", "third"] {
        interrupted(&place, &["resume", "s", prompt]);
    }
    let waiting = queue(&place);
    let texts: Vec<&str> = waiting.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["first", "second", "third"]);
    let [first, second, third] = [0, 1, 2].map(|at: usize| waiting[at].0.to_string());

    let listed = ok(place.run(&["inputs", "s"]));
    assert!(listed.out.contains(&format!("{first}  turn       first\n")), "{}", listed.out);
    assert!(listed.err.contains("the inputs wait until `windlass resume s`"), "{}", listed.err);

    let edited = ok(place.run(&["inputs", "s", "edit", &first, "first, please"]));
    assert_eq!((edited.out.as_str(), edited.err.contains("is edited")), ("", true));
    ok(place.run(&["inputs", "s", "move", &third, "--before", &first]));
    let left = ok(place.run(&["inputs", "s", "withdraw", &second, "--json"])).out;
    let left: Value = serde_json::from_str(&left).unwrap();
    let waits = |input: &str, text: &str| {
        json!({"input": input.parse::<u64>().unwrap(), "text": text, "delivery": "turn",
               "images": 0, "dry_run": false, "turn": null})
    };
    let inputs = [waits(&third, "third"), waits(&first, "first, please")];
    assert_eq!(left, json!({"inputs": inputs, "held": true}));
    let again = ok(place.run(&["inputs", "s", "edit", &first, "first, please"]));
    let unchanged = format!("nothing to change: input {first} has this text");
    assert!(again.err.contains(&unchanged), "{}", again.err);

    for words in
        [vec!["withdraw", &second], vec!["edit", "999", "x"], vec!["move", &first, "--before", "1"]]
    {
        let refused = place.run(&[&["inputs", "s"][..], &words].concat());
        assert_eq!(refused.code, 2, "{words:?}: {}", refused.err);
        assert!(refused.err.contains("does not wait"), "{}", refused.err);
    }
    let unknown = place.run(&["inputs", "none", "withdraw", "2"]);
    assert_eq!(unknown.code, 2, "{}", unknown.err);
    ok(place.run(&["verify", "s"]));
    ok(place.run(&["replay", "s", "--verify"]));

    std::fs::remove_file(place.file("stall")).unwrap();
    ok(place.run(&["resume", "s", "--hooks", "hooks.json"]));
    assert!(asked(&server).contains("third"), "{}", asked(&server));
    ok(place.run(&["resume", "s", "--hooks", "hooks.json"]));
    let asked = asked(&server);
    assert!(asked.contains("first, please") && !asked.contains("second"), "{asked}");
    let seen = std::fs::read_to_string(place.file("seen")).unwrap();
    assert!(seen.contains("first, please"), "the hook was asked about the new text: {seen}");
    assert_eq!(queue(&place), []);
    ok(place.run(&["replay", "s", "--verify"]));
}

#[test]
fn the_input_of_a_turn_whose_process_died_is_edited_and_not_withdrawn() {
    let place = Place::new();
    hooks(&place);
    let server = ModelServer::start(Script::list([Reply::say("one")])).unwrap();
    let base_url = server.base_url();
    let mut child = stalled(&place, &begin(&base_url, "first"));
    let listed = ok(place.run(&["inputs", "s"])).out;
    assert!(listed.contains("first (a turn is open for it)"), "{listed}");
    // Its process holds the session.
    let held = place.run(&["inputs", "s", "edit", "2", "other"]);
    assert_eq!(held.code, 5, "{}", held.err);
    child.kill().unwrap();
    child.wait().unwrap();

    for words in [["inputs", "s", "withdraw", "2"], ["inputs", "s", "move", "2"]] {
        let refused = place.run(&words);
        assert_eq!(refused.code, 2, "{}", refused.err);
        assert!(refused.err.contains("turn 3 is open for input 2"), "{}", refused.err);
    }
    ok(place.run(&["inputs", "s", "edit", "2", "other"]));
    std::fs::remove_file(place.file("stall")).unwrap();
    ok(place.run(&["resume", "s", "--hooks", "hooks.json"]));
    assert!(asked(&server).contains("other"), "{}", asked(&server));
    ok(place.run(&["verify", "s"]));
    ok(place.run(&["replay", "s", "--verify"]));
}

#[test]
fn inputs_of_a_session_that_a_server_drives_are_changed_there() {
    let place = Place::new();
    let replies = [Reply::say("some words that go on and on").stall_after(700)];
    let model = ModelServer::start(Script::list(replies)).unwrap();
    let base_url = model.base_url();
    let flags = ["--token-file", "token", "--provider", "openai-chat", "--base-url", &base_url];
    let server = Server::start(&place, &flags);
    let session = server.session();
    for prompt in ["go", "one", "two"] {
        server.send(&session, prompt);
    }
    let url = format!("http://{}", server.at());
    let inputs = |words: &[&str]| {
        let there = ["--server", &url, "--token-file", "token"];
        place.run(&[&["inputs", &session][..], words, &there].concat())
    };
    let listed = ok(inputs(&["--json"])).out;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let id = |at: usize| listed["inputs"][at]["input"].to_string();
    let (one, two) = (id(0), id(1));
    ok(inputs(&["edit", &one, "one, please"]));
    ok(inputs(&["move", &one]));
    ok(inputs(&["withdraw", &two]));
    let left = ok(inputs(&[])).out;
    assert!(left.contains("one, please") && !left.contains("two"), "{left}");
    for words in [["withdraw", &two], ["edit", "2"]] {
        let words = [&words[..], if words[0] == "edit" { &["other"] } else { &[] }].concat();
        let refused = inputs(&words);
        assert_eq!(refused.code, 2, "{}", refused.err);
        assert!(refused.err.contains("input_not_waiting"), "{}", refused.err);
    }
    // The store alone is held by the server.
    let held = place.run(&["inputs", &session, "withdraw", &one]);
    assert_eq!(held.code, 5, "{}", held.err);

    let path = format!("/v1/sessions/{session}/interrupt");
    let (status, stopped) = server.post(server.token(), &path, &json!({"reason": "no"}));
    assert_eq!(status, 202, "{stopped}");
    let waiting = loop {
        let listed = ok(inputs(&[]));
        if listed.err.contains("the inputs wait until") {
            break listed.err;
        }
    };
    assert!(waiting.contains(&format!("`POST {url}/v1/sessions/{session}/continue`")), "{waiting}");
    assert!(!waiting.contains("windlass resume"), "{waiting}");
    server.stop("TERM");
}

#[test]
fn a_server_that_refuses_or_is_away_is_told_apart() {
    let place = Place::new();
    hooks(&place);
    let model = ModelServer::start(Script::list([Reply::say("one")])).unwrap();
    let base_url = model.base_url();
    let mut child = stalled(&place, &begin(&base_url, "first"));
    let user = ["--token-file", "token", "--provider", "openai-chat", "--base-url", &base_url];
    let server = Server::start(&place, &user);
    let url = format!("http://{}", server.at());
    let there = ["--server", &url, "--token-file", "token"];
    let held = place.run(&[&["inputs", "s", "edit", "2", "other"][..], &there].concat());
    assert_eq!(held.code, 5, "{}", held.err);
    assert!(held.err.contains("held_elsewhere"), "{}", held.err);
    std::fs::write(place.file("wrong"), "wrong").unwrap();
    let wrong = place.run(&["inputs", "s", "--server", &url, "--token-file", "wrong"]);
    assert_eq!(wrong.code, 4, "{}", wrong.err);
    child.kill().unwrap();
    child.wait().unwrap();
    server.stop("TERM");

    let away = place.run(&[&["inputs", "s"][..], &there].concat());
    assert_eq!(away.code, 1, "{}", away.err);
    assert!(away.err.contains(&format!("cannot reach the server {url}: ")), "{}", away.err);
}

#[test]
fn a_server_and_a_store_are_not_named_at_once_and_arguments_precede_variables() {
    let place = Place::new();
    ok(place.run(&["run", "hello", "--session", "s"]));
    let server = Server::start(&place, &["--token-file", "token"]);
    let url = format!("http://{}", server.at());
    let there = ["inputs", "s", "list", "--server", &url, "--token-file", "token"];
    for store in [["--store", &place.store_url()], ["--workspace", "."]] {
        let refused = place.run(&[&there[..], &store].concat());
        assert_eq!(refused.code, 2, "{}", refused.err);
        assert!(refused.err.contains(store[0]), "{}", refused.err);
    }
    let with = |words: &[&str], name: &str, value: &str| {
        let token = server.token();
        let mut command = place.command(words);
        command.env("WINDLASS_TOKEN", token).env(name, value).output().unwrap().status.code()
    };
    assert_eq!(with(&there, "WINDLASS_STORE", "file:nowhere"), Some(0));
    assert_eq!(with(&["inputs", "s"], "WINDLASS_SERVER", &url), Some(0));
    let away = "http://127.0.0.1:1";
    assert_eq!(with(&["inputs", "s"], "WINDLASS_SERVER", away), Some(1));
    for store in [["--store", &place.store_url()], ["--workspace", "."]] {
        let words = [&["inputs", "s"][..], &store].concat();
        assert_eq!(with(&words, "WINDLASS_SERVER", away), Some(0), "{words:?}");
    }
    server.stop("TERM");
}
