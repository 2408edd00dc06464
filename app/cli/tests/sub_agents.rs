//! Agents that a tools file declares: offered, run in sessions of their own, shown by name.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;

use common::Place;
use serde_json::{Value, json};
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
    let line = told
        .lines()
        .find(|line| line.contains("an agent, in session"));
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
    let rows: Vec<Value> = listed
        .lines()
        .map(|row| serde_json::from_str(row).unwrap())
        .collect();
    let find = |id: &str| rows.iter().find(|row| row["session"] == id).unwrap();
    assert_eq!(find(child)["lineage"]["of"], "s");
    assert_eq!(find(child)["spent"]["samples"], 2);
    assert_eq!(find("s")["lineage"]["from"], "root");
    assert_eq!(find("s")["spent"]["samples"], 4, "with those of its agent");
    let erased = place.run(&["erase", "s", "--yes"]);
    assert_eq!(erased.code, 0, "{}", erased.err);
    let left = format!("session {child} of one of its agents is still there");
    assert!(erased.err.contains(&left), "{}", erased.err);
}

#[test]
fn an_agent_with_a_tool_that_is_not_there_is_refused() {
    let place = Place::new();
    let tools = declares(&place, "nowhere");
    let done = place.run(&["run", "go", "--tools", &tools, "--provider", "demo"]);
    assert_eq!(done.code, 2, "{}", done.err);
    assert!(done.err.contains("the tool `nowhere`"), "{}", done.err);
}
