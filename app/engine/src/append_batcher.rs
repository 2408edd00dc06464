//! Parts: a log on its way into a store, cut into appends that every store takes.

use std::sync::Arc;

use windlass_core::RecordedFact;

/// The most facts of an append.
const FACTS: usize = 512;
/// The most bytes of its facts, in their text form, unless one fact has more: well below
/// [`windlass_ports::MAX_APPEND_BYTES`], so that little is held and little is repeated.
const BYTES: usize = 8 * 1024 * 1024;

/// Facts that are to be appended, in the order in which they stand in the log.
#[derive(Debug, Default)]
pub struct AppendBatcher {
    facts: Vec<Arc<RecordedFact>>,
    bytes: usize,
}

impl AppendBatcher {
    /// Takes the next fact, whose text form has this many bytes. Answers those before it, to be appended
    /// now, where they are as much as one append is to be, and nothing otherwise.
    #[must_use = "what it answers is to be appended"]
    pub fn push(&mut self, fact: Arc<RecordedFact>, bytes: usize) -> Vec<Arc<RecordedFact>> {
        let full = self.facts.len() >= FACTS || self.bytes.saturating_add(bytes) > BYTES;
        let cut = match full {
            true => self.finish(),
            false => Vec::new(),
        };
        self.bytes = self.bytes.saturating_add(bytes);
        self.facts.push(fact);
        cut
    }

    /// Those that are left; none where nothing is.
    #[must_use = "what it answers is to be appended"]
    pub fn finish(&mut self) -> Vec<Arc<RecordedFact>> {
        self.bytes = 0;
        core::mem::take(&mut self.facts)
    }
}
