//! Capacity: limits inputs and answers so that each of their facts fits into the store.
//!
//! A fact that the store rejects ends its driver, and the same answer may come again after the next
//! start. So sizes are limited before anything becomes a fact.

use windlass_core::{AssemblerLimits, Observation};
use windlass_ports::StoreCapabilities;

/// Bytes reserved for a fact's envelope and its small fields, in text form.
const ENVELOPE: usize = 4_096;
/// Most bytes of JSON that one byte of text can become.
const ESCAPED: usize = 6;

/// Capacity of one fact.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FactCapacity {
    /// Bytes of a fact's text form, without its envelope.
    bytes: usize,
}

impl FactCapacity {
    /// Returns the capacity of this store's facts.
    pub(crate) fn of(store: StoreCapabilities) -> Self {
        Self { bytes: store.max_fact_bytes.saturating_sub(ENVELOPE) }
    }

    /// Returns true if this many bytes of JSON fit.
    pub(crate) fn holds(self, bytes: usize) -> bool {
        bytes <= self.bytes
    }

    /// Returns true if these texts fit with any content. They are measured only if they might not
    /// fit.
    pub(crate) fn fits(self, texts: &[&str]) -> bool {
        let sum = |length: fn(&str) -> usize| {
            let lengths = texts.iter().map(|text| length(text));
            lengths.fold(0_usize, usize::saturating_add)
        };
        self.holds(sum(str::len).saturating_mul(ESCAPED)) || self.holds(sum(escaped))
    }

    /// Returns the number of bytes of text that fit with any content.
    pub(crate) fn max_text(self) -> usize {
        self.bytes / ESCAPED
    }

    /// Returns the limits, reduced if an answer of that size might not fit.
    pub(crate) fn limit_caps(self, caps: AssemblerLimits) -> AssemblerLimits {
        AssemblerLimits { bytes: caps.bytes.min(self.max_text()), ..caps }
    }

    /// Returns the observation, without the middle of its output if it does not fit.
    pub(crate) fn shorten(self, mut observation: Observation) -> Observation {
        if self.fits(&[&observation.output]) {
            return observation;
        }
        let output = &observation.output;
        // Leaves room for the text between the halves.
        let (words, left_out) = head_and_tail(output, self.max_text().saturating_sub(200));
        observation.omitted_bytes = observation.omitted_bytes.saturating_add(left_out as u64);
        observation.output = words;
        observation
    }
}

/// Returns the bytes of a text as JSON.
fn escaped(text: &str) -> usize {
    serde_json::to_string(text).map_or(usize::MAX, |json| json.len())
}

/// Returns a text without its middle if it has more bytes than this.
pub(crate) fn shorten_text(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    head_and_tail(text, bytes).0
}

/// Returns the beginning and the end of a text, of this many bytes together, and the number of bytes
/// between them.
fn head_and_tail(text: &str, bytes: usize) -> (String, usize) {
    let half = bytes / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len().saturating_sub(half).max(head));
    let (head, tail) = (text.get(..head), text.get(tail..));
    let (head, tail) = (head.unwrap_or_default(), tail.unwrap_or_default());
    let left_out = text.len().saturating_sub(head.len() + tail.len());
    (format!("{head}\n[{left_out} bytes are left out here]\n{tail}"), left_out)
}

/// Cuts a text to at most this many bytes.
pub(crate) fn cut(text: &mut String, bytes: usize) {
    text.truncate(text.floor_char_boundary(bytes));
}

#[cfg(test)]
mod tests {
    use windlass_core::ObservationStatus;
    use windlass_ports::{Durability, Fencing};

    use super::*;

    fn size(max_fact_bytes: usize) -> FactCapacity {
        FactCapacity::of(StoreCapabilities {
            durability: Durability::Memory,
            max_fact_bytes,
            fencing: Fencing::Object,
            tail_delay_ms: None,
            erase: false,
            retention_ms: None,
            max_checkpoint_bytes: None,
        })
    }

    #[test]
    fn measures_what_a_text_becomes() {
        let size = size(ENVELOPE + 6_000);
        assert!(size.fits(&[&"x".repeat(5_900)]));
        assert!(!size.fits(&[&"x".repeat(5_999), "y"]));
        assert!(!size.fits(&[&"\u{1}".repeat(1_001)]));
        assert_eq!(size.limit_caps(AssemblerLimits::default()).bytes, 1_000);
    }

    #[test]
    fn an_output_beyond_all_measure_keeps_its_head_and_its_tail() {
        let size = size(100_000);
        let output = format!("head{}tail", "\u{1}ü".repeat(50_000));
        let whole = Observation::new(ObservationStatus::Done, output.clone());
        let kept = size.shorten(whole);
        assert!(size.fits(&[&kept.output]));
        assert!(kept.output.starts_with("head\u{1}ü") && kept.output.ends_with("ütail"));
        assert_eq!(kept.output_bytes, output.len() as u64);
        let shown = kept.output_bytes - kept.omitted_bytes;
        assert!(shown > 15_000 && shown < kept.output.len() as u64);
        let small = Observation::new(ObservationStatus::Done, "as it is");
        assert_eq!(size.shorten(small.clone()), small);
    }
}
