//! Tools of the scripted server that ask the user, and tasks. What they know is in the folder, so that
//! a server that is started again goes on.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{append, say};

/// Name of the request that is made in the middle of a call.
pub(crate) const LIVE: &str = "live-question";

pub(crate) fn tools() -> Value {
    let tool = |name: &str| {
        json!({"name": name, "description": format!("Tool {name}."),
            "inputSchema": {"type": "object"}})
    };
    json!({"tools": [tool("book"), tool("build"), tool("again"), tool("roots"), tool("live")]})
}

fn form() -> Value {
    json!({"method": "elicitation/create", "params": {
        "mode": "form", "message": "Whom for?", "requestedSchema": {"type": "object",
            "properties": {"name": {"type": "string"}, "seats": {"type": "integer", "default": 2}},
            "required": ["name"]}}})
}

fn asks(requests: &Value, state: &str) -> Value {
    json!({"resultType": "input_required", "inputRequests": requests, "requestState": state})
}

fn text(words: &str) -> Value {
    json!({"resultType": "complete", "content": [{"type": "text", "text": words}]})
}

/// Answers a call of one of these tools; `None` if the answer comes later.
pub(crate) fn call(folder: &Path, params: &Value) -> Option<Value> {
    let responses = &params["inputResponses"];
    Some(match (params["name"].as_str().unwrap_or_default(), params["requestState"].as_str()) {
        ("book", None) => {
            append(folder, "world", "asked");
            asks(&json!({"who": form()}), "half a booking")
        }
        ("book", Some("half a booking")) => {
            let who = &responses["who"];
            append(folder, "world", &format!("booked {}", who["content"]));
            text(&format!("booked: {who}"))
        }
        ("again", None) => json!({"resultType": "input_required", "requestState": "1"}),
        ("again", Some(state)) => text(&format!("again: {state}, {responses}")),
        ("roots", _) => asks(&json!({"roots": {"method": "roots/list"}}), "no"),
        ("build", _) => {
            append(folder, "task", "created");
            task("working", json!({"resultType": "task"}))
        }
        ("live", _) => {
            let mut question = form();
            question["jsonrpc"] = json!("2.0");
            question["id"] = json!(LIVE);
            say(&question);
            return None;
        }
        (other, _) => text(&format!("no tool {other}")),
    })
}

fn task(status: &str, more: Value) -> Value {
    let mut task = json!({"resultType": "complete", "taskId": "t1", "status": status,
        "createdAt": "2026-11-27T00:00:00Z", "lastUpdatedAt": "2026-11-27T00:00:00Z",
        "ttlMs": null, "pollIntervalMs": 10});
    for (name, value) in more.as_object().into_iter().flatten() {
        task[name] = value.clone();
    }
    task
}

/// Answers a request about the task: it works, asks, works, and is done. Its files make it forget the
/// task, or end once while it works.
pub(crate) fn tasks(
    folder: &Path,
    method: &str,
    params: &Value,
) -> Result<Value, (i64, &'static str)> {
    if folder.join("forgets").exists() {
        return Err((-32602, "no such task"));
    }
    let log = fs::read_to_string(folder.join("task")).unwrap_or_default();
    let polls = log.lines().filter(|line| *line == "asked").count();
    let asking = || task("input_required", json!({"inputRequests": {"who": form()}}));
    Ok(match method {
        "tasks/get" if log.contains("cancelled") => task("cancelled", json!({})),
        "tasks/get" => {
            append(folder, "task", "asked");
            if folder.join("dies").exists() && polls == 1 {
                std::process::exit(9);
            }
            let just_updated = log.lines().last().is_some_and(|line| line.starts_with("updated"));
            match (polls, log.contains("updated")) {
                // The response is not seen at once.
                (_, true) if just_updated => asking(),
                (_, true) => {
                    let result = json!({"content": [{"type": "text", "text": log}]});
                    task("completed", json!({"result": result}))
                }
                (0..=2, false) => task("working", json!({"statusMessage": "compiling"})),
                (_, false) => asking(),
            }
        }
        "tasks/update" => {
            append(folder, "task", &format!("updated {}", params["inputResponses"]));
            json!({"resultType": "complete"})
        }
        _ => {
            append(folder, "task", "cancelled");
            json!({"resultType": "complete"})
        }
    })
}
