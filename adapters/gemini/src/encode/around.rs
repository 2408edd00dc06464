//! Parts of a request around the conversation: before it the parts that are equal in every request
//! of a session, after it the parts that may differ.

use serde::Serialize;
use serde_json::value::RawValue;
use windlass_core::{FailureKind, OutputSchema, Retry, Settings, Temperature, ToolChoice};
use windlass_kit_http::misconfigured;
use windlass_kit_http::request::{schema, write};
use windlass_ports::{ProviderError, SampleRequest};

use crate::model::{ModelTraits, Thinking};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestHead<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<SystemInstruction<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
struct SystemInstruction<'a> {
    parts: [TextPart<'a>; 1],
}

#[derive(Serialize)]
struct TextPart<'a> {
    text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Tool<'a> {
    FunctionDeclarations(Vec<FunctionDeclaration<'a>>),
    GoogleSearch(GoogleSearch),
}

/// Search with the defaults of the server.
#[derive(Serialize)]
struct GoogleSearch {}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionDeclaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: Box<RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestTail<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'a>>,
    #[serde(skip_serializing_if = "GenerationConfig::is_empty")]
    generation_config: GenerationConfig,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    function_calling_config: Option<FunctionCalling<'a>>,
    /// Returns the search beside the calls of other tools, as a part that goes back.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    include_server_side_tool_invocations: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionCalling<'a> {
    mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_function_names: Option<[&'a str; 1]>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<Temperature>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<Box<RawValue>>,
}

impl GenerationConfig {
    fn is_empty(&self) -> bool {
        self.max_output_tokens.is_none()
            && self.temperature.is_none()
            && self.thinking_config.is_none()
            && self.response_json_schema.is_none()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u64>,
}

/// Writes all of a body that comes before the conversation, up to the opening of its list.
pub(super) fn head(
    settings: &Settings,
    traits: &ModelTraits,
    out: &mut Vec<u8>,
) -> Result<(), ProviderError> {
    let tools: Vec<FunctionDeclaration<'_>> = settings
        .tools
        .iter()
        .map(|tool| {
            let parameters_json_schema = schema(tool)?;
            let (name, description) = (tool.name.as_str(), tool.description.as_str());
            Ok(FunctionDeclaration { name, description, parameters_json_schema })
        })
        .collect::<Result<_, ProviderError>>()?;
    let own = (!tools.is_empty()).then_some(Tool::FunctionDeclarations(tools));
    let search = settings.options.web_search.as_ref();
    let search = search.map(|_| Tool::GoogleSearch(GoogleSearch {}));
    let system = instructions(settings, traits);
    let head = RequestHead {
        system_instruction: (!system.trim().is_empty())
            .then_some(SystemInstruction { parts: [TextPart { text: &system }] }),
        tools: own.into_iter().chain(search).collect(),
    };
    write(out, &head)?;
    // The list of contents is the last field before the tail, so that it can grow.
    out.pop();
    let comma = if out.ends_with(b"{") { "" } else { "," };
    out.extend_from_slice(format!("{comma}\"contents\":[").as_bytes());
    Ok(())
}

/// The instructions, with the schema of the answer where it has no other place.
fn instructions(settings: &Settings, traits: &ModelTraits) -> String {
    let instructions = settings.instructions.clone();
    match &settings.options.output_schema {
        Some(shape) if !enforces(settings, traits) => format!(
            "{instructions}\n\nYour final answer must be one JSON value and nothing else: no \
             words around it, no code fence. It must fit this JSON Schema: {}",
            shape.schema
        ),
        Some(_) | None => instructions,
    }
}

/// Returns true if the model takes a schema: before Gemini 3 none does beside tools.
fn enforces(settings: &Settings, traits: &ModelTraits) -> bool {
    settings.tools.is_empty() || traits.signs
}

/// Writes what comes after the conversation, from the closing of its list on.
pub(super) fn tail(
    request: &SampleRequest,
    traits: &ModelTraits,
    out: &mut Vec<u8>,
) -> Result<(), ProviderError> {
    let settings = &request.prompt.settings;
    let shape = settings.options.output_schema.as_ref().filter(|_| enforces(settings, traits));
    let response_json_schema = shape.map(answer_schema).transpose()?;
    let tail = RequestTail {
        tool_config: choice(request)?,
        generation_config: GenerationConfig {
            max_output_tokens: request.max_output_tokens(None),
            temperature: settings.temperature,
            thinking_config: thinking(settings, traits)?,
            response_mime_type: response_json_schema.as_ref().map(|_| "application/json"),
            response_json_schema,
        },
    };
    out.push(b']');
    let from = out.len();
    write(out, &tail)?;
    // The object goes on where the list of contents has ended.
    match out.get_mut(from..) {
        Some([_, b'}']) => drop(out.drain(from..=from)),
        Some([first, ..]) => *first = b',',
        Some([]) | None => {}
    }
    Ok(())
}

fn answer_schema(shape: &OutputSchema) -> Result<Box<RawValue>, ProviderError> {
    RawValue::from_string(shape.schema.trim().to_owned()).map_err(|error| {
        misconfigured(format!(
            "the schema of the answer {} is not JSON ({error}): correct it",
            shape.name
        ))
    })
}

fn choice(request: &SampleRequest) -> Result<Option<ToolConfig<'_>>, ProviderError> {
    let settings = &request.prompt.settings;
    let none = settings.tools.is_empty();
    let searches = !none && settings.options.web_search.is_some();
    let free = searches.then_some(ToolConfig {
        function_calling_config: None,
        include_server_side_tool_invocations: true,
    });
    let (mode, name) = match &request.choice {
        ToolChoice::Auto => return Ok(free),
        ToolChoice::None if none => return Ok(free),
        ToolChoice::None => ("NONE", None),
        ToolChoice::Required => ("ANY", None),
        ToolChoice::Tool(name) => ("ANY", Some([name.as_str()])),
    };
    if none {
        let context = format!(
            "asking {}: it must call a tool and is offered none: offer tools, or leave the choice \
             to the model",
            settings.model
        );
        return Err(misconfigured(context));
    }
    let function_calling_config = FunctionCalling { mode, allowed_function_names: name };
    Ok(Some(ToolConfig {
        function_calling_config: Some(function_calling_config),
        include_server_side_tool_invocations: searches,
    }))
}

