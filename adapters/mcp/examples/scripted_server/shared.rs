//! Resources and prompts of the scripted server.

use serde_json::{Value, json};

type Answer = Result<Value, (i64, String)>;

/// Pages of resources, 150 each.
const PAGES: usize = 2;
const NOT_FOUND: i64 = -32002;
const INVALID_PARAMS: i64 = -32602;
const METHOD_NOT_FOUND: i64 = -32601;

/// Answers a request about resources.
pub(crate) fn resources(method: &str, params: &Value) -> Answer {
    match method {
        "resources/list" => Ok(listed(params["cursor"].as_str())),
        "resources/templates/list" => Ok(json!({"resourceTemplates": [{
            "uriTemplate": "note://dated/{day}", "name": "dated", "description": "Notes\nof a day."
        }]})),
        "resources/read" => read(params["uri"].as_str().unwrap_or_default()),
        other => Err((METHOD_NOT_FOUND, format!("no method {other}"))),
    }
}

fn listed(cursor: Option<&str>) -> Value {
    let page: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
    let resource = |number: usize| {
        json!({"uri": format!("note://{number}"), "name": format!("note {number}"),
            "mimeType": "text/plain", "size": 7})
    };
    let first = page * 150;
    let resources: Vec<Value> = (first..first + 150).map(resource).collect();
    match page + 1 < PAGES {
        true => json!({"resources": resources, "nextCursor": (page + 1).to_string()}),
        false => json!({"resources": resources}),
    }
}

fn read(uri: &str) -> Answer {
    let part = match uri {
        "note://long" => json!({"uri": uri, "text": "long ".repeat(20_000)}),
        "note://picture" => json!({"uri": uri, "mimeType": "image/png", "blob": "AAAAAA=="}),
        "note://two" => {
            return Ok(json!({"contents": [
                {"uri": "note://two/a", "text": "first"}, {"uri": "note://two/b", "text": "second"}
            ]}));
        }
        _ if uri.starts_with("note://") && !uri.contains("missing") => {
            json!({"uri": uri, "text": format!("text of {uri}")})
        }
        _ => return Err((NOT_FOUND, format!("no resource {uri}"))),
    };
    Ok(json!({"contents": [part]}))
}

/// Answers a request about prompts.
pub(crate) fn prompts(method: &str, params: &Value) -> Answer {
    match method {
        "prompts/list" => Ok(json!({"prompts": [
            {"name": "review", "description": "Reviews a change.", "arguments": [
                {"name": "change", "description": "The change.", "required": true},
                {"name": "tone"}
            ]},
            {"name": "talk"}
        ]})),
        "prompts/get" => prompt(params),
        other => Err((METHOD_NOT_FOUND, format!("no method {other}"))),
    }
}

fn prompt(params: &Value) -> Answer {
    let text =
        |role: &str, text: String| json!({"role": role, "content": {"type": "text", "text": text}});
    match params["name"].as_str().unwrap_or_default() {
        "review" => match params["arguments"]["change"].as_str() {
            Some(change) => Ok(json!({"messages": [text("user", format!("Review {change}."))]})),
            None => Err((INVALID_PARAMS, "change is missing".into())),
        },
        "talk" => Ok(json!({"messages": [
            text("user", "Hello.".into()),
            text("assistant", "What is it about?".into()),
            {"role": "user", "content": {"type": "resource",
                "resource": {"uri": "note://1", "text": "text of the note"}}},
            {"role": "user", "content": {"type": "image", "data": "AAAA", "mimeType": "image/png"}}
        ]})),
        other => Err((INVALID_PARAMS, format!("no prompt {other}"))),
    }
}
