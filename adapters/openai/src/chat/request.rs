//! Chat Completions requests: a prompt to the bytes of a body. Pure.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use windlass_core::{ChainIter, Image, PromptItem, Seq, Settings, output};
use windlass_ports::ProviderError;

use windlass_wire::request::{arguments, call_id, schema, separate, tool_name, write};
use windlass_wire::{Encoded, Pictures, request};

#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Box<RawValue>,
}

#[derive(Serialize)]
struct Plain<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct Assistant<'a> {
    role: &'static str,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    function: Called<'a>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

#[derive(Serialize)]
struct Answer<'a> {
    role: &'static str,
    tool_call_id: Cow<'a, str>,
    content: Cow<'a, str>,
}

/// Writes all of a body that comes before the conversation, up to the opening of its list.
pub(crate) fn head(settings: &Settings, out: &mut Vec<u8>) -> Result<(), ProviderError> {
    let tool = |tool| {
        let tool: &windlass_core::ToolSpec = tool;
        Ok(Tool {
            r#type: "function",
            function: Function {
                name: &tool.name,
                description: &tool.description,
                parameters: schema(tool)?,
            },
        })
    };
    let head = Head {
        model: &settings.model,
        stream: true,
        stream_options: StreamOptions {
            include_usage: true,
        },
        max_completion_tokens: settings.max_output_tokens,
        reasoning_effort: settings.effort.as_deref(),
        tools: settings
            .tools
            .iter()
            .map(tool)
            .collect::<Result<_, ProviderError>>()?,
    };
    write(out, &head)?;
    // The list of messages is the last field, so that it can grow.
    out.pop();
    out.extend_from_slice(br#","messages":["#);
    if !settings.instructions.is_empty() {
        plain("system", &settings.instructions, out)?;
    }
    Ok(())
}

/// Writes messages. Answers up to which item, and which byte, nothing later can change them: a
/// message of the model collects all items of one sample.
pub(crate) fn items(
    items: ChainIter<'_, PromptItem>,
    pictures: &Pictures,
    out: &mut Vec<u8>,
) -> Result<Encoded, ProviderError> {
    let mut said = Said::default();
    let mut closed = (0, out.len());
    for (at, item) in items.enumerate() {
        if said.sample != sample(item) {
            said.write(out)?;
            closed = (at, out.len());
            said = Said {
                sample: sample(item),
                ..Said::default()
            };
        }
        match item {
            PromptItem::User { text } => {
                separate(out);
                plain("user", text, out)?;
                closed = (at + 1, out.len());
            }
            PromptItem::Image { image } => {
                separate(out);
                picture(image, pictures, out)?;
                closed = (at + 1, out.len());
            }
            // The word for it that every server of this protocol knows.
            PromptItem::Context { text } => {
                separate(out);
                plain("system", text, out)?;
                closed = (at + 1, out.len());
            }
            PromptItem::Text { text, .. } | PromptItem::Refusal { text, .. } => said.text(text),
            // Chat Completions takes no reasoning back.
            PromptItem::Reasoning { .. } => {}
            PromptItem::Call { id, call, .. } => said.calls.push(Call {
                id: call_id(id),
                r#type: "function",
                function: Called {
                    name: tool_name(&call.name),
                    arguments: arguments(call),
                },
            }),
            PromptItem::Result {
                id,
                observation,
                edited,
            } => {
                separate(out);
                let answer = Answer {
                    role: "tool",
                    tool_call_id: call_id(id),
                    content: output(observation, edited.as_deref()),
                };
                write(out, &answer)?;
                closed = (at + 1, out.len());
            }
        }
    }
    said.write(out)?;
    let (closed, end) = closed;
    Ok(Encoded {
        closed,
        end,
        ..Encoded::default()
    })
}

fn picture(image: &Image, pictures: &Pictures, out: &mut Vec<u8>) -> Result<(), ProviderError> {
    let Some(data) = pictures.get(image) else {
        return plain("user", &request::no_picture(image), out);
    };
    let url = format!("data:{};base64,{data}", image.media.as_str());
    let part = serde_json::json!([{ "type": "image_url", "image_url": { "url": url } }]);
    write(out, &serde_json::json!({ "role": "user", "content": part }))
}

fn plain(role: &'static str, content: &str, out: &mut Vec<u8>) -> Result<(), ProviderError> {
    write(out, &Plain { role, content })
}

/// What the model said in one sample, as far as it is gathered.
#[derive(Default)]
struct Said<'a> {
    sample: Option<Seq>,
    text: Option<Cow<'a, str>>,
    calls: Vec<Call<'a>>,
}

impl<'a> Said<'a> {
    fn text(&mut self, text: &'a str) {
        match &mut self.text {
            None => self.text = Some(Cow::Borrowed(text)),
            Some(before) => {
                let before = before.to_mut();
                before.push_str("\n\n");
                before.push_str(text);
            }
        }
    }

    fn write(&mut self, out: &mut Vec<u8>) -> Result<(), ProviderError> {
        if self.text.is_none() && self.calls.is_empty() {
            return Ok(());
        }
        separate(out);
        write(
            out,
            &Assistant {
                role: "assistant",
                content: self.text.as_deref(),
                tool_calls: std::mem::take(&mut self.calls),
            },
        )
    }
}

/// The sample that brought an item of the model.
fn sample(item: &PromptItem) -> Option<Seq> {
    match item {
        PromptItem::Text { sample, .. }
        | PromptItem::Refusal { sample, .. }
        | PromptItem::Reasoning { sample, .. }
        | PromptItem::Call { sample, .. } => Some(*sample),
        PromptItem::User { .. }
        | PromptItem::Image { .. }
        | PromptItem::Context { .. }
        | PromptItem::Result { .. } => None,
    }
}
