//! An answer in the dialect of Chat Completions.
//!
//! Source of the format: the OpenAI API reference, "The chat completion object" and "The chat
//! completion chunk object".

use serde_json::{Value, json};

use crate::answer::{AnswerCall, AnswerContent, MODEL, ModelAnswer, pieces};

/// The answer as a stream.
pub(crate) fn events(answer: &ModelAnswer) -> Vec<String> {
    let mut events = Vec::new();
    let mut delta = |delta: Value, finish: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        events.push(chunk(answer, json!([choice]), None));
    };
    match &answer.content {
        AnswerContent::Text(text) => {
            delta(json!({ "role": "assistant", "content": "" }), None);
            for piece in pieces(text) {
                delta(json!({ "content": piece }), None);
            }
        }
        AnswerContent::Calls(calls) => {
            delta(json!({ "role": "assistant", "content": null }), None);
            for (index, call) in calls.iter().enumerate() {
                let mut opened = call_object(call, "");
                opened["index"] = index.into();
                delta(json!({ "tool_calls": [opened] }), None);
                for piece in pieces(&call.arguments) {
                    let more = json!({ "index": index, "function": { "arguments": piece } });
                    delta(json!({ "tool_calls": [more] }), None);
                }
            }
        }
    }
    delta(json!({}), Some(finish(answer)));
    if answer.include_usage {
        events.push(chunk(answer, json!([]), Some(usage(answer))));
    }
    events.push("data: [DONE]\n\n".into());
    events
}

/// The answer in one piece.
pub(crate) fn whole(answer: &ModelAnswer) -> Value {
    let message = match &answer.content {
        AnswerContent::Text(text) => json!({ "role": "assistant", "content": text }),
        AnswerContent::Calls(calls) => {
            let call = |call: &AnswerCall| call_object(call, &call.arguments);
            let calls: Vec<Value> = calls.iter().map(call).collect();
            json!({ "role": "assistant", "content": null, "tool_calls": calls })
        }
    };
    let choice = json!({ "index": 0, "message": message, "finish_reason": finish(answer) });
    json!({
        "id": format!("chatcmpl-{}", answer.id),
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [choice],
        "usage": usage(answer),
    })
}

fn chunk(answer: &ModelAnswer, choices: Value, usage: Option<Value>) -> String {
    let chunk = json!({
        "id": format!("chatcmpl-{}", answer.id),
        "object": "chat.completion.chunk",
        "created": 0,
        "model": MODEL,
        "choices": choices,
        "usage": usage,
    });
    format!("data: {chunk}\n\n")
}

fn call_object(call: &AnswerCall, arguments: &str) -> Value {
    let function = json!({ "name": call.name, "arguments": arguments });
    json!({ "id": call.id, "type": "function", "function": function })
}

fn finish(answer: &ModelAnswer) -> &'static str {
    match answer.content {
        AnswerContent::Text(_) => "stop",
        AnswerContent::Calls(_) => "tool_calls",
    }
}

fn usage(answer: &ModelAnswer) -> Value {
    json!({
        "prompt_tokens": answer.input_tokens,
        "completion_tokens": answer.output_tokens,
        "total_tokens": answer.input_tokens + answer.output_tokens,
    })
}
