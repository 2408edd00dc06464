//! Chat Completions requests: what stands around the conversation. Pure.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use windlass_core::{Settings, ToolSpec};
use windlass_kit_http::request::write;
use windlass_ports::ProviderError;

use super::messages::plain;
use crate::options::{self, OutputRequest, SchemaFormat};
use crate::quirks::{EffortForm, Quirks};

#[derive(Serialize)]
struct ChatRequestHead<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ChatReasoning<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    web_search_options: Option<SearchOptions>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ChatTool<'a>>,
}

/// Asks for a web search, with the defaults of the server.
#[derive(Serialize)]
struct SearchOptions {}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct ChatReasoning<'a> {
    effort: &'a str,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    r#type: &'static str,
    json_schema: SchemaFormat<'a>,
}

#[derive(Serialize)]
struct ChatTool<'a> {
    r#type: &'static str,
    function: ToolFunction<'a>,
}

#[derive(Serialize)]
struct ToolFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

/// Writes all of a body that comes before the conversation, up to the opening of its list.
pub(crate) fn head(
    settings: &Settings,
    quirks: &Quirks,
    out: &mut Vec<u8>,
) -> Result<(), ProviderError> {
    if settings.options.reasoning_summary.is_some() {
        let what = "to sum up its reasoning";
        return Err(options::unsupported(settings, what));
    }
    let (field, words) = match options::answer(settings, quirks)? {
        Some(OutputRequest::Field(shape)) => (Some(shape), None),
        Some(OutputRequest::Words(words)) => (None, Some(words)),
        None => (None, None),
    };
    let effort = |form| {
        let here = quirks.effort == form;
        settings.effort.as_deref().filter(|_| here)
    };
    let head = ChatRequestHead {
        model: &settings.model,
        stream: true,
        stream_options: quirks.stream_usage.then_some(StreamOptions { include_usage: true }),
        reasoning_effort: effort(EffortForm::Field),
        reasoning: effort(EffortForm::Nested).map(|effort| ChatReasoning { effort }),
        parallel_tool_calls: options::parallel(settings, quirks)?,
        response_format: field
            .map(|json_schema| ResponseFormat { r#type: "json_schema", json_schema }),
        web_search_options: settings.options.web_search.as_ref().map(|_| SearchOptions {}),
        tools: settings
            .tools
            .iter()
            .map(|tool| function(tool, quirks))
            .collect::<Result<_, _>>()?,
    };
    write(out, &head)?;
    // The list of messages is the last field before the tail, so that it can grow.
    out.pop();
    out.extend_from_slice(br#","messages":["#);
    let instructions = options::instructions(settings, words);
    if !instructions.is_empty() {
        plain("system", &instructions, out)?;
    }
    Ok(())
}

fn function<'a>(tool: &'a ToolSpec, quirks: &Quirks) -> Result<ChatTool<'a>, ProviderError> {
    let (parameters, strict) = options::parameters(tool, quirks)?;
    Ok(ChatTool {
        r#type: "function",
        function: ToolFunction {
            name: &tool.name,
            description: &tool.description,
            parameters,
            strict: strict.then_some(true),
        },
    })
}

/// The choice of one tool.
pub(crate) fn named(tool: &str) -> Value {
    json!({ "type": "function", "function": { "name": tool } })
}
