//! The messages of a request, as they are written.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

#[derive(Serialize)]
pub(super) struct TextMessage<'a> {
    pub(super) role: &'static str,
    pub(super) content: &'a str,
}

#[derive(Serialize)]
pub(super) struct AssistantMessage<'a> {
    pub(super) role: &'static str,
    pub(super) content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) reasoning_details: &'a [&'a RawValue],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) tool_calls: &'a [AssistantCall<'a>],
}

#[derive(Serialize)]
pub(super) struct AssistantCall<'a> {
    pub(super) id: Cow<'a, str>,
    pub(super) r#type: &'static str,
    pub(super) function: FunctionCall<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extra_content: Option<&'a RawValue>,
}

#[derive(Serialize)]
pub(super) struct FunctionCall<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) arguments: Cow<'a, str>,
}

#[derive(Serialize)]
pub(super) struct ToolMessage<'a> {
    pub(super) role: &'static str,
    pub(super) tool_call_id: Cow<'a, str>,
    pub(super) content: Cow<'a, str>,
}

#[derive(Serialize)]
pub(super) struct ContentMessage<'a> {
    pub(super) role: &'static str,
    pub(super) content: Vec<ChatContentPart<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ChatContentPart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
pub(super) struct ImageUrl {
    pub(super) url: String,
}
