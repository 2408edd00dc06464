//! Wire form of a request's options, the same for both protocols. Options that a server does not
//! support are refused before anything is sent.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use windlass_core::{Digest, FailureKind, Retry, SessionId, Settings, ToolChoice, ToolSpec};
use windlass_kit_http::request::schema;
use windlass_kit_http::strict::strict_form;
use windlass_ports::ProviderError;

use crate::quirks::{AnswerForm, ChoiceForm, Quirks};

/// Longest `prompt_cache_key`, in characters.
const KEY_CHARS: usize = 64;

/// A shape as both protocols write it.
#[derive(Serialize)]
pub(crate) struct SchemaFormat<'a> {
    name: &'a str,
    schema: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

/// Form in which an output schema is requested.
pub(crate) enum OutputRequest<'a> {
    /// In the field of the protocol.
    Field(SchemaFormat<'a>),
    /// In these words, after the instructions.
    Words(String),
}

/// Returns the schema of a tool's arguments as it is sent, and true if that is the strict form.
pub(crate) fn parameters(
    tool: &ToolSpec,
    quirks: &Quirks,
) -> Result<(Box<RawValue>, bool), ProviderError> {
    let strict = if quirks.strict_tools { strict_form(&tool.parameters) } else { None };
    match strict.and_then(|form| RawValue::from_string(form).ok()) {
        Some(form) => Ok((form, true)),
        None => Ok((schema(tool)?, false)),
    }
}

/// Returns the output schema to request, if any.
pub(crate) fn answer<'a>(
    settings: &'a Settings,
    quirks: &Quirks,
) -> Result<Option<OutputRequest<'a>>, ProviderError> {
    let Some(shape) = &settings.options.output_schema else {
        return Ok(None);
    };
    let schema = RawValue::from_string(shape.schema.clone()).map_err(|error| {
        let context =
            format!("the schema of the answer {} is not JSON ({error}): correct it", shape.name);
        ProviderError::new(FailureKind::InvalidRequest, Retry::Never, context)
    })?;
    let excluded = !settings.tools.is_empty() && !quirks.answer_with_tools;
    Ok(Some(match quirks.answer {
        AnswerForm::JsonSchema if !excluded => OutputRequest::Field(SchemaFormat {
            name: &shape.name,
            schema,
            strict: quirks.strict.then_some(shape.strict),
        }),
        AnswerForm::JsonSchema | AnswerForm::Words => OutputRequest::Words(format!(
            "Your final answer must be one JSON value and nothing else: no words around it, no \
             code fence. It must fit this JSON Schema: {}",
            schema.get()
        )),
    }))
}

/// The instructions, with what is said in words of the shape of the answer.
pub(crate) fn instructions(settings: &Settings, words: Option<String>) -> String {
    match words {
        None => settings.instructions.clone(),
        Some(words) if settings.instructions.is_empty() => words,
        Some(words) => format!("{}\n\n{words}", settings.instructions),
    }
}

/// Returns the value of `parallel_tool_calls`, if it is set. Servers default to true.
pub(crate) fn parallel(
    settings: &Settings,
    quirks: &Quirks,
) -> Result<Option<bool>, ProviderError> {
    match settings.options.parallel_calls {
        _ if settings.tools.is_empty() => Ok(None),
        Some(false) if !quirks.parallel_calls => {
            Err(unsupported(settings, "to make one call at a time"))
        }
        said => Ok(said.filter(|_| quirks.parallel_calls)),
    }
}

/// The choice of tools, if there is one. `named` is that of one tool.
pub(crate) fn choice(
    choice: &ToolChoice,
    settings: &Settings,
    quirks: &Quirks,
    named: fn(&str) -> Value,
) -> Result<Option<Value>, ProviderError> {
    let chosen = match (choice, quirks.tool_choice) {
        (ToolChoice::Auto, _) => return Ok(None),
        (ToolChoice::None, _) if settings.tools.is_empty() => return Ok(None),
        (ToolChoice::None, ChoiceForm::Words | ChoiceForm::Named) => "none".into(),
        (ToolChoice::Required, ChoiceForm::Words | ChoiceForm::Named) => {
            quirks.required.word().into()
        }
        (ToolChoice::Tool(name), ChoiceForm::Named) => named(name),
        // It must call one, and is offered no other.
        (ToolChoice::Tool(name), ChoiceForm::Words)
            if settings.tools.iter().all(|tool| tool.name == *name) =>
        {
            quirks.required.word().into()
        }
        (ToolChoice::Tool(_), ChoiceForm::Words) => {
            return Err(unsupported(settings, "which tool to call"));
        }
        (ToolChoice::None | ToolChoice::Required | ToolChoice::Tool(_), ChoiceForm::None) => {
            return Err(unsupported(settings, "whether to call tools"));
        }
    };
    if settings.tools.is_empty() {
        let context = format!(
            "asking {}: it must call a tool and is offered none: offer tools, or leave the choice \
             to the model",
            settings.model
        );
        return Err(ProviderError::new(FailureKind::InvalidRequest, Retry::Never, context));
    }
    Ok(Some(chosen))
}

/// The key under which a provider finds what it has cached of a session.
pub(crate) fn cache_key(session: &SessionId) -> String {
    let id = session.as_str();
    if id.len() <= KEY_CHARS {
        return id.to_owned();
    }
    Digest::EMPTY.part(id.as_bytes()).to_string()
}

/// The error of what this server cannot be told.
pub(crate) fn unsupported(settings: &Settings, what: &str) -> ProviderError {
    let context = format!(
        "asking {} of {}: its server cannot be told {what}: leave that option out, take another \
         provider, or set the quirks of the server in the configuration",
        settings.model, settings.provider
    );
    ProviderError::new(FailureKind::Unsupported, Retry::Never, context)
}
