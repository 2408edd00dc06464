//! Searches that the server ran: which of their blocks go back. A search without its results is
//! refused, as are results without their search. Pure.

use std::borrow::Cow;

use serde::Deserialize;
use windlass_core::{AppendList, PromptItem};

use crate::DIALECT;

/// A block of the server's own, by the id of its search.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HostedBlock<'a> {
    Search(Cow<'a, str>),
    Results(Cow<'a, str>),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum HostedPayload<'a> {
    ServerToolUse {
        #[serde(borrow)]
        id: Cow<'a, str>,
    },
    WebSearchToolResult {
        #[serde(borrow)]
        tool_use_id: Cow<'a, str>,
    },
}

/// Reads a payload; `None` for thinking.
pub(super) fn hosted(payload: &str) -> Option<HostedBlock<'_>> {
    match serde_json::from_str(payload).ok()? {
        HostedPayload::ServerToolUse { id } => Some(HostedBlock::Search(id)),
        HostedPayload::WebSearchToolResult { tool_use_id } => {
            Some(HostedBlock::Results(tool_use_id))
        }
    }
}

/// Returns true if the block of item `at` goes back. A search without results does while the model has
/// not ended its answer: at the end of the conversation, where the server paused, and before the
/// results of other calls, for which it waits.
pub(super) fn goes_back(
    items: &AppendList<PromptItem>,
    at: usize,
    block: &HostedBlock<'_>,
) -> bool {
    match block {
        HostedBlock::Results(id) => {
            items.iter().take(at).any(|item| is(item, &HostedBlock::Search(id.clone())))
        }
        HostedBlock::Search(id) => {
            let results = HostedBlock::Results(id.clone());
            for item in items.iter_from(at + 1) {
                match item {
                    PromptItem::Reasoning { .. } if is(item, &results) => return true,
                    PromptItem::Text { .. }
                    | PromptItem::Refusal { .. }
                    | PromptItem::Reasoning { .. }
                    | PromptItem::Call { .. } => {}
                    PromptItem::Result { .. } => return true,
                    PromptItem::User { .. }
                    | PromptItem::Image { .. }
                    | PromptItem::Context { .. }
                    | PromptItem::CallReport { .. }
                    | PromptItem::ProgramReport { .. } => return false,
                }
            }
            true
        }
    }
}

/// Excludes payloads without reading them: the type of a search comes first, since it is written here.
fn may_be(payload: &str, block: &HostedBlock<'_>) -> bool {
    match block {
        HostedBlock::Search(_) => payload.starts_with(r#"{"type":"server_tool_use""#),
        HostedBlock::Results(_) => true,
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "every other item holds no block")]
fn is(item: &PromptItem, block: &HostedBlock<'_>) -> bool {
    match item {
        PromptItem::Reasoning { item, .. } => item
            .opaque
            .as_ref()
            .filter(|opaque| opaque.provider == DIALECT && may_be(&opaque.payload, block))
            .is_some_and(|opaque| hosted(&opaque.payload).as_ref() == Some(block)),
        _ => false,
    }
}
