//! An answer as a stream of Responses events.
//!
//! Source of the format: the OpenAI API reference, "Streaming events" of the Responses API.

use serde_json::{Value, json};
use windlass_core::{StopReason, Usage};

use super::chat;
use super::model_request::{ModelRequest, RequestPart};
use super::protocol::EventEffect;
use super::request::{flat, list};
use crate::answer::{Answer, Part, WebSource};

/// The events of an answer, the terminal one included.
pub(super) fn events(answer: &Answer) -> Vec<String> {
    stream(answer).events
}

/// The answer as one response: the one of the terminal event.
pub(super) fn body(answer: &Answer) -> String {
    stream(answer).response.to_string()
}

fn stream(answer: &Answer) -> Stream {
    let mut stream = Stream::default();
    let open = response(answer, "in_progress", &[]);
    stream.push("response.created", json!({ "response": open }));
    stream.push("response.in_progress", json!({ "response": open }));
    let mut output = Vec::new();
    for (at, part) in answer.parts().iter().enumerate() {
        if let Some(source) = answer.source(at) {
            let item = stream.search(output.len(), source);
            let done = json!({ "output_index": output.len(), "item": item });
            stream.push("response.output_item.done", done);
            output.push(item);
        }
        let index = output.len();
        let item = match part {
            Part::Text(text) => stream.message(answer, index, text, &TEXT, answer.source(at)),
            Part::Refusal(text) => stream.message(answer, index, text, &REFUSAL, None),
            Part::Reasoning { text, encrypted } => {
                stream.reasoning(answer, index, text, encrypted.as_deref())
            }
            Part::Call { id, name, arguments } => stream.call(answer, index, [id, name, arguments]),
        };
        stream.push("response.output_item.done", json!({ "output_index": index, "item": item }));
        output.push(item);
    }
    let (kind, status) = match answer.stop_reason() {
        StopReason::Stop | StopReason::Unfinished => ("response.completed", "completed"),
        StopReason::Length | StopReason::ContentFilter | StopReason::Other(_) => {
            ("response.incomplete", "incomplete")
        }
    };
    stream.response = response(answer, status, &output);
    stream.push(kind, json!({ "response": stream.response }));
    stream
}

/// What differs between the two kinds of content of a message.
struct Content {
    part: &'static str,
    key: &'static str,
    delta: &'static str,
    done: &'static str,
}

const TEXT: Content = Content {
    part: "output_text",
    key: "text",
    delta: "response.output_text.delta",
    done: "response.output_text.done",
};

const REFUSAL: Content = Content {
    part: "refusal",
    key: "refusal",
    delta: "response.refusal.delta",
    done: "response.refusal.done",
};

#[derive(Default)]
struct Stream {
    events: Vec<String>,
    /// The response as it ends.
    response: Value,
}

impl Stream {
    fn push(&mut self, kind: &str, mut event: Value) {
        event["type"] = kind.into();
        event["sequence_number"] = self.events.len().into();
        self.events.push(format!("event: {kind}\ndata: {event}\n\n"));
    }

    fn added(&mut self, index: usize, item: Value) {
        self.push("response.output_item.added", json!({ "output_index": index, "item": item }));
    }

    fn search(&mut self, index: usize, source: &WebSource) -> Value {
        let id = format!("ws_{index}");
        self.added(index, json!({ "type": "web_search_call", "id": id, "status": "in_progress" }));
        let pages = json!([{ "type": "url", "url": source.url }]);
        let action = json!({ "type": "search", "query": source.query, "sources": pages });
        json!({ "type": "web_search_call", "id": id, "status": "completed", "action": action })
    }

    fn message(
        &mut self,
        answer: &Answer,
        index: usize,
        text: &str,
        content: &Content,
        source: Option<&WebSource>,
    ) -> Value {
        let id = format!("msg_{index}");
        let item = |status: &str, parts: Value| json!({ "type": "message", "id": id, "role": "assistant", "status": status, "content": parts });
        let part = |text: &str| match content.part {
            "output_text" => {
                let cited = source.filter(|_| !text.is_empty()).map(|source| {
                    let mut cited = chat::citation(source, text);
                    cited["type"] = "url_citation".into();
                    cited
                });
                let cited: Vec<Value> = cited.into_iter().collect();
                json!({ "type": "output_text", "text": text, "annotations": cited })
            }
            kind => json!({ "type": kind, content.key: text }),
        };
        let at = |event: Value| located(event, &id, index, "content_index");
        self.added(index, item("in_progress", json!([])));
        self.push("response.content_part.added", at(json!({ "part": part("") })));
        for piece in answer.pieces(text) {
            self.push(content.delta, at(json!({ "delta": piece })));
        }
        self.push(content.done, at(json!({ content.key: text })));
        self.push("response.content_part.done", at(json!({ "part": part(text) })));
        item("completed", json!([part(text)]))
    }

