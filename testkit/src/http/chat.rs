//! An answer as a stream of Chat Completions chunks.
//!
//! Source of the format: the OpenAI API reference, "The chat completion chunk object";
//! `reasoning_content` is the field that compatible servers add for readable reasoning.

use serde_json::{Value, json};
use windlass_core::{StopReason, Usage};

use crate::answer::{Answer, Part};

/// The events of an answer, the `[DONE]` included.
pub(super) fn events(answer: &Answer) -> Vec<String> {
    let mut events = vec![delta(answer, &json!({ "role": "assistant", "content": "" }))];
    let mut index = 0_u32;
    for part in answer.parts() {
        let mut texts = |key: &str, text: &str| {
            let piece = |piece| delta(answer, &json!({ key: piece }));
            events.extend(answer.pieces(text).into_iter().map(piece));
        };
        match part {
            Part::Text(text) => texts("content", text),
            Part::Refusal(text) => texts("refusal", text),
            Part::Reasoning { text, .. } => texts("reasoning_content", text),
            Part::Call { id, name, arguments } => {
                let call = |call: Value| delta(answer, &json!({ "tool_calls": [call] }));
                let function = json!({ "name": name, "arguments": "" });
                let opened =
                    json!({ "index": index, "id": id, "type": "function", "function": function });
                events.push(call(opened));
                for piece in answer.pieces(arguments) {
                    let more = json!({ "index": index, "function": { "arguments": piece } });
                    events.push(call(more));
                }
                index += 1;
            }
        }
    }
    let choice = json!({ "index": 0, "delta": {}, "finish_reason": finish(answer) });
    events.push(chunk(answer, json!([choice]), &Value::Null));
    if let Some(usage) = answer.reported() {
        events.push(chunk(answer, json!([]), &usage_object(usage)));
    }
    events.push("data: [DONE]\n\n".into());
    events
}

/// The answer as one completion.
pub(super) fn body(answer: &Answer) -> String {
    let mut message = json!({ "role": "assistant", "content": null });
    let mut calls = Vec::new();
    for part in answer.parts() {
        match part {
            Part::Text(text) => message["content"] = text.as_str().into(),
            Part::Refusal(text) => message["refusal"] = text.as_str().into(),
            Part::Reasoning { text, .. } => message["reasoning_content"] = text.as_str().into(),
            Part::Call { id, name, arguments } => {
                let function = json!({ "name": name, "arguments": arguments });
                calls.push(json!({ "id": id, "type": "function", "function": function }));
            }
        }
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    let choice = json!({ "index": 0, "message": message, "finish_reason": finish(answer) });
    let completion = json!({
        "id": answer.response_id(),
        "object": "chat.completion",
        "created": 0,
        "model": answer.model_name(),
        "choices": [choice],
        "usage": answer.reported().map(usage_object),
    });
    completion.to_string()
}

fn delta(answer: &Answer, delta: &Value) -> String {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": null });
    chunk(answer, json!([choice]), &Value::Null)
}

fn chunk(answer: &Answer, choices: Value, usage: &Value) -> String {
    let chunk = json!({
        "id": answer.response_id(),
        "object": "chat.completion.chunk",
        "created": 0,
        "model": answer.model_name(),
        "choices": choices,
        "usage": usage,
    });
    format!("data: {chunk}\n\n")
}

fn finish(answer: &Answer) -> String {
    match answer.stop_reason() {
        StopReason::Stop if answer.calls() > 0 => "tool_calls".into(),
        StopReason::Stop => "stop".into(),
        StopReason::Length => "length".into(),
        StopReason::ContentFilter => "content_filter".into(),
        StopReason::Unfinished => "unfinished".into(),
        StopReason::Other(word) => word.clone(),
    }
}

fn usage_object(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total,
        "prompt_tokens_details": { "cached_tokens": usage.cached_input },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning_output },
    })
}
