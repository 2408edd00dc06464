//! Changes: the calls of a program that change something and are over.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::compaction::Part;
use crate::context;
use crate::id::CallId;
use crate::program::{Fate, Telling, leave_out};
use crate::session::is_zero;

/// The calls of a program that change something and are over, as far as they are named to the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// Those that are named, in their order.
    pub calls: Vec<Change>,
    /// How many more there are, in the middle of these.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
}

/// A call of a program that changes something and is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The call.
    pub call: CallId,
    /// How it is named, in numbers.
    pub line: Part,
    /// What became of it.
    pub fate: Fate,
}

impl Changes {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// One more is over. The order in which they end does not show.
    pub(crate) fn add(&mut self, change: Change) {
        let at = self.calls.partition_point(|one| one.call < change.call);
        self.calls.insert(at, change);
        leave_out(&mut self.calls, &mut self.more);
    }

    /// Which of them the model is told of; `None` where there are none.
    #[must_use]
    pub fn telling(&self) -> Option<Telling> {
        (!self.is_empty()).then(|| Telling {
            calls: self.calls.iter().map(|one| one.call).collect(),
            more: self.more,
        })
    }

    /// What it is told of them, in numbers.
    pub(crate) fn told(&self) -> Part {
        let named = self.calls.iter().map(|one| (one.line, one.fate));
        context::told(named, self.more)
    }
}
