//! Agents that a tools file declares: offered, run in sessions of their own, shown by name.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod background;
#[path = "../common/mod.rs"]
mod common;
mod exporting;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::terminal::TerminalProcess;
use common::{Place, count, signal};
use serde_json::{Value, json};
use windlass_testkit::Gate;
use windlass_testkit::http::{ModelServer, Reply, Request, Script};

fn holds(request: &Request, words: &str) -> bool {
    String::from_utf8_lossy(&request.body).contains(words)
}

/// A tools file with one agent, which has this tool.
fn declares(place: &Place, tool: &str) -> String {
    let agent = json!({
        "name": "scout",
        "description": "Looks around.",
        "agent": {"instructions": "You are a scout.", "tools": [tool], "samples": 3},
    });
    let path = place.file("tools.json");
    fs::write(&path, json!({"tools": [agent]}).to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn an_agent_of_the_tools_file_does_its_part_in_a_session_of_its_own() {
    let place = Place::new();
    fs::write(place.file("tree.txt"), "an oak").unwrap();
    let script = Script::respond(|request| {
        match (holds(request, "You are a scout."), holds(request, "an oak")) {
            (true, false) => Reply::call("read_file", json!({"path": "tree.txt"})),
            (true, true) => Reply::say("there is an oak"),
            (false, false) => Reply::call("scout", json!({"prompt": "look for a tree"})),
            (false, true) => Reply::say("it was found"),
        }
    });
    let server = ModelServer::start(script).unwrap();
    let (base_url, tools) = (server.base_url(), declares(&place, "read_file"));
    let done = place.run(&[
        "run",
        "find a tree",
        "--session",
        "s",
        "--permissions",
        "auto",
        "--no-agents",
        "--tools",
        &tools,
        "--provider",
        "openai-chat",
        "--base-url",
        &base_url,
    ]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.out.contains("it was found"), "{}", done.out);
    assert_eq!(server.samples().len(), 4);
    let told = place.run(&["show", "s"]).out;
    let line = told.lines().find(|line| line.contains("an agent, in session"));
    let child = line.unwrap().rsplit(' ').next().unwrap();
    let shown = place.run(&["show", child]);
    assert_eq!(shown.code, 0, "{}", shown.err);
    assert!(shown.out.contains("there is an oak"), "{}", shown.out);
    // What the two took, and which of them is whose.
    let agents = "; and its agents 2 samples, ";
    assert!(told.contains(agents), "{told}");
    let listed = place.run(&["sessions"]).out;
    let row = listed.lines().find(|row| row.starts_with(child)).unwrap();
    assert!(row.contains("of s) look for a tree"), "{row}");
    let listed = place.run(&["sessions", "--json"]).out;
    let rows: Vec<Value> = listed.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let find = |id: &str| rows.iter().find(|row| row["session"] == id).unwrap();
    assert_eq!(find(child)["lineage"]["of"], "s");
    assert_eq!(find(child)["spent"]["samples"], 2);
    assert_eq!(find("s")["lineage"]["from"], "root");
    assert_eq!(find("s")["spent"]["samples"], 4, "with those of its agent");
    stays_with_its_session(&place, child);
    let erased = place.run(&["erase", "s", "--yes"]);
    assert_eq!(erased.code, 0, "{}", erased.err);
    let left = format!("session {child} of one of its agents still exists");
    assert!(erased.err.contains(&left), "{}", erased.err);
}

/// What is written elsewhere without the session of the agent says so, and how it comes along.
fn stays_with_its_session(place: &Place, child: &str) {
    let left = format!("session {child} of its agent scout is not included");
    let exported = place.run(&["export", "s"]);
    assert_eq!(exported.code, 0, "{}", exported.err);
    let how = format!("{left}: windlass export {child}");
    assert!(exported.err.contains(&how), "{}", exported.err);
    let whole = place.run(&["export", child]);
    assert_eq!(whole.err, "", "it sent out nobody");
    let from = ["--from", &place.store_url(), "--to", "file:copies"];
    let copied = place.run(&[&["copy", "s"][..], &from].concat());
    assert_eq!(copied.code, 0, "{}", copied.err);
    assert!(copied.err.contains(&left), "{}", copied.err);
    let copied = place.run(&[&["copy", "s", child][..], &from].concat());
    assert_eq!(copied.code, 0, "{}", copied.err);
    assert!(!copied.err.contains(&left), "{}", copied.err);
    let words = ["erase", "s", "--yes", "--with-agents", "--store", "file:copies"];
    let erased = place.run(&words);
    assert_eq!(erased.code, 0, "{}", erased.err);
    let told = format!("session {child} of its agent scout is erased");
    assert!(erased.err.contains(&told), "{}", erased.err);
    let listed = place.run(&["sessions", "--store", "file:copies"]);
    assert!(listed.err.contains("there are no sessions"), "{}", listed.err);
}

#[test]
fn an_agent_with_a_tool_that_is_not_there_is_refused() {
    let place = Place::new();
    let tools = declares(&place, "nowhere");
    let done = place.run(&["run", "go", "--tools", &tools, "--provider", "demo"]);
    assert_eq!(done.code, 2, "{}", done.err);
    assert!(done.err.contains("the tool `nowhere`"), "{}", done.err);
}

#[test]
fn an_agent_whose_agents_have_more_than_it_is_refused() {
    let place = Place::new();
    let agent = |name: &str, tool: &str| {
        json!({
            "name": name, "description": "Looks around.",
            "agent": {"instructions": "You are a scout.", "tools": [tool], "samples": 3},
        })
    };
    let tools = json!({"tools": [agent("chief", "scout"), agent("scout", "read_file")]});
    let path = place.file("tools.json");
    fs::write(&path, tools.to_string()).unwrap();
    let done = place.run(&["run", "go", "--tools", path.to_str().unwrap(), "--provider", "demo"]);
    assert_eq!(done.code, 2, "{}", done.err);
    assert!(done.err.contains("`read_file`"), "{}", done.err);
    assert!(done.err.contains("name it for `chief` too"), "{}", done.err);
}

/// A tools file with an agent that counts, and the tool that it counts with.
fn counts(place: &Place, agent: &Value) -> String {
    let path = place.counter("effectful");
    let mut file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let mut scout = json!({
        "name": "scout",
        "description": "Counts.",
        "agent": {"instructions": "You are a scout.", "tools": ["count"], "samples": 9},
    });
    for (name, value) in agent.as_object().unwrap() {
        match scout["agent"].get(name).is_some() || name == "when_parent_ends" {
            true => scout["agent"][name] = value.clone(),
            false => scout[name] = value.clone(),
        }
    }
    file["tools"].as_array_mut().unwrap().push(scout);
    fs::write(&path, file.to_string()).unwrap();
    path
}

/// What a run of session `s` is told, with this model.
fn going<'a>(base_url: &'a str, tools: &'a str) -> Vec<&'a str> {
    vec!["--no-agents", "--tools", tools, "--provider", "openai-chat", "--base-url", base_url]
}

/// The session of the one agent that session `s` sent out.
fn child(place: &Place) -> String {
    let log = place.log("s");
    let started = log.iter().find(|fact| fact["kind"] == "CallStarted");
    let key = &started.unwrap()["body"]["idempotency_key"];
    key.as_str().unwrap().to_owned()
}

/// The names of the tools that a model was offered.
fn offered(request: &Request) -> Vec<String> {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let names = tools.iter().map(|tool| tool["function"]["name"].as_str());
    names.map(|name| name.unwrap().to_owned()).collect()
}

#[test]
fn whoever_speaks_to_an_agent_gives_it_no_further_tool() {
    let place = Place::new();
    let script = Script::respond(|request| match holds(request, "You are a scout.") {
        true => Reply::say("there is nothing"),
        false if holds(request, "there is nothing") => Reply::say("done"),
        false => Reply::call("scout", json!({"prompt": "look"})),
    });
    let server = ModelServer::start(script).unwrap();
    let (base_url, tools) = (server.base_url(), declares(&place, "read_file"));
    let going = going(&base_url, &tools);
    let done = place.run(&[&["run", "go", "--session", "s"][..], &going].concat());
    assert_eq!(done.code, 0, "{}", done.err);
    let child = child(&place);
    let ways = [vec!["resume", &child, "and now?"], vec!["run", "and now?", "--session", &child]];
    for way in ways {
        for tools in [&["--tools", &tools][..], &[]] {
            let done = place.run(&[&way[..], tools, &["--no-agents"]].concat());
            assert_eq!(done.code, 0, "{}", done.err);
            let own = ["read_file", "read_output"];
            assert_eq!(offered(&server.samples().pop().unwrap()), own);
        }
    }
    // A fork of it is a session of one's own.
    let forked = place.run(&["fork", &child, "--at", "1"]);
    assert_eq!(forked.code, 0, "{}", forked.err);
    let fork = forked.out.trim().to_owned();
    let words = ["resume", &fork, "and now?", "--no-agents", "--tools", &tools];
    let done = place.run(&words);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(offered(&server.samples().pop().unwrap()).contains(&"scout".to_owned()));
}

#[test]
fn a_killed_agent_goes_on_and_does_nothing_twice() {
    let place = Place::new();
    let gate = Gate::new();
    let (held, once) = (gate.clone(), AtomicBool::new(true));
    let script = Script::respond(move |request| {
        let counted = holds(request, "\"role\":\"tool\"");
        match (holds(request, "You are a scout."), counted) {
            (true, false) => Reply::call("count", json!({"n": 1})),
            (true, true) if once.swap(false, Ordering::SeqCst) => {
                Reply::say("lost").head_after(&held)
            }
            (true, true) => Reply::say("one was counted"),
            (false, false) => Reply::call("scout", json!({"prompt": "count"})),
            (false, true) => Reply::say("done"),
        }
    });
    let server = ModelServer::start(script).unwrap();
    let (base_url, tools) = (server.base_url(), counts(&place, &json!({})));
    let going = going(&base_url, &tools);
    let mut killed =
        place.command(&[&["run", "go", "--session", "s"][..], &going].concat()).spawn().unwrap();
    let reached = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    reached.block_on(gate.reached());
    signal(&killed, "KILL");
    killed.wait().unwrap();
    gate.open();
    assert_eq!(place.counted().len(), 1);
    let child = child(&place);
    let resumed = place.run(&["resume", "s", "--tools", &tools]);
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    assert!(resumed.out.contains("done"), "{}", resumed.out);
    assert_eq!(place.counted().len(), 1, "nothing is done twice");
    let log = place.log("s");
    assert_eq!(count(&log, "CallStarted"), 2, "the call was taken up again");
    let seen: Vec<_> = log.iter().filter(|fact| fact["kind"] == "CallObserved").collect();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0]["body"]["observation"]["output"], "one was counted");
    let log = place.log(&child);
    assert_eq!((count(&log, "InputQueued"), count(&log, "CallStarted")), (1, 1));

    // The same, where the session of the agent stays behind.
    let elsewhere = Place::new();
    let cut = log_until_open(&place);
    fs::write(elsewhere.file("s.jsonl"), cut).unwrap();
    let imported = elsewhere.run(&["import", "s.jsonl"]);
    assert_eq!(imported.code, 0, "{}", imported.err);
    let resumed = elsewhere.run(&["resume", "s", "--tools", &tools]);
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    assert_eq!(elsewhere.counted().len(), 0, "nobody counts again");
    let log = elsewhere.log("s");
    let seen = log.iter().find(|fact| fact["kind"] == "CallObserved").unwrap();
    assert_eq!(seen["body"]["observation"]["status"], "unknown");
    assert_eq!(seen["body"]["usage"]["samples"], 9);
}

