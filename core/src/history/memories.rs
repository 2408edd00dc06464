//! Memories that programs leave for later ones. Earlier ones stay for rewinds, up to a size.

use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::id::Seq;
use crate::rewind::MAX_MEMORY_BYTES;

/// Memories, each with the position of the program that left it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Memories(Vec<Memory>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    at: Seq,
    text: Arc<str>,
    /// Bytes of the memories since the first point of a rewind, with this one.
    bytes: u64,
}

impl Memories {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the memory that the next program finds.
    pub(super) fn latest(&self) -> Option<&Arc<str>> {
        self.0.last().map(|memory| &memory.text)
    }

    /// Returns the bytes of each memory.
    pub(super) fn sizes(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|memory| memory.text.len())
    }

    /// Adds a memory. If there are too many bytes of them, only this one stays.
    pub(super) fn push(&mut self, at: Seq, text: Arc<str>) {
        let before = self.0.last().map_or(0, |memory| memory.bytes);
        let bytes = before.saturating_add(text.len() as u64);
        self.0.push(Memory { at, text, bytes });
        if bytes > MAX_MEMORY_BYTES {
            self.forget_earlier();
        }
    }

    /// Drops all memories but the latest: no rewind returns to them.
    pub(super) fn forget_earlier(&mut self) {
        let latest = self.0.pop();
        self.0.clear();
        self.0.extend(latest.map(|memory| Memory { bytes: 0, ..memory }));
    }

    /// Drops the memories after a position.
    pub(super) fn rewind(&mut self, to: Seq) {
        self.0.retain(|memory| memory.at <= to);
    }
}