    fn reasoning(
        &mut self,
        answer: &Answer,
        index: usize,
        text: &str,
        encrypted: Option<&str>,
    ) -> Value {
        let id = format!("rs_{index}");
        let part = |text: &str| json!({ "type": "summary_text", "text": text });
        let at = |event: Value| located(event, &id, index, "summary_index");
        self.added(index, json!({ "type": "reasoning", "id": id, "summary": [] }));
        let mut summary = json!([]);
        if !text.is_empty() {
            let added = at(json!({ "part": part("") }));
            self.push("response.reasoning_summary_part.added", added);
            for piece in answer.pieces(text) {
                let delta = at(json!({ "delta": piece }));
                self.push("response.reasoning_summary_text.delta", delta);
            }
            self.push("response.reasoning_summary_text.done", at(json!({ "text": text })));
            let done = at(json!({ "part": part(text) }));
            self.push("response.reasoning_summary_part.done", done);
            summary = json!([part(text)]);
        }
        let mut item = json!({ "type": "reasoning", "id": id, "summary": summary });
        if let Some(encrypted) = encrypted {
            item["encrypted_content"] = encrypted.into();
        }
        item
    }

    fn call(&mut self, answer: &Answer, index: usize, call: [&String; 3]) -> Value {
        let [call_id, name, arguments] = call;
        let id = format!("fc_{index}");
        let item = |status: &str, arguments: &str| {
            json!({
                "type": "function_call", "id": id, "call_id": call_id, "name": name,
                "arguments": arguments, "status": status,
            })
        };
        self.added(index, item("in_progress", ""));
        for piece in answer.pieces(arguments) {
            let delta = json!({ "item_id": id, "output_index": index, "delta": piece });
            self.push("response.function_call_arguments.delta", delta);
        }
        let done = json!({ "item_id": id, "output_index": index, "arguments": arguments });
        self.push("response.function_call_arguments.done", done);
        item("completed", arguments)
    }
}

fn located(mut event: Value, id: &str, index: usize, part: &str) -> Value {
    event["item_id"] = id.into();
    event["output_index"] = index.into();
    event[part] = 0.into();
    event
}

fn response(answer: &Answer, status: &str, output: &[Value]) -> Value {
    let reason = match answer.stop_reason() {
        StopReason::Stop | StopReason::Unfinished => None,
        StopReason::Length => Some("max_output_tokens".to_owned()),
        StopReason::ContentFilter => Some("content_filter".to_owned()),
        StopReason::Other(word) => Some(word.clone()),
    };
    let ended = status != "in_progress";
    let mut response = json!({
        "id": answer.response_id(),
        "object": "response",
        "created_at": 0,
        "model": answer.model_name(),
        "status": status,
        "output": output,
        "incomplete_details": reason.filter(|_| ended).map(|reason| json!({ "reason": reason })),
        "usage": answer.reported().filter(|_| ended).map(usage_object),
    });
    if ended && *answer.stop_reason() == StopReason::Unfinished {
        // An extension of some servers.
        response["end_turn"] = false.into();
    }
    response
}

fn usage_object(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": { "cached_tokens": usage.cached_input },
        "output_tokens": usage.output,
        "output_tokens_details": { "reasoning_tokens": usage.reasoning_output },
        "total_tokens": usage.total,
    })
}

/// The effect of an event: each has a number, by which a reader knows its repetition.
pub(super) fn effect(event: &str) -> EventEffect {
    let ends = ["event: response.completed\n", "event: response.incomplete\n"];
    EventEffect::default()
        .with_arguments(event.starts_with("event: response.function_call_arguments.delta\n"))
        .ending(ends.iter().any(|end| event.starts_with(end)))
}

fn is_search(tool: &Value) -> bool {
    tool["type"] == "web_search"
}

/// Reads a request.
pub(super) fn read(body: &Value) -> ModelRequest {
    let mut request = ModelRequest {
        model: body["model"].as_str().map(String::from),
        system: body["instructions"].as_str().map(String::from),
        web_search: list(body, "tools").iter().any(is_search),
        tools: list(body, "tools")
            .iter()
            .filter(|tool| !is_search(tool))
            .map(chat::offered)
            .collect(),
        choice: chat::choice(&body["tool_choice"]),
        max_tokens: body["max_output_tokens"].as_u64(),
        temperature: body["temperature"].as_f64(),
        effort: body["reasoning"]["effort"].as_str().map(String::from),
        answer_schema: body.pointer("/text/format/schema").cloned(),
        ..ModelRequest::default()
    };
    request.parts.extend(body["input"].as_str().map(|text| RequestPart::User(text.into())));
    for item in list(body, "input") {
        let text = |key: &str| item.get(key).map(flat).unwrap_or_default();
        match (item["role"].as_str(), item["type"].as_str()) {
            (Some("system" | "developer"), _) => {
                request.parts.push(RequestPart::Context(text("content")));
            }
            (Some("user"), _) => chat::user(&item["content"], &mut request.parts),
            (Some(_), _) => request.parts.push(RequestPart::Text(text("content"))),
            (None, Some("function_call")) => request.parts.push(RequestPart::Call {
                id: text("call_id"),
                name: text("name"),
                arguments: text("arguments"),
            }),
            (None, Some("function_call_output")) => {
                let (id, output) = (text("call_id"), text("output"));
                request.parts.push(RequestPart::Result { id, output, failed: false });
                let images = list(item, "output").iter();
                let urls = images.filter_map(|part| part["image_url"].as_str());
                request.parts.extend(urls.filter_map(chat::image));
            }
            (None, _) => request.parts.push(RequestPart::Opaque(item.to_string())),
        }
    }
    request
}