/// The log of session `s` as it was when its process died.
fn log_until_open(place: &Place) -> String {
    let log = place.run(&["log", "s"]);
    assert_eq!(log.code, 0, "{}", log.err);
    let lines = log.out.split_inclusive('\n');
    lines.take_while(|line| !line.contains("\"attempt\":2")).collect()
}

#[test]
fn a_limit_of_three_is_three_requests_over_the_whole_tree() {
    let place = Place::new();
    let script = Script::respond(|request| match holds(request, "You are a scout.") {
        true => Reply::call("count", json!({"n": 1})),
        false if holds(request, "reached its limit") => Reply::say("it was not enough"),
        false => Reply::call("scout", json!({"prompt": "count for ever"})),
    });
    let server = ModelServer::start(script).unwrap();
    let (base_url, tools) = (server.base_url(), counts(&place, &json!({})));
    let going = going(&base_url, &tools);
    let words = ["run", "go", "--session", "s", "--max-samples", "3"];
    let done = place.run(&[&words[..], &going].concat());
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.out.contains("it was not enough"), "{}", done.out);
    assert_eq!(server.samples().len(), 3);
    assert_eq!(place.counted().len(), 1);
}

#[test]
fn a_person_is_told_which_agent_asks() {
    const KEYS: &str = "or say why not: ";
    let place = Place::new();
    let script = Script::respond(|request| {
        let answered = holds(request, "\"role\":\"tool\"");
        match (holds(request, "You are a scout."), answered) {
            (true, false) => Reply::call("count", json!({"n": 1})),
            (false, false) => Reply::call("scout", json!({"prompt": "count"})),
            (_, true) => Reply::say("done"),
        }
    });
    let server = ModelServer::start(script).unwrap();
    let (base_url, tools) = (server.base_url(), counts(&place, &json!({})));
    let going = going(&base_url, &tools);
    let words = ["run", "go", "--session", "s", "--permissions", "ask"];
    let mut asked = TerminalProcess::run(&place, &[&words[..], &going].concat());
    let question = asked.until(KEYS);
    assert!(question.contains("The model wants to call scout"), "{question}");
    asked.line("y");
    let question = asked.until(KEYS);
    let child = child(&place);
    let words = format!("The agent scout (session {child}) wants to call count");
    assert!(question.contains(&words), "{question}");
    asked.line("n");
    let done = asked.end();
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(place.counted().len(), 0);
}

