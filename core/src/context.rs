//! Digests of what the model may see, part by part.

use crate::call::Observation;
use crate::digest::Digest;
use crate::item::Item;
use crate::render::PromptItem;

/// Digest of a user's text.
pub(crate) fn user(text: &str) -> Digest {
    Digest::EMPTY.part(b"user").part(text.as_bytes())
}

/// Digest of an item of an answer.
pub(crate) fn item(item: &Item) -> Digest {
    match item {
        Item::Text { text } => Digest::EMPTY.part(b"text").part(text.as_bytes()),
        Item::Refusal { text } => Digest::EMPTY.part(b"refusal").part(text.as_bytes()),
        Item::Reasoning(item) => {
            let opaque = item
                .opaque
                .as_ref()
                .map_or("", |opaque| opaque.payload.as_str());
            let readable = Digest::EMPTY.part(b"reasoning").part(item.text.as_bytes());
            readable.part(opaque.as_bytes())
        }
        Item::Call(call) => Digest::EMPTY
            .part(b"call")
            .part(call.name.as_bytes())
            .part(call.arguments.as_bytes()),
    }
}

/// Digest of an observation.
pub(crate) fn observation(observation: &Observation) -> Digest {
    Digest::EMPTY
        .part(b"result")
        .part(observation.output.as_bytes())
}

/// Digest of one item of a prompt: the same as of the facts that it comes from.
pub(crate) fn prompt_item(part: &PromptItem) -> Digest {
    match part {
        PromptItem::User { text } => user(text),
        PromptItem::Text { text, .. } => item(&Item::Text { text: text.clone() }),
        PromptItem::Refusal { text, .. } => item(&Item::Refusal { text: text.clone() }),
        PromptItem::Reasoning { item: inner, .. } => item(&Item::Reasoning(inner.clone())),
        PromptItem::Call { call, .. } => item(&Item::Call(call.clone())),
        PromptItem::Result {
            observation: inner, ..
        } => observation(inner),
    }
}
