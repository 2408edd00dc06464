//! An answer in the dialect of Responses.
//!
//! Source of the format: the OpenAI API reference, "The response object" and "Streaming events".

use serde_json::{Value, json};

use crate::answer::{AnswerCall, AnswerContent, MODEL, ModelAnswer, pieces};

/// The answer as a stream.
pub(crate) fn events(answer: &ModelAnswer) -> Vec<String> {
    let mut stream = EventBuilder::default();
    let open = response(answer, "in_progress", &[]);
    stream.push("response.created", json!({ "response": open }));
    stream.push("response.in_progress", json!({ "response": open }));
    match &answer.content {
        AnswerContent::Text(text) => stream.message(answer, text),
        AnswerContent::Calls(calls) => {
            for (index, call) in calls.iter().enumerate() {
                stream.call(index, call);
            }
        }
    }
    stream.push("response.completed", json!({ "response": whole(answer) }));
    stream.events
}

/// The answer in one piece.
pub(crate) fn whole(answer: &ModelAnswer) -> Value {
    let output = match &answer.content {
        AnswerContent::Text(text) => vec![message(answer, "completed", &[part(text)])],
        AnswerContent::Calls(calls) => {
            calls.iter().map(|call| call_item(call, "completed", &call.arguments)).collect()
        }
    };
    response(answer, "completed", &output)
}

#[derive(Default)]
struct EventBuilder {
    events: Vec<String>,
}

impl EventBuilder {
    fn push(&mut self, kind: &str, mut event: Value) {
        event["type"] = kind.into();
        event["sequence_number"] = self.events.len().into();
        self.events.push(format!("event: {kind}\ndata: {event}\n\n"));
    }

    fn message(&mut self, answer: &ModelAnswer, text: &str) {
        let id = message_id(answer);
        let at = |mut event: Value| {
            event["item_id"] = id.clone().into();
            event["output_index"] = 0.into();
            event["content_index"] = 0.into();
            event
        };
        let item = |status, parts: &[Value]| json!({ "output_index": 0, "item": message(answer, status, parts) });
        self.push("response.output_item.added", item("in_progress", &[]));
        self.push("response.content_part.added", at(json!({ "part": part("") })));
        for piece in pieces(text) {
            self.push("response.output_text.delta", at(json!({ "delta": piece })));
        }
        self.push("response.output_text.done", at(json!({ "text": text })));
        self.push("response.content_part.done", at(json!({ "part": part(text) })));
        self.push("response.output_item.done", item("completed", &[part(text)]));
    }

    fn call(&mut self, index: usize, call: &AnswerCall) {
        let id = item_id(call);
        let at = |key: &str, text: &str| json!({ "item_id": id, "output_index": index, key: text });
        let item = |status, arguments: &str| json!({ "output_index": index, "item": call_item(call, status, arguments) });
        self.push("response.output_item.added", item("in_progress", ""));
        for piece in pieces(&call.arguments) {
            self.push("response.function_call_arguments.delta", at("delta", piece));
        }
        let done = at("arguments", &call.arguments);
        self.push("response.function_call_arguments.done", done);
        self.push("response.output_item.done", item("completed", &call.arguments));
    }
}

fn message_id(answer: &ModelAnswer) -> String {
    format!("msg_{}", answer.id)
}

fn item_id(call: &AnswerCall) -> String {
    format!("fc_{}", call.id)
}

fn message(answer: &ModelAnswer, status: &str, parts: &[Value]) -> Value {
    json!({
        "type": "message", "id": message_id(answer), "role": "assistant",
        "status": status, "content": parts,
    })
}

fn part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [] })
}

fn call_item(call: &AnswerCall, status: &str, arguments: &str) -> Value {
    json!({
        "type": "function_call", "id": item_id(call), "call_id": call.id, "name": call.name,
        "arguments": arguments, "status": status,
    })
}

fn response(answer: &ModelAnswer, status: &str, output: &[Value]) -> Value {
    let usage = (status == "completed").then(|| {
        json!({
            "input_tokens": answer.input_tokens,
            "output_tokens": answer.output_tokens,
            "total_tokens": answer.input_tokens + answer.output_tokens,
        })
    });
    json!({
        "id": format!("resp_{}", answer.id),
        "object": "response",
        "created_at": 0,
        "model": MODEL,
        "status": status,
        "output": output,
        "usage": usage,
    })
}
