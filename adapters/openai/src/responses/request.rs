//! Responses requests: a prompt to the bytes of a body. Pure.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use windlass_core::{ChainIter, Image, Opaque, PromptItem, Settings, output};
use windlass_ports::ProviderError;

use super::DIALECT;
use windlass_wire::request::{arguments, call_id, schema, separate, tool_name, write};
use windlass_wire::{Encoded, Pictures, request};

use crate::encode::Transport;
use crate::request::may_reason;

#[derive(Serialize)]
struct Head<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<&'a str>,
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'a [&'a str],
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
struct Reasoning<'a> {
    effort: &'a str,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: Box<RawValue>,
    /// Strict is the default of this protocol, and refuses schemas that leave a property optional.
    strict: bool,
}

#[derive(Serialize)]
struct Message<'a> {
    r#type: &'static str,
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct Call<'a> {
    r#type: &'static str,
    call_id: Cow<'a, str>,
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

#[derive(Serialize)]
struct Output<'a> {
    r#type: &'static str,
    call_id: Cow<'a, str>,
    output: Cow<'a, str>,
}

/// What makes a reasoning item worth sending back where nothing is stored.
#[derive(Deserialize)]
struct Kept<'a> {
    #[serde(default, borrow)]
    encrypted_content: Option<&'a RawValue>,
    #[serde(default)]
    content: Option<Vec<serde::de::IgnoredAny>>,
}

/// Writes all of a body that comes before the conversation, up to the opening of its list.
pub(crate) fn head(
    settings: &Settings,
    over: Transport,
    out: &mut Vec<u8>,
) -> Result<(), ProviderError> {
    let tool = |tool| {
        let tool: &windlass_core::ToolSpec = tool;
        Ok(Tool {
            r#type: "function",
            name: &tool.name,
            description: &tool.description,
            parameters: schema(tool)?,
            strict: false,
        })
    };
    let reasons = may_reason(settings);
    // Over a WebSocket there is nothing else than a stream, and a message says what it is.
    let (kind, stream) = match over {
        Transport::Http => (None, Some(true)),
        Transport::Socket => (Some("response.create"), None),
    };
    let head = Head {
        r#type: kind,
        model: &settings.model,
        stream,
        store: false,
        include: if reasons {
            &["reasoning.encrypted_content"]
        } else {
            &[]
        },
        instructions: &settings.instructions,
        max_output_tokens: settings.max_output_tokens,
        reasoning: settings
            .effort
            .as_deref()
            .map(|effort| Reasoning { effort }),
        tools: settings
            .tools
            .iter()
            .map(tool)
            .collect::<Result<_, ProviderError>>()?,
    };
    write(out, &head)?;
    // The list of items is the last field, so that it can grow.
    out.pop();
    out.extend_from_slice(br#","input":["#);
    Ok(())
}

/// Writes items. Answers how many there were and where they end: nothing later changes them.
pub(crate) fn items(
    items: ChainIter<'_, PromptItem>,
    settings: &Settings,
    endpoint: &str,
    pictures: &Pictures,
    out: &mut Vec<u8>,
) -> Result<Encoded, ProviderError> {
    let mut count = 0;
    for item in items {
        count += 1;
        match item {
            PromptItem::User { text } => message("user", text, out)?,
            PromptItem::Image { image } => picture(image, pictures, out)?,
            PromptItem::Context { text } => message("developer", text, out)?,
            PromptItem::Text { text, .. } | PromptItem::Refusal { text, .. } => {
                message("assistant", text, out)?;
            }
            PromptItem::Reasoning { item, .. } => {
                if let Some(opaque) = &item.opaque
                    && goes_back(opaque, settings, endpoint)
                {
                    separate(out);
                    out.extend_from_slice(opaque.payload.as_bytes());
                }
            }
            PromptItem::Call { id, call, .. } => {
                separate(out);
                let call = Call {
                    r#type: "function_call",
                    call_id: call_id(id),
                    name: tool_name(&call.name),
                    arguments: arguments(call),
                };
                write(out, &call)?;
            }
            PromptItem::Result {
                id,
                observation,
                edited,
            } => {
                separate(out);
                let output = Output {
                    r#type: "function_call_output",
                    call_id: call_id(id),
                    output: output(observation, edited.as_deref()),
                };
                write(out, &output)?;
            }
        }
    }
    Ok(Encoded {
        closed: count,
        end: out.len(),
        ..Encoded::default()
    })
}

fn picture(image: &Image, pictures: &Pictures, out: &mut Vec<u8>) -> Result<(), ProviderError> {
    let Some(data) = pictures.get(image) else {
        return message("user", &request::no_picture(image), out);
    };
    separate(out);
    let url = format!("data:{};base64,{data}", image.media.as_str());
    let part = serde_json::json!([{ "type": "input_image", "image_url": url }]);
    write(
        out,
        &serde_json::json!({ "type": "message", "role": "user", "content": part }),
    )
}

fn message(role: &'static str, content: &str, out: &mut Vec<u8>) -> Result<(), ProviderError> {
    separate(out);
    write(
        out,
        &Message {
            r#type: "message",
            role,
            content,
        },
    )
}

/// Whether a reasoning item may go back: only to the dialect, endpoint and model that made it,
/// and only if it says itself what it holds, for nothing is stored over there.
fn goes_back(opaque: &Opaque, settings: &Settings, endpoint: &str) -> bool {
    let same =
        opaque.provider == DIALECT && opaque.endpoint == endpoint && opaque.model == settings.model;
    if !same {
        return false;
    }
    let Ok(kept) = serde_json::from_str::<Kept<'_>>(&opaque.payload) else {
        return false;
    };
    let encrypted = kept
        .encrypted_content
        .is_some_and(|text| !matches!(text.get(), "\"\""));
    encrypted || kept.content.is_some_and(|content| !content.is_empty())
}
