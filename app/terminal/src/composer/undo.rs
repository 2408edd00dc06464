//! Undo: edits in the order of their making, in groups.

use std::collections::VecDeque;

/// Most groups that are kept.
const GROUPS: usize = 1_000;
/// Most bytes of text that are kept.
const BYTES: usize = 4 * 1024 * 1024;

/// Kind of an edit. Edits of one kind after each other form a group, but for `Other`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EditKind {
    /// A character was typed.
    Type,
    /// A character was deleted.
    Delete,
    /// Everything else.
    Other,
}

/// A replacement of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    /// Byte position.
    pub(crate) at: usize,
    /// Text that was there.
    pub(crate) removed: String,
    /// Text that is there now.
    pub(crate) inserted: String,
    /// Byte position of the cursor before.
    pub(crate) cursor: usize,
}

impl Edit {
    /// Merges an edit that continues this one. Returns false if it does not.
    fn merge(&mut self, next: &Edit) -> bool {
        let typed = next.removed.is_empty() && next.at == self.at + self.inserted.len();
        if typed {
            self.inserted.push_str(&next.inserted);
            return true;
        }
        let deletes = next.inserted.is_empty() && self.inserted.is_empty();
        if deletes && next.at + next.removed.len() == self.at {
            self.removed.insert_str(0, &next.removed);
            self.at = next.at;
            return true;
        }
        if deletes && next.at == self.at {
            self.removed.push_str(&next.removed);
        }
        deletes && next.at == self.at
    }
}

/// Edits that can be undone. The oldest are forgotten beyond 1,000 groups or 4 MiB.
#[derive(Debug, Clone, Default)]
pub(crate) struct Undo {
    edits: VecDeque<Edit>,
    bytes: usize,
    open: Option<EditKind>,
}

impl Undo {
    /// Adds an edit.
    pub(crate) fn push(&mut self, edit: Edit, kind: EditKind) {
        self.bytes += edit.removed.len() + edit.inserted.len();
        let continues = kind != EditKind::Other && self.open == Some(kind);
        let word = edit.inserted.starts_with([' ', '\n', '\t']);
        self.open = (kind != EditKind::Other && !word).then_some(kind);
        let last = self.edits.back_mut().filter(|_| continues);
        if !last.is_some_and(|last| last.merge(&edit)) {
            self.edits.push_back(edit);
        }
        while self.edits.len() > GROUPS || (self.bytes > BYTES && self.edits.len() > 1) {
            self.pop(VecDeque::pop_front);
        }
    }

    /// Ends the group: the next edit starts another.
    pub(crate) fn close(&mut self) {
        self.open = None;
    }

    /// Takes the last group.
    pub(crate) fn take(&mut self) -> Option<Edit> {
        self.open = None;
        self.pop(VecDeque::pop_back)
    }

    fn pop(&mut self, side: impl Fn(&mut VecDeque<Edit>) -> Option<Edit>) -> Option<Edit> {
        let edit = side(&mut self.edits)?;
        self.bytes -= edit.removed.len() + edit.inserted.len();
        Some(edit)
    }
}