#[test]
fn a_detached_agent_that_the_end_of_the_command_cuts_off_is_named() {
    let place = Place::new();
    let goes_on = Arc::new(AtomicBool::new(false));
    let (gate, on) = (Gate::new(), goes_on.clone());
    let script = Script::respond(move |request| match holds(request, "You are a scout.") {
        true if on.load(Ordering::SeqCst) => Reply::say("found after all"),
        true => Reply::say("lost").head_after(&gate),
        false if holds(request, "goes on by itself") => Reply::say("done"),
        false => Reply::call("scout", json!({"prompt": "look"})),
    });
    let server = ModelServer::start(script).unwrap();
    let base_url = server.base_url();
    let agent = json!({"timeout_ms": 300, "when_parent_ends": "detach"});
    let tools = counts(&place, &agent);
    let going = going(&base_url, &tools);
    let done = place.run(&[&["run", "go", "--session", "s"][..], &going].concat());
    assert_eq!(done.code, 0, "{}", done.err);
    let child = child(&place);
    let words = format!("session {child} of agent scout is unfinished: windlass resume {child}");
    assert!(done.err.contains(&words), "{}", done.err);
    goes_on.store(true, Ordering::SeqCst);
    let resumed = place.run(&["resume", &child, "--tools", &tools]);
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    assert!(resumed.out.contains("found after all"), "{}", resumed.out);
    let done = place.run(&["resume", "s", "and?", "--tools", &tools, "--no-agents"]);
    assert!(!done.err.contains("is unfinished"), "{}", done.err);
}
