//! Compaction: its configuration, and its effect on the conversation.

use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::id::Seq;
use crate::scope::Scope;

/// The model's window, and the strategy for a request that would not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextWindow {
    /// Tokens that a request and its answer may have together. 0 means unknown: the conversation is
    /// then compacted only when the provider rejects it.
    pub tokens: u64,
    /// Strategy of compaction.
    pub strategy: CompactionStrategy,
}

impl Default for ContextWindow {
    fn default() -> Self {
        Self { tokens: 0, strategy: CompactionStrategy::Clear }
    }
}

/// Strategy of compaction. Each starts with the mildest sufficient step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionStrategy {
    /// Clears old tool results. If that is not enough, drops the oldest parts.
    Clear,
    /// Drops the oldest parts.
    Slide,
    /// Drops the oldest parts and inserts a summary by the model. If the model returns no usable
    /// one, inserts a plain list of the dropped parts.
    Summary,
}

/// A user's request to compact the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactionRequest {
    /// Position of the `CompactionRequested`.
    pub requested: Seq,
    /// Scope of the caller.
    pub scope: Arc<Scope>,
    /// True if a turn was open: then a hold applies to the request as to an input.
    pub waits: bool,
    /// Topic that the summary should cover most, in the user's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<Arc<str>>,
}

/// Effect of one compaction on the conversation, item by item: enough to repeat it from the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CutPoint {
    /// Results before this item are cleared if they are long.
    pub clear_before: u64,
    /// Items before this one are dropped unless they are pinned.
    pub drop_before: u64,
    /// Text in place of the dropped items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Arc<str>>,
    /// Form of the results that stay and of the text in place of cleared ones. `None` in logs of
    /// engines that cut no result: it stays whole or is cleared, with a shorter text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<ResultForm>,
    /// True if reports on inline programs are treated as results. Earlier engines left them whole.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub reports: bool,
}

/// Form of shown results: a result that is too long shows its head, its tail and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultForm {
    /// Most bytes of one result, with the note on the omitted part. 0 means no limit. At least
    /// [`MIN_RESULT_BYTES`] are shown.
    pub max_bytes: u64,
    /// Most bytes that the window leaves for one result; 0 if the window is unknown. The note names
    /// it, so that a model asks for no more at once.
    pub at_once: u64,
    /// True if the model may call [`READ_OUTPUT_TOOL`](crate::READ_OUTPUT_TOOL), which the note
    /// names then.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub readable: bool,
}

/// Fewest bytes that a cut result shows.
pub const MIN_RESULT_BYTES: u64 = 320;

/// Size and digest of the visible conversation, without its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VisiblePart {
    /// Digest of its items.
    pub digest: Digest,
    /// Bytes of their texts.
    pub bytes: u64,
    /// Number of items.
    pub items: u64,
}

impl VisiblePart {
    /// Value of an empty conversation.
    pub const EMPTY: Self = Self { digest: Digest::EMPTY, bytes: 0, items: 0 };

    /// Returns the value with one more item.
    #[must_use]
    pub(crate) fn with(self, part: ItemFingerprint) -> Self {
        Self {
            digest: self.digest.digest(part.digest),
            bytes: self.bytes.saturating_add(part.bytes),
            items: self.items.saturating_add(1),
        }
    }
}

/// Digest and size of one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ItemFingerprint {
    /// Digest of the item.
    pub digest: Digest,
    /// Bytes of its text.
    pub bytes: u64,
}
