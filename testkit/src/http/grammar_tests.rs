//! What the grammar of requests takes, and what it refuses.

use serde_json::{Value, json};

use super::*;

fn judged(path: &str, body: &Value) -> Option<String> {
    fault(&Request {
        number: 0,
        connection: 1,
        method: "POST".into(),
        path: path.into(),
        headers: Vec::new(),
        body: body.to_string().into_bytes(),
        json: Some(body.clone()),
        ended: None,
        ended_at: None,
        sent: 0,
    })
}

fn chat(messages: Value) -> Option<String> {
    let body = json!({ "model": "m", "stream": true, "messages": messages });
    judged("/v1/chat/completions", &body)
}

fn responses(input: Value) -> Option<String> {
    let body = json!({ "model": "m", "stream": true, "input": input });
    judged("/v1/responses", &body)
}

fn user() -> Value {
    json!({ "role": "user", "content": "hi" })
}

fn asks(ids: &[&str]) -> Value {
    let call = |id: &&str| json!({ "id": id, "type": "function", "function": { "name": "f", "arguments": "{}" } });
    let calls: Vec<Value> = ids.iter().map(call).collect();
    json!({ "role": "assistant", "content": null, "tool_calls": calls })
}

fn answers(id: &str) -> Value {
    json!({ "role": "tool", "tool_call_id": id, "content": "done" })
}

fn call(id: &str) -> Value {
    json!({ "type": "function_call", "call_id": id, "name": "f", "arguments": "{}" })
}

fn output(id: &str) -> Value {
    json!({ "type": "function_call_output", "call_id": id, "output": "done" })
}

#[test]
fn whole_conversations_pass() {
    let whole = json!([
        user(),
        asks(&["a", "b"]),
        answers("a"),
        answers("b"),
        user()
    ]);
    assert_eq!(chat(whole), None);
    let thought = json!({ "type": "reasoning", "id": "r", "summary": [] });
    let items = json!([
        user(),
        thought,
        call("a"),
        call("b"),
        output("a"),
        output("b"),
        user()
    ]);
    assert_eq!(responses(items), None);
}

#[test]
fn what_is_against_the_grammar_is_named() {
    let empty = json!({ "role": "user", "content": "" });
    let broken = json!({ "type": "function_call", "call_id": "a", "name": "f", "arguments": "{" });
    let nameless =
        json!({ "type": "function_call", "call_id": "a", "name": "", "arguments": "{}" });
    let cases = [
        (chat(json!([])), "is empty"),
        (chat(json!([empty])), "no words"),
        (
            chat(json!([{ "role": "robot", "content": "hi" }])),
            "unknown message",
        ),
        (
            chat(json!([{ "role": "assistant", "content": null }])),
            "no words",
        ),
        (chat(json!([asks(&[])])), "tool_calls"),
        (chat(json!([asks(&["a"])])), "without a result"),
        (chat(json!([asks(&["a"]), user()])), "is missing before it"),
        (
            chat(json!([asks(&["a", "a"]), answers("a")])),
            "id of its own",
        ),
        (
            chat(json!([asks(&["a", "b"]), answers("b"), answers("a")])),
            "whose turn",
        ),
        (chat(json!([answers("a")])), "whose turn"),
        (
            responses(json!([call("a"), call("b"), output("a"), call("c")])),
            "among the results",
        ),
        (responses(json!([broken])), "arguments"),
        (responses(json!([nameless])), "name of a tool"),
        (
            responses(json!([{ "type": "function_call_output", "call_id": "a" }])),
            "whose turn",
        ),
        (
            responses(json!([{ "type": "reasoning" }, { "type": "thought" }])),
            "unknown item",
        ),
        (
            judged(
                "/v1/responses",
                &json!({ "stream": true, "input": [user()] }),
            ),
            "no model",
        ),
        (
            judged("/v1/responses", &json!({ "model": "m", "input": [user()] })),
            "no stream",
        ),
        (judged("/v1/models", &json!({})), "no dialect"),
        (judged("/v1/responses", &json!(1)), "no JSON object"),
        (
            judged(
                "/v1/responses",
                &json!({ "model": "m", "stream": true, "tools": [{ "type": "function", "name": "a b" }] }),
            ),
            "no tool",
        ),
    ];
    for (at, (fault, words)) in cases.into_iter().enumerate() {
        let fault = fault.unwrap_or_else(|| panic!("case {at} passes and must say {words:?}"));
        assert!(fault.contains(words), "case {at}: {fault}");
    }
}
