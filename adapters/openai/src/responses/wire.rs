//! The events and items of a Responses stream, borrowed from the event. Unknown fields are
//! skipped without being built.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use windlass_kit_http::json::{BorrowedText, WireUsage, repair, repair_arguments, repair_usage};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponsesEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) delta: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) text: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) arguments: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) input: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) item_id: Option<BorrowedText<'a>>,
    pub(super) output_index: Option<u64>,
    pub(super) content_index: Option<u64>,
    pub(super) summary_index: Option<u64>,
    #[serde(borrow)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) response: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) annotation: Option<&'a RawValue>,
}

impl ResponsesEvent<'_> {
    /// Returns true if the event declares itself a delta of text: then every event of the same
    /// shape is one.
    pub(super) fn is_text(&self) -> bool {
        self.kind.as_ref().is_some_and(|kind| kind.0 == "response.output_text.delta")
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponseObject<'a> {
    #[serde(borrow)]
    pub(super) object: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) id: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) model: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) status: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) incomplete_details: Option<IncompleteDetails<'a>>,
    pub(super) usage: Option<WireUsage>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) output: Option<&'a RawValue>,
    /// False if the model has not ended its turn, although its response is complete.
    pub(super) end_turn: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct IncompleteDetails<'a> {
    #[serde(borrow)]
    pub(super) reason: Option<BorrowedText<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireItem<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) id: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) call_id: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) arguments: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) input: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) status: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) content: Option<Vec<WirePart<'a>>>,
    #[serde(borrow)]
    pub(super) summary: Option<Vec<WirePart<'a>>>,
}

impl WireItem<'_> {
    pub(super) fn kind(&self) -> ItemKind {
        ItemKind::of(self.kind.as_ref().map_or("", |kind| &kind.0))
    }

    /// Returns true for a call whose input is a text, and not JSON.
    pub(super) fn is_text_call(&self) -> bool {
        self.kind.as_ref().is_some_and(|kind| kind.0 == "custom_tool_call")
    }
}

/// Kind of item that an event belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// A message to the user.
    Message,
    /// An item of reasoning.
    Reasoning,
    /// A call that is ours to run.
    Call,
    /// Anything else, such as a tool that the provider runs itself: kept in the provider's form.
    Foreign,
}

impl ItemKind {
    pub(super) fn of(name: &str) -> Self {
        match name {
            "message" => Self::Message,
            "reasoning" => Self::Reasoning,
            "function_call" | "custom_tool_call" => Self::Call,
            _ => Self::Foreign,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WirePart<'a> {
    #[serde(borrow)]
    pub(super) text: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) annotations: Option<&'a RawValue>,
}

/// Rewrites an event whose fields are not of the documented types.
pub(super) fn repair_event(mut event: Value) -> Value {
    let texts = ["type", "delta", "text", "refusal", "arguments", "input", "item_id"];
    repair(&mut event, &texts, &["output_index", "content_index", "summary_index"]);
    event
}

/// The same for a response.
pub(super) fn repair_response(mut response: Value) -> Value {
    repair(&mut response, &["object", "id", "model", "status"], &[]);
    if let Some(end_turn) = response.get_mut("end_turn").filter(|value| !value.is_boolean()) {
        *end_turn = Value::Null;
    }
    if let Some(usage) = response.get_mut("usage") {
        repair_usage(usage);
    }
    if let Some(details) = response.get_mut("incomplete_details") {
        repair(details, &["reason"], &[]);
        if !details.is_object() {
            *details = Value::Null;
        }
    }
    response
}

/// The same for an item.
pub(super) fn repair_item(mut item: Value) -> Value {
    let texts = ["type", "id", "call_id", "name", "arguments", "input", "status"];
    repair_arguments(&mut item);
    repair(&mut item, &texts, &[]);
    for name in ["content", "summary"] {
        let Some(parts) = item.get_mut(name) else {
            continue;
        };
        match parts {
            Value::Array(list) => {
                for part in list {
                    if let Value::String(text) = part {
                        *part = serde_json::json!({ "text": text });
                    } else if !part.is_object() {
                        *part = serde_json::json!({});
                    }
                    repair(part, &["text", "refusal"], &[]);
                }
            }
            Value::String(text) => *parts = serde_json::json!([{ "text": text }]),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                *parts = Value::Null;
            }
        }
    }
    item
}
