//! What the `decode` example makes of recorded provider bodies, where they are at hand beside the
//! workspace, held against what their collection says of them, field by field. The bodies are no
//! part of this project: `WINDLASS_WIRE_CORPUS` names their folder, or they are at `shared/wire`
//! beside the checkout. Without them the test says that it was skipped.

#[path = "../examples/decode.rs"]
#[expect(dead_code, reason = "the example's own main is not called here")]
mod decode;

use std::path::PathBuf;

use serde_json::Value;

/// The folder of the collection, or `None` where there is none. One that is named must be there.
fn folder() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("WINDLASS_WIRE_CORPUS") {
        return Some(PathBuf::from(named));
    }
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/wire");
    beside.join("index.jsonl").is_file().then_some(beside)
}

fn squeezed(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Arguments are compared as JSON where they are JSON; none at all means none.
fn arguments(value: &Value) -> Value {
    let text = value.as_str().unwrap_or_default();
    let text = if text.trim().is_empty() { "{}" } else { text };
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

fn calls(list: &Value) -> Vec<(Value, Value, Value)> {
    let calls = list.as_array().into_iter().flatten();
    let call = |call: &Value| {
        let arguments = arguments(&call["arguments"]);
        (call["id"].clone(), call["name"].clone(), arguments)
    };
    calls.map(call).collect()
}

/// The fields of an error as texts; a number and its digits are the same code.
fn said(error: &Value, name: &str) -> String {
    match &error[name] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            other.to_string()
        }
    }
}

/// Which fields of an answer are not as expected.
fn differs(id: &str, got: &Value, expect: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    // The collection reads on behind what is at odds with the protocol; we stop there.
    let at_odds = expect["outcome"] == "protocol_error";
    for name in ["text", "refusal", "finish", "usage"] {
        if got[name] != expect[name] && !(at_odds && name == "usage") {
            wrong.push(name.to_owned());
        }
    }
    // Of this one the collection counts the delta and the whole item as two parts, because the
    // delta names its item by id alone. The id ties them together: it was said once.
    let twice = id == "responses-openai-021";
    let thought = squeezed(&got["reasoning"]);
    let wanted = squeezed(&expect["reasoning"]);
    if thought != wanted && !(twice && thought.repeat(2) == wanted) {
        wrong.push("reasoning".to_owned());
    }
    if calls(&got["tool_calls"]) != calls(&expect["tool_calls"]) {
        wrong.push("tool_calls".to_owned());
    }
    if expect["outcome"] == "error" {
        let names = ["message", "type", "code"].into_iter();
        let other = |name: &&str| said(&got["error"], name) != said(&expect["error"], name);
        wrong.extend(names.filter(other).map(|name| format!("error.{name}")));
    }
    let shown = |name: String| {
        let field = name.split('.').next().unwrap_or_default();
        format!("{name}: {} is not {}", got[field], expect[field])
    };
    wrong.into_iter().map(shown).collect()
}

/// What is wrong with a decoded stream, by the one of the accepted answers that is nearest.
fn stream(row: &Value, got: &Value) -> Vec<String> {
    let outcome = &got["outcome"];
    let accepted = row["accept_outcomes"].as_array();
    let mut nearest = vec![format!("outcome {outcome} is not {}", row["expect"]["outcome"])];
    for name in ["expect", "expect_if_flushed", "accept_alt"] {
        let expect = &row[name];
        if !expect.is_null() && expect["outcome"] == *outcome {
            let wrong = differs(row["id"].as_str().unwrap_or_default(), got, expect);
            if wrong.is_empty() {
                return wrong;
            }
            nearest = wrong;
        }
    }
    // Another outcome that is right has fields of its own, which the collection does not give.
    let other = row["expect"]["outcome"] != *outcome;
    if other && accepted.is_some_and(|accepted| accepted.contains(outcome)) {
        return Vec::new();
    }
    nearest
}

#[test]
fn every_field_of_every_case_is_as_the_collection_says() {
    let Some(folder) = folder() else {
        eprintln!(
            "SKIPPED: no collection of wire bodies; WINDLASS_WIRE_CORPUS names its folder, and \
             none is at shared/wire beside the checkout"
        );
        return;
    };
    let index = folder.join("index.jsonl");
    let index = std::fs::read_to_string(&index)
        .unwrap_or_else(|error| panic!("{}: {error}", index.display()));
    let folders = [folder];
    let (mut wrong, mut cases) = (Vec::new(), 0);
    for text in index.lines() {
        let row: Value = serde_json::from_str(text).unwrap();
        let id = row["id"].as_str().unwrap();
        let got = decode::line(text, &folders).unwrap_or_else(|error| panic!("{id}: {error}"));
        let got: Value = serde_json::from_str(&got).unwrap();
        assert_eq!(got["id"], row["id"]);
        cases += 1;
        let what = match row["kind"].as_str().unwrap() {
            "stream" => stream(&row, &got),
            "error_body" if got["meaning"] == row["expect"]["meaning"] => Vec::new(),
            "sse_framing"
                if got["events"] == row["expect"]["events"]
                    || got["events"] == row["expect_if_flushed"]["events"] =>
            {
                Vec::new()
            }
            _ => vec![format!("{got} is not {}", row["expect"])],
        };
        wrong.extend(what.into_iter().map(|what| format!("{id}: {what}")));
    }
    println!("{cases} cases");
    assert!(cases > 0);
    assert!(wrong.is_empty(), "{} of {cases} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
