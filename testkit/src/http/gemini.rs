//! Gemini's native API: an answer as a stream of responses, each with the next parts.
//!
//! Source of the format: the Gemini API reference, "GenerateContentResponse" and "Content", and its
//! page "Thought signatures". The Python package google-genai 3.6.1 reads these streams and sends
//! these requests; some of its fields have names in snake case, which the API takes too.

use serde_json::{Value, json};
use windlass_core::{FailureKind, StopReason, ToolChoice, Usage};

use super::model_request::{ModelRequest, OfferedTool, RequestPart};
use super::protocol::{EventEffect, Protocol, ProtocolCapabilities, Refusal};
use super::request::{Request, list};
use crate::answer::{Answer, Part};

/// How the frame of what nobody said begins.
const FRAME: &str = "<context from=";

/// Gemini's native API, `streamGenerateContent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GeminiApi {
    ids: bool,
}

impl GeminiApi {
    /// The API of models whose calls have no ids.
    pub const WITHOUT_IDS: Self = Self { ids: false };
    /// The API of models whose calls have ids: from Gemini 3 on.
    pub const WITH_IDS: Self = Self { ids: true };
}

impl Protocol for GeminiApi {
    fn name(&self) -> &str {
        "Gemini"
    }

    fn serves(&self, request: &Request) -> bool {
        request.route().ends_with(":streamGenerateContent") && request.path.contains("alt=sse")
    }

    fn capabilities(&self) -> ProtocolCapabilities {
        ProtocolCapabilities {
            refusals: false,
            unfinished: false,
            call_ids: self.ids,
            argument_text: false,
            ..ProtocolCapabilities::all()
        }
    }

