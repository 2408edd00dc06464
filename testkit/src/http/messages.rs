//! An answer as a stream of Messages events, and what a Messages request asks.
//!
//! Source of the format: the Claude API documentation, "Streaming messages". A refusal is text
//! here: this protocol tells it by the reason to stop alone.

use serde_json::{Value, json};
use windlass_core::{StopReason, ToolChoice, Usage};

use super::model_request::{ModelRequest, OfferedTool, RequestPart};
use super::protocol::EventEffect;
use super::request::{flat, list};
use crate::answer::{Answer, Part, WebSource};

/// How the frame of what nobody said begins.
const FRAME: &str = "<context from=";

/// The events of an answer, `message_stop` included.
pub(super) fn events(answer: &Answer) -> Vec<String> {
    let mut stream = Stream::default();
    let mut message = json!({
        "id": answer.response_id(), "type": "message", "role": "assistant", "model": answer.model_name(),
        "content": [], "stop_reason": null, "stop_sequence": null,
    });
    if let Some(usage) = answer.reported() {
        message["usage"] = request_usage(usage);
    }
    stream.push("message_start", json!({ "message": message }));
    stream.push("ping", json!({}));
    let mut blocks = 0..;
    for (at, part) in answer.parts().iter().enumerate() {
        if let Some(source) = answer.source(at) {
            let [mut search, results] = search(source, at);
            let input = search["input"].take().to_string();
            search["input"] = json!({});
            let delta = json!({ "type": "input_json_delta", "partial_json": input });
            stream.block(blocks.next().unwrap_or_default(), &search, vec![delta]);
            stream.block(blocks.next().unwrap_or_default(), &results, Vec::new());
        }
        let index = blocks.next().unwrap_or_default();
        match part {
            Part::Text(text) | Part::Refusal(text) => {
                let block = json!({ "type": "text", "text": "" });
                let pieces = answer.pieces(text).into_iter();
                let delta = |piece| json!({ "type": "text_delta", "text": piece });
                let cited = answer.source(at).map(
                    |source| json!({ "type": "citations_delta", "citation": location(source) }),
                );
                stream.block(index, &block, cited.into_iter().chain(pieces.map(delta)).collect());
            }
            Part::Reasoning { text, encrypted } => {
                let block = json!({ "type": "thinking", "thinking": "", "signature": "" });
                let pieces = answer.pieces(text).into_iter();
                let delta = |piece| json!({ "type": "thinking_delta", "thinking": piece });
                let signed = encrypted
                    .iter()
                    .map(|signature| json!({ "type": "signature_delta", "signature": signature }));
                stream.block(index, &block, pieces.map(delta).chain(signed).collect());
            }
            Part::Call { id, name, arguments } => {
                let block = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
                let pieces = answer.pieces(arguments).into_iter();
                let delta = |piece| json!({ "type": "input_json_delta", "partial_json": piece });
                stream.block(index, &block, pieces.map(delta).collect());
            }
        }
    }
    let delta = json!({ "stop_reason": stop_reason(answer), "stop_sequence": null });
    let mut ended = json!({ "delta": delta });
    if let Some(usage) = answer.reported() {
        ended["usage"] = answer_usage(usage);
    }
    stream.push("message_delta", ended);
    stream.push("message_stop", json!({}));
    stream.0
}

