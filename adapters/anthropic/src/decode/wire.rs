//! The events of a Messages stream, borrowed from the event. Unknown fields are skipped without
//! being built.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use windlass_core::Usage;
use windlass_kit_http::json::{BorrowedText, repair};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<BorrowedText<'a>>,
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) message: Option<WireMessage<'a>>,
    #[serde(borrow)]
    pub(super) content_block: Option<WireBlock<'a>>,
    #[serde(borrow)]
    pub(super) delta: Option<WireDelta<'a>>,
    pub(super) usage: Option<WireUsage>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireMessage<'a> {
    #[serde(borrow)]
    pub(super) id: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) model: Option<BorrowedText<'a>>,
    pub(super) usage: Option<WireUsage>,
}

/// A whole message, as a server answers that does not stream, without its content.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WholeMessage<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    role: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) id: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) model: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<BorrowedText<'a>>,
    pub(super) usage: Option<WireUsage>,
}

impl WholeMessage<'_> {
    /// Returns true if the object declares itself a message.
    pub(super) fn is_message(&self) -> bool {
        let is = |text: &Option<BorrowedText<'_>>, word| text.as_ref().is_some_and(|t| t.0 == word);
        is(&self.kind, "message") || is(&self.role, "assistant")
    }
}

/// Content of a whole message, as it was sent: arguments of a call are never rewritten.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WholeContent<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

impl<'a> WholeContent<'a> {
    /// Returns its blocks as JSON texts, or `None` if it has none. A text in place of blocks is
    /// one block.
    pub(super) fn blocks(&self) -> Option<Vec<Cow<'a, str>>> {
        let content = self.content?.get();
        if content.starts_with('"') {
            return Some(vec![Cow::Owned(format!(r#"{{"type":"text","text":{content}}}"#))]);
        }
        let blocks: Vec<&RawValue> = serde_json::from_str(content).ok()?;
        Some(blocks.into_iter().map(|block| Cow::Borrowed(block.get())).collect())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireBlock<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) id: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) text: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) data: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) citations: Option<&'a RawValue>,
}

/// Increment of a block, or, in a `message_delta`, the stop reason.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireDelta<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) text: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) partial_json: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) citation: Option<&'a RawValue>,
}

/// Token usage, as far as it has been told: each number stands until another is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct OutputDetails {
    thinking_tokens: Option<u64>,
}

impl WireUsage {
    /// Takes what a later event says.
    pub(super) fn merge(&mut self, later: Self) {
        let Self {
            input_tokens,
            output_tokens,
            cache_read_input_tokens,
            cache_creation_input_tokens,
            output_tokens_details,
        } = later;
        self.input_tokens = input_tokens.or(self.input_tokens);
        self.output_tokens = output_tokens.or(self.output_tokens);
        self.cache_read_input_tokens = cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.cache_creation_input_tokens =
            cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.output_tokens_details = output_tokens_details.or(self.output_tokens_details);
    }

    /// The usage in common terms; `None` while nothing is told. On this wire `input_tokens` are
    /// only those that the cache had no part in; here `input` is all of the request.
    pub(super) fn to_usage(self) -> Option<Usage> {
        if self == Self::default() {
            return None;
        }
        let (cached, written) = (self.cache_read_input_tokens, self.cache_creation_input_tokens);
        let all = |plain: u64| {
            plain.saturating_add(cached.unwrap_or(0)).saturating_add(written.unwrap_or(0))
        };
        Some(Usage {
            input: self.input_tokens.map(all),
            output: self.output_tokens,
            total: None,
            cached_input: cached,
            cache_write: written,
            reasoning_output: self
                .output_tokens_details
                .and_then(|details| details.thinking_tokens),
        })
    }
}

/// Rewrites an event whose fields are not of the documented types, as far as its meaning is clear.
pub(super) fn repair_event(mut event: Value) -> Value {
    repair(&mut event, &["type"], &["index"]);
    object(&mut event, "message", |message| {
        repair(message, &["id", "model"], &[]);
        object(message, "usage", repair_usage_fields);
    });
    object(&mut event, "content_block", repair_block_fields);
    object(&mut event, "delta", |delta| {
        if let Some(json) = delta.get_mut("partial_json")
            && json.is_object()
        {
            *json = Value::String(json.to_string());
        }
        let texts = ["type", "text", "thinking", "signature", "partial_json", "stop_reason"];
        repair(delta, &texts, &[]);
    });
    object(&mut event, "usage", repair_usage_fields);
    event
}

/// As [`repair_event`], for a whole message.
pub(super) fn repair_whole(mut message: Value) -> Value {
    repair(&mut message, &["type", "role", "id", "model", "stop_reason"], &[]);
    object(&mut message, "usage", repair_usage_fields);
    message
}

/// As [`repair_event`], for a block of a whole message.
pub(super) fn repair_block(mut block: Value) -> Value {
    if !block.is_object() {
        return Value::Object(serde_json::Map::new());
    }
    repair_block_fields(&mut block);
    block
}

fn repair_block_fields(block: &mut Value) {
    let texts = ["type", "id", "name", "text", "thinking", "signature", "data"];
    repair(block, &texts, &[]);
}

fn repair_usage_fields(usage: &mut Value) {
    let counts =
        ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
    repair(usage, &[], &counts);
    object(usage, "output_tokens_details", |details| {
        repair(details, &[], &["thinking_tokens"]);
    });
}

/// Mends a field that is to be an object; whatever else it is, is dropped.
fn object(of: &mut Value, name: &str, mender: impl FnOnce(&mut Value)) {
    if let Some(field) = of.get_mut(name) {
        if field.is_object() {
            mender(field);
        } else {
            *field = Value::Null;
        }
    }
}
