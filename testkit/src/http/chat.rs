//! An answer as a stream of Chat Completions chunks.
//!
//! Source of the format: the OpenAI API reference, "The chat completion chunk object";
//! `reasoning_content` is the field that compatible servers add for readable reasoning.

use serde_json::{Value, json};
use windlass_core::{StopReason, ToolChoice, Usage};

use super::model_request::{ModelRequest, OfferedTool, RequestPart};
use super::protocol::EventEffect;
use super::request::{flat, list};
use crate::answer::{Answer, Part, WebSource};

/// The events of an answer, the `[DONE]` included.
pub(super) fn events(answer: &Answer) -> Vec<String> {
    let mut events = vec![delta(answer, &json!({ "role": "assistant", "content": "" }))];
    let mut index = 0_u32;
    for (at, part) in answer.parts().iter().enumerate() {
        let mut texts = |key: &str, text: &str| {
            let piece = |piece| delta(answer, &json!({ key: piece }));
            events.extend(answer.pieces(text).into_iter().map(piece));
        };
        match part {
            Part::Text(text) => {
                texts("content", text);
                if let Some(source) = answer.source(at) {
                    let cited =
                        json!([{ "type": "url_citation", "url_citation": citation(source, text) }]);
                    events.push(delta(answer, &json!({ "annotations": cited })));
                }
            }
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
    for (at, part) in answer.parts().iter().enumerate() {
        match part {
            Part::Text(text) => {
                message["content"] = text.as_str().into();
                if let Some(source) = answer.source(at) {
                    let cited = citation(source, text);
                    message["annotations"] =
                        json!([{ "type": "url_citation", "url_citation": cited }]);
                }
            }
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

/// The fields of a citation of all of a text. Its offsets count characters.
pub(super) fn citation(source: &WebSource, text: &str) -> Value {
    let end = text.chars().count();
    json!({ "url": source.url, "title": source.title, "start_index": 0, "end_index": end })
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

/// The effect of an event.
pub(super) fn effect(event: &str) -> EventEffect {
    let given = |key: &str| {
        event.contains(&format!("\"{key}\":\"")) && !event.contains(&format!("\"{key}\":\"\""))
    };
    let arguments = given("arguments");
    EventEffect::default()
        .adding(
            arguments || ["content", "refusal", "reasoning_content"].iter().any(|key| given(key)),
        )
        .with_arguments(arguments)
        .ending(given("finish_reason"))
}

/// Reads a request.
pub(super) fn read(body: &Value) -> ModelRequest {
    let mut request = ModelRequest {
        model: body["model"].as_str().map(String::from),
        web_search: body.get("web_search_options").is_some(),
        tools: list(body, "tools").iter().map(|tool| offered(&tool["function"])).collect(),
        choice: choice(&body["tool_choice"]),
        max_tokens: ["max_completion_tokens", "max_tokens"]
            .iter()
            .find_map(|key| body[key].as_u64()),
        temperature: body["temperature"].as_f64(),
        effort: [&body["reasoning_effort"], &body["reasoning"]["effort"]]
            .iter()
            .find_map(|effort| effort.as_str())
            .map(String::from),
        answer_schema: body.pointer("/response_format/json_schema/schema").cloned(),
        ..ModelRequest::default()
    };
    for (at, message) in list(body, "messages").iter().enumerate() {
        let text = || message.get("content").map(flat).unwrap_or_default();
        match message["role"].as_str() {
            Some("system") if at == 0 => request.system = Some(text()),
            Some("system" | "developer") => request.parts.push(RequestPart::Context(text())),
            Some("user") => user(&message["content"], &mut request.parts),
            Some("assistant") => assistant(message, &mut request.parts),
            Some("tool") => request.parts.push(RequestPart::Result {
                id: message.get("tool_call_id").map(flat).unwrap_or_default(),
                output: text(),
                failed: false,
            }),
            Some(_) | None => {}
        }
    }
    request
}

/// A tool by the fields that Chat Completions and Responses share.
pub(super) fn offered(tool: &Value) -> OfferedTool {
    OfferedTool {
        name: tool["name"].as_str().unwrap_or_default().into(),
        description: tool["description"].as_str().unwrap_or_default().into(),
        parameters: tool["parameters"].clone(),
    }
}

/// A choice as Chat Completions and Responses write it.
pub(super) fn choice(choice: &Value) -> ToolChoice {
    let name = choice.pointer("/function/name").or_else(|| choice.get("name"));
    match (choice.as_str(), name.and_then(Value::as_str)) {
        (_, Some(name)) => ToolChoice::Tool(name.into()),
        (Some("none"), _) => ToolChoice::None,
        (Some("required" | "any"), _) => ToolChoice::Required,
        _ => ToolChoice::Auto,
    }
}

/// Words and images of the user: a string, or a list of parts.
pub(super) fn user(content: &Value, parts: &mut Vec<RequestPart>) {
    let Some(list) = content.as_array() else {
        return parts.push(RequestPart::User(flat(content)));
    };
    for part in list {
        let url = &part["image_url"];
        match url.as_str().or_else(|| url["url"].as_str()) {
            Some(url) => parts.extend(image(url)),
            None => parts.push(RequestPart::User(part["text"].as_str().unwrap_or_default().into())),
        }
    }
}

/// The image of a data URL.
pub(super) fn image(url: &str) -> Option<RequestPart> {
    let (media, base64) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some(RequestPart::Image { media: media.into(), base64: base64.into() })
}

fn assistant(message: &Value, parts: &mut Vec<RequestPart>) {
    let thoughts = list(message, "reasoning_details").iter().map(Value::to_string);
    parts.extend(thoughts.map(RequestPart::Opaque));
    let text = message.get("content").map(flat).filter(|text| !text.is_empty());
    parts.extend(text.map(RequestPart::Text));
    for call in list(message, "tool_calls") {
        let text = |of: &Value, key: &str| of.get(key).map(flat).unwrap_or_default();
        parts.push(RequestPart::Call {
            id: text(call, "id"),
            name: text(&call["function"], "name"),
            arguments: text(&call["function"], "arguments"),
        });
    }
}