    fn events(&self, answer: &Answer) -> Vec<String> {
        let event = |parts: &str, end: &str| format!("data: {}\n\n", response(answer, parts, end));
        let pieces = |text: &str, part: &dyn Fn(&str) -> Value| -> Vec<String> {
            answer.pieces(text).into_iter().map(|piece| part(piece).to_string()).collect()
        };
        let mut events = Vec::new();
        for (at, part) in answer.parts().iter().enumerate() {
            let parts = match part {
                Part::Text(text) | Part::Refusal(text) => {
                    pieces(text, &|piece| json!({ "text": piece }))
                }
                Part::Reasoning { text, encrypted: None } => {
                    pieces(text, &|piece| json!({ "text": piece, "thought": true }))
                }
                // A signature belongs to a part, which is not cut.
                Part::Reasoning { .. } | Part::Call { .. } => vec![self.part(answer, at, part)],
            };
            events.extend(parts.iter().map(|part| event(part, "")));
        }
        events.push(event(r#"{"text":""}"#, &end(answer)));
        events
    }

    fn body(&self, answer: &Answer) -> Option<String> {
        let parts = answer.parts().iter().enumerate();
        let parts: Vec<String> = parts.map(|(at, part)| self.part(answer, at, part)).collect();
        Some(response(answer, &parts.join(","), &end(answer)))
    }

    fn effect(&self, event: &str) -> EventEffect {
        let ends = event.contains("\"finishReason\"");
        EventEffect::default()
            .adding(!ends)
            .with_arguments(event.contains("\"functionCall\""))
            .ending(ends)
    }

    fn failure_event(&self, kind: FailureKind, message: &str) -> Option<String> {
        let busy = kind == FailureKind::Overloaded;
        let (code, status) = if busy { (503, "UNAVAILABLE") } else { (500, "INTERNAL") };
        Some(format!("data: {}\n\n", failure(code, status, message)))
    }

    fn refusals(&self, kind: FailureKind, message: &str) -> Vec<Refusal> {
        let refusal = |status: u16, word: &str, message: &str| {
            vec![Refusal { status, body: failure(status, word, message).to_string() }]
        };
        match kind {
            FailureKind::ContextOverflow => {
                let words = "The input token count (9) exceeds the maximum number of tokens \
                             allowed (8).";
                refusal(400, "INVALID_ARGUMENT", &format!("{words} {message}"))
            }
            FailureKind::Authentication => {
                refusal(403, "PERMISSION_DENIED", &format!("API key not valid. {message}"))
            }
            FailureKind::NotFound => refusal(404, "NOT_FOUND", message),
            FailureKind::RateLimit => refusal(429, "RESOURCE_EXHAUSTED", message),
            FailureKind::Overloaded => refusal(503, "UNAVAILABLE", message),
            FailureKind::Quota
            | FailureKind::ContentFilter
            | FailureKind::InvalidRequest
            | FailureKind::Server
            | FailureKind::Unavailable
            | FailureKind::Protocol
            | FailureKind::Truncated
            | FailureKind::TooLarge
            | FailureKind::Timeout
            | FailureKind::Cancelled
            | FailureKind::Restart
            | FailureKind::Steered
            | FailureKind::Hook
            | FailureKind::Unsupported
            | FailureKind::Program
            | FailureKind::Compaction => Vec::new(),
        }
    }

    fn request_id_header(&self) -> Option<&str> {
        None
    }

    fn read(&self, request: &Request) -> ModelRequest {
        let body = request.json.as_ref().unwrap_or(&Value::Null);
        let model = request.route().rsplit('/').next().and_then(|name| name.split_once(':'));
        let config = &body["generationConfig"];
        let thinking = &config["thinkingConfig"];
        let level = either(thinking, "thinkingLevel", "thinking_level").as_str().map(String::from);
        let budget = || thinking["thinkingBudget"].as_u64().map(|tokens| tokens.to_string());
        let system = list(&body["systemInstruction"], "parts").iter();
        let mut read = ModelRequest {
            model: model.map(|(name, _)| name.to_owned()),
            system: system.map(|part| text(part, "text")).reduce(|all, text| all + &text),
            web_search: list(body, "tools").iter().any(|tool| tool.get("googleSearch").is_some()),
            tools: list(body, "tools")
                .iter()
                .flat_map(|tool| list(tool, "functionDeclarations"))
                .map(offered)
                .collect(),
            choice: choice(&body["toolConfig"]["functionCallingConfig"]),
            max_tokens: config["maxOutputTokens"].as_u64(),
            effort: level.or_else(budget),
            temperature: body["generationConfig"]["temperature"].as_f64(),
            answer_schema: config.get("responseJsonSchema").cloned(),
            ..ModelRequest::default()
        };
        for content in list(body, "contents") {
            let user = content["role"] == "user";
            read.parts.extend(list(content, "parts").iter().flat_map(|one| part(one, user)));
        }
        read
    }

    fn fault(&self, request: &Request) -> Option<String> {
        super::grammar::gemini_fault(request)
    }
}

impl GeminiApi {
    /// A part of an answer, whole.
    fn part(&self, answer: &Answer, at: usize, part: &Part) -> String {
        let mut shown = match part {
            Part::Text(text) | Part::Refusal(text) => json!({ "text": text }),
            Part::Reasoning { text, encrypted } => {
                let mut thought = json!({ "text": text, "thought": true });
                if let Some(signature) = encrypted {
                    thought["thoughtSignature"] = signature.as_str().into();
                }
                thought
            }
            Part::Call { id, name, arguments } => {
                let id = if self.ids {
                    format!("\"id\":{},", Value::from(id.as_str()))
                } else {
                    String::new()
                };
                let seal = answer
                    .seal(at)
                    .map(|seal| format!(",\"thoughtSignature\":{}", Value::from(seal)));
                // The arguments as the model wrote them: a number keeps its digits.
                return format!(
                    r#"{{"functionCall":{{{id}"name":{},"args":{arguments}}}{}}}"#,
                    Value::from(name.as_str()),
                    seal.unwrap_or_default()
                );
            }
        };
        if let Some(seal) = answer.seal(at) {
            shown["thoughtSignature"] = seal.into();
        }
        shown.to_string()
    }
}

/// A response with these parts. `end` holds the fields that close the answer.
fn response(answer: &Answer, parts: &str, end: &str) -> String {
    let id = Value::from(answer.response_id());
    let model = Value::from(answer.model_name());
    let (finish, usage) = end.split_once('\n').unwrap_or_default();
    format!(
        r#"{{"candidates":[{{"content":{{"parts":[{parts}],"role":"model"}}{finish},"index":0}}]{usage},"modelVersion":{model},"responseId":{id}}}"#
    )
}

/// The reason to finish and the usage, a line each.
fn end(answer: &Answer) -> String {
    let reason = match answer.stop_reason() {
        StopReason::Stop | StopReason::Unfinished => "STOP",
        StopReason::Length => "MAX_TOKENS",
        StopReason::ContentFilter => "SAFETY",
        StopReason::Other(word) => word,
    };
    let usage =
        answer.reported().map(|usage| format!(",\"usageMetadata\":{}", usage_object(usage)));
    let found = grounding(answer);
    let found = found.map(|found| format!(",\"groundingMetadata\":{found}"));
    format!(
        ",\"finishReason\":{}{}\n{}",
        Value::from(reason),
        found.unwrap_or_default(),
        usage.unwrap_or_default()
    )
}

/// The search behind the cited text, if there is one. Offsets count bytes.
fn grounding(answer: &Answer) -> Option<Value> {
    let mut texts = answer.parts().iter().enumerate();
    let (source, text) = texts.find_map(|(at, part)| match part {
        Part::Text(text) => Some((answer.source(at)?, text)),
        Part::Refusal(_) | Part::Reasoning { .. } | Part::Call { .. } => None,
    })?;
    Some(json!({
        "webSearchQueries": [source.query],
        "groundingChunks": [{ "web": { "uri": source.url, "title": source.title } }],
        "groundingSupports": [{
            "segment": { "endIndex": text.len(), "text": text }, "groundingChunkIndices": [0],
        }],
    }))
}

/// Thoughts are counted apart from the answer.
fn usage_object(usage: &Usage) -> Value {
    let thoughts = usage.reasoning_output;
    let words = usage.output.map(|output| output.saturating_sub(thoughts.unwrap_or(0)));
    json!({
        "promptTokenCount": usage.input,
        "cachedContentTokenCount": usage.cached_input,
        "candidatesTokenCount": words,
        "thoughtsTokenCount": thoughts,
        "totalTokenCount": usage.total,
    })
}

fn failure(code: u16, status: &str, message: &str) -> Value {
    json!({ "error": { "code": code, "message": message, "status": status } })
}

fn offered(tool: &Value) -> OfferedTool {
    OfferedTool {
        name: text(tool, "name"),
        description: text(tool, "description"),
        parameters: either(tool, "parametersJsonSchema", "parameters_json_schema").clone(),
    }
}

fn choice(config: &Value) -> ToolChoice {
    let one = list(config, "allowedFunctionNames").first().and_then(Value::as_str);
    match (config["mode"].as_str(), one) {
        (Some("ANY"), Some(name)) => ToolChoice::Tool(name.into()),
        (Some("ANY"), None) => ToolChoice::Required,
        (Some("NONE"), _) => ToolChoice::None,
        _ => ToolChoice::Auto,
    }
}

/// The parts of a request that a part stands for: a signature of words is one of its own.
fn part(part: &Value, user: bool) -> Option<RequestPart> {
    let call = &part["functionCall"];
    let result = &part["functionResponse"];
    Some(if call.is_object() {
        RequestPart::Call {
            id: text(call, "id"),
            name: text(call, "name"),
            arguments: call["args"].to_string(),
        }
    } else if let Some(response) = result.get("response") {
        let failed = response.get("error").is_some();
        let output = text(response, if failed { "error" } else { "output" });
        RequestPart::Result { id: text(result, "id"), output, failed }
    } else if part["inlineData"].is_object() {
        let data = &part["inlineData"];
        RequestPart::Image { media: text(data, "mimeType"), base64: text(data, "data") }
    } else if part.get("thoughtSignature").is_some() || part["thought"] == true {
        RequestPart::Opaque(part.to_string())
    } else if user && text(part, "text").starts_with(FRAME) {
        RequestPart::Context(text(part, "text"))
    } else if user {
        RequestPart::User(text(part, "text"))
    } else {
        RequestPart::Text(text(part, "text"))
    })
}

/// A field by its name in camel case or in snake case.
fn either<'a>(of: &'a Value, camel: &str, snake: &str) -> &'a Value {
    of.get(camel).or_else(|| of.get(snake)).unwrap_or(&Value::Null)
}

fn text(of: &Value, key: &str) -> String {
    of[key].as_str().unwrap_or_default().into()
}
