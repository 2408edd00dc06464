//! Ids and arguments made fit for this protocol, and which reasoning is.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use windlass_core::{CallItem, Digest};

/// The longest call id that is sent.
const MOST_CHARS: usize = 64;

/// A call's id as it is sent: letters, digits, `_` and `-`. Another is replaced by its digest, so
/// that a call and its result still share it.
pub(super) fn call_id(id: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !id.is_empty() && id.len() <= MOST_CHARS && id.chars().all(fits) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(format!("call_{}", Digest::EMPTY.part(id.as_bytes())))
}

/// A call's arguments as they are sent back, which must be an object.
///
/// # Errors
/// What is none, wrapped into one: the model still sees what it wrote.
pub(super) fn input(call: &CallItem) -> Result<Box<RawValue>, Value> {
    // Read whole, since half of a surrogate pair passes for JSON until it is read.
    let object = serde_json::from_str::<Map<String, Value>>(&call.arguments);
    object
        .and_then(|_| RawValue::from_string(call.arguments.trim().to_owned()))
        .map_err(|_| serde_json::json!({ "not_a_json_object": call.arguments }))
}

/// Returns true if a reasoning block is self-contained: it carries its signature, or content that
/// only the provider can read. So is a search of the server.
pub(super) fn is_whole(payload: &str) -> bool {
    match serde_json::from_str(payload) {
        Ok(ReasoningPayload::Thinking { signature }) => !signature.is_empty(),
        Ok(ReasoningPayload::RedactedThinking { data }) => !data.is_empty(),
        Ok(ReasoningPayload::ServerToolUse {} | ReasoningPayload::WebSearchToolResult {}) => true,
        Err(_) => false,
    }
}

/// Reason to send a reasoning block back.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ReasoningPayload {
    Thinking { signature: String },
    RedactedThinking { data: String },
    ServerToolUse {},
    WebSearchToolResult {},
}
