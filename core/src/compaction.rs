//! Compaction: what is declared of it, and what one does to the conversation.

use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// The model's window, and what to do when a request would not fit into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextWindow {
    /// Tokens that a request and its answer may have together; 0 means that nobody knows, and
    /// that a conversation is compacted only when the provider refuses it.
    pub tokens: u64,
    /// Strategy of compaction.
    pub strategy: CompactionStrategy,
}

impl Default for ContextWindow {
    fn default() -> Self {
        Self {
            tokens: 0,
            strategy: CompactionStrategy::Clear,
        }
    }
}

/// Strategy of compaction. Each starts with the mildest sufficient step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionStrategy {
    /// Old results of tools are cleared; where that is not enough, the oldest parts are left out.
    Clear,
    /// The oldest parts are left out.
    Slide,
    /// The oldest parts are left out, and a summary by the model takes their place. If the model
    /// gives no usable one, a plain list of what was left out does.
    Summary,
}

/// Effect of one compaction on the conversation, item by item: enough to repeat it from the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CutPoint {
    /// Results before this item are cleared, if they are long.
    pub clear_before: u64,
    /// Items before this one are left out, unless they are pinned.
    pub drop_before: u64,
    /// Text in place of the dropped items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Arc<str>>,
}

/// A conversation in numbers: what is shown, without the words.
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
    /// Of an empty conversation.
    pub const EMPTY: Self = Self {
        digest: Digest::EMPTY,
        bytes: 0,
        items: 0,
    };

    /// With one more item.
    #[must_use]
    pub(crate) fn with(self, part: ItemFingerprint) -> Self {
        Self {
            digest: self.digest.digest(part.digest),
            bytes: self.bytes.saturating_add(part.bytes),
            items: self.items.saturating_add(1),
        }
    }
}

/// One item in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ItemFingerprint {
    /// Digest of the item.
    pub digest: Digest,
    /// Bytes of its text.
    pub bytes: u64,
}
