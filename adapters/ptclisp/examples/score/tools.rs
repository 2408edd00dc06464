//! The tools that the recordings were made with.

use serde_json::{Value as Json, json};
use windlass_kit_ptclisp::{ToolAnswer, ToolCall};

/// What the tool of this name answers.
pub(crate) fn answer(call: &ToolCall) -> ToolAnswer {
    let args = &call.args;
    let number = |name: &str| args.get(name).and_then(Json::as_i64).unwrap_or(0);
    ToolAnswer::Value(match &*call.name {
        "echo" => Json::Object(args.clone()),
        "add" => match (args.get("a"), args.get("b")) {
            (Some(Json::Number(a)), Some(Json::Number(b))) if a.is_f64() || b.is_f64() => {
                json!(a.as_f64().unwrap_or(0.0) + b.as_f64().unwrap_or(0.0))
            }
            _ => json!(number("a") + number("b")),
        },
        "users" => Json::Array(users()),
        "get-user" => {
            let id = args.get("id");
            users().into_iter().find(|user| user.get("id") == id).unwrap_or(Json::Null)
        }
        "ok" => args.get("value").cloned().unwrap_or(json!(1)),
        "fail" => {
            let reason = args.get("reason").and_then(Json::as_str);
            return ToolAnswer::Error(reason.unwrap_or("boom").to_owned());
        }
        "raise" => return ToolAnswer::Error("kaboom".to_owned()),
        "page" => {
            let page = number("page");
            let next = if page >= 2 { Json::Null } else { json!(page + 1) };
            json!({"items": [3 * page, 3 * page + 1, 3 * page + 2], "next": next})
        }
        "slow" => json!(number("ms")),
        _ => Json::Null,
    })
}

fn users() -> Vec<Json> {
    vec![
        json!({"id": 1, "name": "Ann", "age": 31, "active": true, "tags": ["a", "b"]}),
        json!({"id": 2, "name": "Bob", "age": 25, "active": false, "tags": []}),
        json!({"id": 3, "name": "Cy", "age": 47, "active": true, "tags": ["b"]}),
    ]
}
