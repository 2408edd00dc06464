//! Messages: what the model was shown in a cycle, told by what is new in it, or as a whole.

use serde::{Serialize, Serializer};

use crate::append_list::{AppendList, AppendListIter};
use crate::render::PromptItem;

/// A conversation, told by what is new in it since the snapshot before, in the same session: so a
/// session's snapshots together are as long as its conversation, and not as long as its square.
///
/// The whole is the first `same` items of what the snapshot before was shown, and then `added`. After
/// a compaction `same` is 0, as in the first snapshot of a session, and in one that is told
/// [whole](Self::complete).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CycleMessages {
    conversation: AppendList<PromptItem>,
    same: usize,
}

impl CycleMessages {
    /// This conversation, of which so many items, from the first on, were told before.
    pub(super) fn new(shown: AppendList<PromptItem>, same: usize) -> Self {
        Self {
            conversation: shown,
            same,
        }
    }

    /// Returns the number of items that the model was shown.
    #[must_use]
    pub fn count(&self) -> usize {
        self.conversation.len()
    }

    /// Returns the number of its first items that the previous snapshot has too.
    #[must_use]
    pub fn same(&self) -> usize {
        self.same
    }

    /// Returns the other items.
    #[must_use]
    pub fn added(&self) -> AppendListIter<'_, PromptItem> {
        self.conversation.iter_from(self.same)
    }

    /// The same conversation, told without the snapshot before: `same` is 0, and all are added.
    #[must_use]
    pub fn complete(self) -> Self {
        Self { same: 0, ..self }
    }
}

/// With the items that are added, and not those that were told before.
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
        let told = MessagesJson {
            count: self.count(),
            same: self.same,
            added: Added(self.added()),
        };
        told.serialize(to)
    }
}
