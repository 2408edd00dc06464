//! Agents: what the turn that calls them reads of their ends, and what they read themselves.

use std::fs;

use serde_json::{Value, json};
use windlass_testkit::http::{ModelServer, Reply, Request, Script};
use windlass_testkit::{Answer, Gate};

use crate::common::Place;
use crate::prose::Prose;
use crate::{calls, done, sections};

/// What the agent does, in its own requests.
type Scout = fn(&Request) -> Reply;

fn is_scout(request: &Request) -> bool {
    String::from_utf8_lossy(&request.body).contains("You are a scout.")
}

/// A turn that calls an agent with these properties, whose requests this answers: the first request
/// of the agent, and the last one of the turn.
fn scouted(agent: &Value, scout: Scout) -> (Prose, Prose) {
    let place = Place::new();
    fs::write(place.file("tree.txt"), "an oak\n").unwrap();
    let mut tool = json!({
        "name": "scout",
        "description": "Looks around.",
        "agent": {"instructions": "You are a scout.", "tools": ["read_file"], "samples": 2},
    });
    for (name, value) in agent.as_object().unwrap() {
        match name.as_str() {
            "timeout_ms" => tool[name] = value.clone(),
            _ => tool["agent"][name] = value.clone(),
        }
    }
    fs::write(place.file("tools.json"), json!({"tools": [tool]}).to_string()).unwrap();
    let script = Script::respond(move |request| match request.asked().results.is_empty() {
        _ if is_scout(request) => scout(request),
        true => Reply::answer(calls([("scout", json!({"prompt": "Which tree is there?"}))])),
        false => Reply::answer(done()),
    });
    let server = ModelServer::start(script).unwrap();
    let base_url = server.base_url();
    let provider = ["--provider", "openai-chat", "--base-url", &base_url, "--session", "s"];
    let words = [&["run", "Find a tree.", "--tools", "tools.json"][..], &provider].concat();
    let ended = place.without_terminal(&words);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let samples = server.samples();
    let prose = |request: &Request| Prose::new(&place, request.json.clone().unwrap());
    let first = samples.iter().find(|request| is_scout(request)).unwrap();
    let last = samples.iter().rfind(|request| !is_scout(request)).unwrap();
    (prose(first), prose(last))
}

/// A turn whose agent is declared to go on when its call runs out of time, and ends while the turn
/// still runs: the last request of the turn.
fn detached() -> Prose {
    let place = Place::new();
    let tool = json!({
        "name": "scout", "description": "Looks around.", "timeout_ms": 4_000,
        "agent": {"instructions": "You are a scout.", "samples": 2, "when_parent_ends": "detach"},
    });
    fs::write(place.file("tools.json"), json!({"tools": [tool]}).to_string()).unwrap();
    let found = Gate::new();
    let held = found.clone();
    let script = Script::respond(move |request| match request.asked().results.len() {
        _ if is_scout(request) => Reply::say("There is an oak.").head_after(&held),
        _ if String::from_utf8_lossy(&request.body).contains("an oak") => Reply::answer(done()),
        0 => Reply::answer(calls([("scout", json!({"prompt": "Which tree is there?"}))])),
        1 => {
            found.open();
            Reply::answer(calls([("shell", json!({"command": "sleep 3"}))]))
        }
        _ => Reply::answer(done()),
    });
    let server = ModelServer::start(script).unwrap();
    let base_url = server.base_url();
    let provider = ["--provider", "openai-chat", "--base-url", &base_url, "--session", "s"];
    let words = [&["run", "Find a tree.", "--tools", "tools.json"][..], &provider].concat();
    let ended = place.without_terminal(&words);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let samples = server.samples();
    let last = samples.iter().rfind(|request| !is_scout(request)).unwrap();
    Prose::new(&place, last.json.clone().unwrap())
}

#[test]
fn the_result_of_a_detached_agent() {
    expect_test::expect_file!["the_result_of_a_detached_agent.txt"].assert_eq(&detached().talk());
}

