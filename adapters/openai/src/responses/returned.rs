//! Opaque items of an answer that go back to the server that made them. Pure.

use serde::Deserialize;
use serde_json::value::RawValue;
use windlass_core::LoweringReason;
use windlass_kit_http::json::BorrowedText;

/// Kinds of items that a server takes back: its own tools, with their results, and a conversation
/// that it compacted.
///
/// Absent are the kinds that wait for a result of the client (such as `computer_call`), since a
/// request without that result is refused. They stay in the log.
const HOSTED: &[&str] = &[
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_list_tools",
    "mcp_call",
    "compaction",
];

/// An item that goes back.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReturnedItem<'a> {
    /// Reasoning: refused without the item that the model gave after it.
    Reasoning(&'a str),
    /// An item of the provider's own, which may end a conversation.
    Hosted(&'a str),
}

/// The part of an item that tells whether it can go back.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ItemHead<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    encrypted_content: Option<&'a RawValue>,
    content: Option<Vec<serde::de::IgnoredAny>>,
}

/// A search of the web that the server ran.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SearchItem {
    r#type: String,
    action: SearchAction,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SearchAction {
    query: Option<String>,
    queries: Vec<String>,
}

/// Returns the queries of an item, none unless it is a search of the web.
pub(super) fn queries(payload: &str) -> Vec<String> {
    let item: SearchItem = serde_json::from_str(payload).unwrap_or_default();
    let SearchAction { query, queries } = item.action;
    match item.r#type.as_str() {
        "web_search_call" if queries.is_empty() => query.into_iter().collect(),
        "web_search_call" => queries,
        _ => Vec::new(),
    }
}

/// Returns an item of this server as it goes back.
///
/// # Errors
/// `Invalid` when it is incomplete, `Unsupported` when servers do not take its kind back.
pub(super) fn returned(payload: &str) -> Result<ReturnedItem<'_>, LoweringReason> {
    let head: ItemHead<'_> = serde_json::from_str(payload).map_err(|_| LoweringReason::Invalid)?;
    let kind = head.kind.as_ref().map_or("reasoning", |kind| &kind.0);
    if HOSTED.contains(&kind) {
        return Ok(ReturnedItem::Hosted(payload));
    }
    if kind != "reasoning" {
        return Err(LoweringReason::Unsupported);
    }
    // It must hold itself, since the server stores nothing.
    let encrypted = head.encrypted_content.is_some_and(|text| text.get() != "\"\"");
    match encrypted || head.content.is_some_and(|content| !content.is_empty()) {
        true => Ok(ReturnedItem::Reasoning(payload)),
        false => Err(LoweringReason::Invalid),
    }
}