/// The answer as one message.
pub(super) fn body(answer: &Answer) -> String {
    let block = |(at, part): (usize, &Part)| match part {
        Part::Text(text) | Part::Refusal(text) => match answer.source(at) {
            None => json!({ "type": "text", "text": text }).to_string(),
            Some(source) => {
                let [search, results] = search(source, at);
                let text = json!({ "type": "text", "text": text, "citations": [location(source)] });
                format!("{search},{results},{text}")
            }
        },
        Part::Reasoning { text, encrypted } => {
            json!({ "type": "thinking", "thinking": text, "signature": encrypted }).to_string()
        }
        Part::Call { id, name, arguments } => {
            let (id, name) = (Value::from(id.as_str()), Value::from(name.as_str()));
            // As the model wrote them: a number keeps its digits.
            format!(r#"{{"type":"tool_use","id":{id},"name":{name},"input":{arguments}}}"#)
        }
    };
    let blocks: Vec<String> = answer.parts().iter().enumerate().map(block).collect();
    let mut usage = Value::Null;
    if let Some(reported) = answer.reported() {
        usage = request_usage(reported);
        if let (Some(usage), Value::Object(told)) = (usage.as_object_mut(), answer_usage(reported))
        {
            usage.extend(told);
        }
    }
    let (id, stop) = (Value::from(answer.response_id()), Value::from(stop_reason(answer)));
    let model = Value::from(answer.model_name());
    format!(
        r#"{{"id":{id},"type":"message","role":"assistant","model":{model},"content":[{}],"stop_reason":{stop},"stop_sequence":null,"usage":{usage}}}"#,
        blocks.join(",")
    )
}

/// The search that found a page, and its results.
fn search(source: &WebSource, at: usize) -> [Value; 2] {
    let id = format!("srvtoolu_{at}");
    let page = json!({
        "type": "web_search_result", "url": source.url, "title": source.title,
        "encrypted_content": "cGFnZQ==", "page_age": null,
    });
    [
        json!({
            "type": "server_tool_use", "id": id, "name": "web_search",
            "input": { "query": source.query },
        }),
        json!({ "type": "web_search_tool_result", "tool_use_id": id, "content": [page] }),
    ]
}

fn location(source: &WebSource) -> Value {
    json!({
        "type": "web_search_result_location", "url": source.url, "title": source.title,
        "encrypted_index": "aW5kZXg=", "cited_text": "It is so.",
    })
}

#[derive(Default)]
struct Stream(Vec<String>);

impl Stream {
    fn push(&mut self, kind: &str, mut event: Value) {
        event["type"] = kind.into();
        self.0.push(format!("event: {kind}\ndata: {event}\n\n"));
    }

    fn block(&mut self, index: usize, block: &Value, deltas: Vec<Value>) {
        let opened = json!({ "index": index, "content_block": block });
        self.push("content_block_start", opened);
        for delta in deltas {
            let event = json!({ "index": index, "delta": delta });
            self.push("content_block_delta", event);
        }
        self.push("content_block_stop", json!({ "index": index }));
    }
}

fn stop_reason(answer: &Answer) -> String {
    match answer.stop_reason() {
        StopReason::Stop if answer.calls() > 0 => "tool_use".into(),
        StopReason::Stop => "end_turn".into(),
        StopReason::Length => "max_tokens".into(),
        StopReason::ContentFilter => "refusal".into(),
        StopReason::Unfinished => "pause_turn".into(),
        StopReason::Other(word) => word.clone(),
    }
}

/// The tokens of the request: those that the cache had no part in are told apart.
fn request_usage(usage: &Usage) -> Value {
    let apart = usage.cached_input.unwrap_or(0) + usage.cache_write.unwrap_or(0);
    let plain = usage.input.map(|input| input.saturating_sub(apart));
    let mut told = json!({ "input_tokens": plain, "output_tokens": 1 });
    if let Some(cached) = usage.cached_input {
        told["cache_read_input_tokens"] = cached.into();
    }
    if let Some(written) = usage.cache_write {
        told["cache_creation_input_tokens"] = written.into();
    }
    told
}

fn answer_usage(usage: &Usage) -> Value {
    let mut told = json!({ "output_tokens": usage.output });
    if let Some(thinking) = usage.reasoning_output {
        told["output_tokens_details"] = json!({ "thinking_tokens": thinking });
    }
    told
}

/// The effect of an event.
pub(super) fn effect(event: &str) -> EventEffect {
    let arguments = event.contains("\"input_json_delta\"");
    EventEffect::default()
        .adding(
            arguments || event.contains("\"text_delta\"") || event.contains("\"thinking_delta\""),
        )
        .with_arguments(arguments)
        .ending(event.starts_with("event: message_delta\n"))
}

/// True for a tool that the server runs.
fn is_hosted(tool: &Value) -> bool {
    tool["type"].as_str().is_some_and(|kind| kind.starts_with("web_search_"))
}

/// Reads a request.
pub(super) fn read(body: &Value) -> ModelRequest {
    let system: Vec<String> =
        list(body, "system").iter().map(|block| text(block, "text")).collect();
    let mut request = ModelRequest {
        model: body["model"].as_str().map(String::from),
        system: (!system.is_empty()).then(|| system.concat()),
        web_search: list(body, "tools").iter().any(is_hosted),
        tools: list(body, "tools").iter().filter(|tool| !is_hosted(tool)).map(offered).collect(),
        choice: choice(&body["tool_choice"]),
        max_tokens: body["max_tokens"].as_u64(),
        effort: effort(body),
        temperature: body["temperature"].as_f64(),
        answer_schema: body.pointer("/output_config/format/schema").cloned(),
        ..ModelRequest::default()
    };
    for message in list(body, "messages") {
        let user = message["role"] == "user";
        for block in list(message, "content") {
            request.parts.push(part(block, user));
            // The images of a result stand within it.
            let within = list(block, "content").iter().filter(|block| block["type"] == "image");
            request.parts.extend(within.map(|block| part(block, user)));
        }
    }
    request
}

fn offered(tool: &Value) -> OfferedTool {
    OfferedTool {
        name: text(tool, "name"),
        description: text(tool, "description"),
        parameters: tool["input_schema"].clone(),
    }
}

fn choice(choice: &Value) -> ToolChoice {
    match choice["type"].as_str() {
        Some("tool") => ToolChoice::Tool(text(choice, "name")),
        Some("any") => ToolChoice::Required,
        Some("none") => ToolChoice::None,
        Some(_) | None => ToolChoice::Auto,
    }
}

fn effort(body: &Value) -> Option<String> {
    let word = body["output_config"]["effort"].as_str().map(String::from);
    let budget = || body["thinking"]["budget_tokens"].as_u64().map(|tokens| tokens.to_string());
    word.or_else(budget)
}

/// A block of the user or of the model. What nobody said stands among the user's words, in its
/// frame.
fn part(block: &Value, user: bool) -> RequestPart {
    match block["type"].as_str() {
        Some("tool_use") => RequestPart::Call {
            id: text(block, "id"),
            name: text(block, "name"),
            arguments: block["input"].to_string(),
        },
        Some("tool_result") => RequestPart::Result {
            id: text(block, "tool_use_id"),
            output: text(block, "content"),
            failed: block["is_error"] == true,
        },
        Some("image") => RequestPart::Image {
            media: text(&block["source"], "media_type"),
            base64: text(&block["source"], "data"),
        },
        Some("text") if user && text(block, "text").starts_with(FRAME) => {
            RequestPart::Context(text(block, "text"))
        }
        Some("text") if user => RequestPart::User(text(block, "text")),
        Some("text") => RequestPart::Text(text(block, "text")),
        Some(_) | None => RequestPart::Opaque(block.to_string()),
    }
}

fn text(of: &Value, key: &str) -> String {
    of.get(key).map(flat).unwrap_or_default()
}