/// Accepts an effort of the settings that the model takes.
pub(super) fn check_effort(settings: &Settings, traits: &ModelTraits) -> Result<(), ProviderError> {
    thinking(settings, traits).map(drop)
}

/// The thinking that the settings ask for: an effort, or a summary of it.
fn thinking(
    settings: &Settings,
    traits: &ModelTraits,
) -> Result<Option<ThinkingConfig>, ProviderError> {
    let include_thoughts = settings.options.reasoning_summary.is_some();
    let effort = settings.effort.as_deref().map(str::trim);
    let (thinking_level, thinking_budget) = match (traits.thinking, effort) {
        (Thinking::None, Some(effort)) if effort != "none" => {
            let context = format!(
                "asking {} of gemini: it is not known to take an effort; leave the effort out, or \
                 say how its models think by `thinking` in the configuration of the provider",
                settings.model
            );
            return Err(ProviderError::new(FailureKind::Unsupported, Retry::Never, context));
        }
        (Thinking::None, _) => return Ok(None),
        (Thinking::Level, effort) => (effort.map(level).transpose()?, None),
        (Thinking::Budget, effort) => (None, effort.map(budget).transpose()?),
    };
    let asked = include_thoughts || thinking_level.is_some() || thinking_budget.is_some();
    Ok(asked.then_some(ThinkingConfig { include_thoughts, thinking_level, thinking_budget }))
}

/// An effort as a level. A model of this form cannot be kept from thinking.
fn level(effort: &str) -> Result<&'static str, ProviderError> {
    match effort {
        "none" | "minimal" => Ok("minimal"),
        "low" => Ok("low"),
        "medium" => Ok("medium"),
        "high" | "xhigh" | "max" => Ok("high"),
        _ => Err(unknown(effort)),
    }
}

/// An effort in tokens, as Google's own compatible endpoint translates it.
fn budget(effort: &str) -> Result<u64, ProviderError> {
    match effort {
        "none" => Ok(0),
        "minimal" | "low" => Ok(1_024),
        "medium" => Ok(8_192),
        "high" | "xhigh" | "max" => Ok(24_576),
        _ => Err(unknown(effort)),
    }
}

fn unknown(effort: &str) -> ProviderError {
    let named: String = effort.chars().take(40).collect();
    misconfigured(format!(
        "the effort {named:?} is not known to this provider: say none, minimal, low, medium or high"
    ))
}
