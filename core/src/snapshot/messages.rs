//! Messages: the conversation that the model received in a cycle, as a delta or complete.

use serde::{Serialize, Serializer};

use crate::append_list::{AppendList, AppendListIter};
use crate::render::PromptItem;

/// A conversation, stored as its change since the session's previous snapshot. So the total size of
/// a session's snapshots is linear in its conversation, not quadratic.
///
/// The complete conversation is the first `same` items of the previous snapshot's conversation,
/// then `added`. `same` is 0 after a compaction, in a session's first snapshot, and in a
/// [complete](Self::complete) one. After a rewind the items of the previous one that stay count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CycleMessages {
    conversation: AppendList<PromptItem>,
    same: usize,
}

impl CycleMessages {
    /// Creates it from a conversation whose first `same` items are in the previous snapshot.
    pub(super) fn new(shown: AppendList<PromptItem>, same: usize) -> Self {
        Self { conversation: shown, same }
    }

    /// Returns the number of items that the model received.
    #[must_use]
    pub fn count(&self) -> usize {
        self.conversation.len()
    }

    /// Returns the number of first items that the previous snapshot also has.
    #[must_use]
    pub fn same(&self) -> usize {
        self.same
    }

    /// Returns the other items.
    #[must_use]
    pub fn added(&self) -> AppendListIter<'_, PromptItem> {
        self.conversation.iter_from(self.same)
    }

    /// Returns the same conversation without reference to the previous snapshot: `same` is 0, and
    /// all items are added.
    #[must_use]
    pub fn complete(self) -> Self {
        Self { same: 0, ..self }
    }
}

/// Serialises the added items only.
impl Serialize for CycleMessages {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct MessagesJson<'a> {
            count: usize,
            same: usize,
            added: Added<'a>,
        }
        struct Added<'a>(AppendListIter<'a, PromptItem>);
        impl Serialize for Added<'_> {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_seq(self.0.clone())
            }
        }
        let told =
            MessagesJson { count: self.count(), same: self.same, added: Added(self.added()) };
        told.serialize(to)
    }
}
