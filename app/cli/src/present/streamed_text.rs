//! Streamed text: the text of a running answer, of which a terminal shows each character once. Pure.

use windlass_engine::core::Seq;

/// Shown text of the parts of the running answer whose items were not received.
#[derive(Debug, Default)]
pub(crate) struct StreamedText {
    /// Run of the parts.
    run: Option<Seq>,
    parts: Vec<ShownPart>,
}

#[derive(Debug)]
struct ShownPart {
    slot: u32,
    shown: String,
    /// Bytes that were received since the last lag.
    received: usize,
}

impl StreamedText {
    /// Adds a delta of a part. Returns the end of it that was not shown.
    pub(crate) fn on_delta<'a>(&mut self, started: Seq, slot: u32, text: &'a str) -> &'a str {
        self.switch_run(started);
        let at = self.parts.iter().position(|part| part.slot == slot).unwrap_or_else(|| {
            self.parts.push(ShownPart { slot, shown: String::new(), received: 0 });
            self.parts.len().saturating_sub(1)
        });
        let Some(part) = self.parts.get_mut(at) else {
            return text;
        };
        let known = part.shown.len().saturating_sub(part.received).min(text.len());
        part.received = part.received.saturating_add(text.len());
        let rest = text.get(known..).unwrap_or_default();
        part.shown.push_str(rest);
        rest
    }

    /// Handles a lag: the next deltas of a part begin with its whole text.
    pub(crate) fn on_lagged(&mut self) {
        for part in &mut self.parts {
            part.received = 0;
        }
    }

    /// Completes the part of an item. Returns the end of the item that was not shown; nothing if
    /// the item differs from the shown text.
    pub(crate) fn on_item<'a>(&mut self, started: Seq, text: &'a str) -> &'a str {
        self.switch_run(started);
        let begins = |part: &&ShownPart| text.starts_with(&part.shown);
        let longest = self.parts.iter().filter(begins).max_by_key(|part| part.shown.len());
        let Some((slot, known)) = longest.map(|part| (part.slot, part.shown.len())) else {
            return if self.parts.is_empty() { text } else { "" };
        };
        self.parts.retain(|part| part.slot != slot);
        text.get(known..).unwrap_or_default()
    }

    fn switch_run(&mut self, started: Seq) {
        if self.run != Some(started) {
            (self.run, self.parts) = (Some(started), Vec::new());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Each character is shown once and in order, for any number of lags, and however much of
        /// the text only its item has.
        #[test]
        fn each_character_is_shown_once(
            pieces in prop::collection::vec("[a-z\u{e9}\u{1f980}]{1,5}", 1..12),
            lags in prop::collection::vec(any::<bool>(), 12),
            heard in 0..12_usize,
        ) {
            let (mut said, mut shown) = (String::new(), String::new());
            let mut streamed = StreamedText::default();
            for (piece, lags) in pieces.iter().zip(lags).take(heard) {
                said.push_str(piece);
                let new = match lags {
                    true => {
                        streamed.on_lagged();
                        streamed.on_delta(Seq(2), 0, &said)
                    }
                    false => streamed.on_delta(Seq(2), 0, piece),
                };
                shown.push_str(new);
            }
            let whole = pieces.concat();
            shown.push_str(streamed.on_item(Seq(2), &whole));
            prop_assert_eq!(&shown, &whole);
            prop_assert_eq!(streamed.on_item(Seq(2), "more"), "more");
        }
    }

    #[test]
    fn an_item_that_differs_from_what_was_shown_is_left_to_the_answer() {
        let mut streamed = StreamedText::default();
        assert_eq!(streamed.on_delta(Seq(2), 0, "one"), "one");
        assert_eq!(streamed.on_item(Seq(2), "two"), "");
        assert_eq!(streamed.on_item(Seq(5), "two"), "two");
    }
}