#[test]
fn results_of_agents() {
    let say = |_: &Request| Reply::say("There is an oak.");
    let loops = |_: &Request| Reply::answer(calls([("read_file", json!({"path": "tree.txt"}))]));
    let gives_up = |_: &Request| Reply::error(400, "invalid_request_error", "no such model here");
    let silent = |_: &Request| Reply::answer(Answer::new());
    let waits = |_: &Request| Reply::say("There is").stall_after(300);
    let late = json!({"timeout_ms": 4_000});
    let detached = json!({"timeout_ms": 4_000, "when_parent_ends": "detach"});
    let scouts: [(Value, Scout); 6] = [
        (json!({}), say),
        (json!({}), loops),
        (json!({}), gives_up),
        (json!({}), silent),
        (late, waits),
        (detached, waits),
    ];
    // Two of them wait, so they wait together.
    let scouts = scouts.map(|(agent, scout)| std::thread::spawn(move || scouted(&agent, scout)));
    let [(own, whole), (_, exhausted), (_, failed), (_, empty), (_, late), (_, detached)] =
        scouts.map(|scout| scout.join().unwrap());
    let texts = [
        ("What the agent reads", own.conversation()),
        ("It answers", whole.calls()),
        ("It reaches its limit", exhausted.calls()),
        ("Its provider fails", failed.calls()),
        ("It says nothing", empty.calls()),
        ("It runs too long", late.calls()),
        ("It runs too long, and is declared to go on", detached.calls()),
    ];
    expect_test::expect_file!["results_of_agents.txt"].assert_eq(&sections(texts));
}

/// How many results the request shows.
fn results(request: &Request) -> usize {
    let messages = request.json.as_ref().unwrap()["messages"].as_array().unwrap();
    messages.iter().filter(|message| message["role"] == "tool").count()
}

/// A turn whose agent works in the background, and whose model sends it a message, waits for it, and
/// then closes it: the last request.
fn background() -> Prose {
    let place = Place::new();
    let tool = json!({
        "name": "scout", "description": "Looks around.",
        "agent": {"instructions": "You are a scout.", "samples": 2, "background": true},
    });
    fs::write(place.file("tools.json"), json!({"tools": [tool]}).to_string()).unwrap();
    let found = Gate::new();
    let held = found.clone();
    let send = json!({"agent": "scout", "message": "Look to the left."});
    let script = Script::respond(move |request| match results(request) {
        _ if is_scout(request) => Reply::say("There is an oak.").head_after(&held),
        0 => Reply::answer(calls([("scout", json!({"prompt": "Which tree is there?"}))])),
        1 => Reply::answer(calls([("send_to_agent", send.clone())])),
        2 => Reply::answer(calls([("wait_for_agent", json!({"agent": "scout", "seconds": 1}))])),
        3 => {
            found.open();
            Reply::answer(calls([("wait_for_agent", json!({"agent": "scout"}))]))
        }
        4 => Reply::answer(calls([("close_agent", json!({"agent": "scout"}))])),
        _ => Reply::answer(done()),
    });
    let server = ModelServer::start(script).unwrap();
    let base_url = server.base_url();
    let provider = ["--provider", "openai-chat", "--base-url", &base_url, "--session", "s"];
    let tools = ["--tools", "tools.json", "--permissions", "auto"];
    let ended = place.without_terminal(&[&["run", "Find a tree."][..], &provider, &tools].concat());
    assert_eq!(ended.code, 0, "{}", ended.err);
    let samples = server.samples();
    let last = samples.iter().rfind(|request| !is_scout(request)).unwrap();
    Prose::new(&place, last.json.clone().unwrap())
}

#[test]
fn agents_in_the_background() {
    let asked = background();
    let tools = ["send_to_agent", "wait_for_agent", "close_agent"].map(|name| asked.tool(name));
    let texts = [("The tools", tools.join("\n")), ("Their results", asked.talk())];
    expect_test::expect_file!["agents_in_the_background.txt"].assert_eq(&sections(texts));
}
