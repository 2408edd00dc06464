//! Append batcher: splits a log into appends that every store accepts.

use std::sync::Arc;

use windlass_core::RecordedFact;

/// Most facts of one append.
const FACTS: usize = 512;
/// Most bytes of one append's facts, in text form, unless a single fact is larger. This is well
/// below [`windlass_ports::MAX_APPEND_BYTES`], so little is buffered and little is repeated.
const BYTES: usize = 8 * 1024 * 1024;

/// Facts to append, in log order.
#[derive(Debug, Default)]
pub struct AppendBatcher {
    facts: Vec<Arc<RecordedFact>>,
    bytes: usize,
}

impl AppendBatcher {
    /// Adds the next fact, whose text form has this many bytes. Returns the facts before it if they
    /// fill one append, and an empty list if not.
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

    /// Returns the remaining facts, which may be none.
    #[must_use = "what it answers is to be appended"]
    pub fn finish(&mut self) -> Vec<Arc<RecordedFact>> {
        self.bytes = 0;
        core::mem::take(&mut self.facts)
    }
}
