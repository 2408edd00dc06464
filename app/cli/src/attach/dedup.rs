//! Deduplication: a new stream repeats the text of the running answer, of which only the new part
//! is shown. Pure.

use std::collections::BTreeMap;

use windlass_engine::core::{Delta, RecordedFact, Seq, TimelineEntry};
use windlass_engine::{LiveEvent, LiveKind};

/// Shown part of the streaming answer.
#[derive(Debug, Default)]
pub(super) struct LiveDedup {
    /// Shown bytes of each part, by its run and slot.
    shown: BTreeMap<(Seq, u32), PartProgress>,
}

#[derive(Debug, Default)]
struct PartProgress {
    shown: usize,
    /// Bytes that this connection has received.
    received: usize,
}

impl LiveDedup {
    /// Handles a new connection, which repeats the text from its beginning.
    pub(super) fn reconnect(&mut self) {
        for part in self.shown.values_mut() {
            part.received = 0;
        }
    }

    /// Returns the new part of these events; `None` if there is none.
    pub(super) fn new_events(&mut self, all: &[LiveEvent]) -> Option<Vec<LiveEvent>> {
        let rest: Vec<LiveEvent> = all.iter().filter_map(|live| self.new_event(live)).collect();
        (!rest.is_empty()).then_some(rest)
    }

    fn new_event(&mut self, live: &LiveEvent) -> Option<LiveEvent> {
        let LiveKind::Delta { started, delta } = &live.kind else {
            return Some(live.clone());
        };
        let (slot, text) = match delta {
            Delta::Text { slot, text }
            | Delta::Refusal { slot, text }
            | Delta::Reasoning { slot, text }
            | Delta::Arguments { slot, text } => (*slot, text),
            // A name without text of its part.
            Delta::Call { .. } => return Some(live.clone()),
        };
        let part = self.shown.entry((*started, slot)).or_default();
        let from = part.shown.saturating_sub(part.received).min(text.len());
        part.received = part.received.saturating_add(text.len());
        part.shown = part.shown.max(part.received);
        let rest = text.get(from..)?;
        if rest.is_empty() {
            return None;
        }
        let mut live = live.clone();
        if let LiveKind::Delta { delta, .. } = &mut live.kind {
            match delta {
                Delta::Text { text, .. }
                | Delta::Refusal { text, .. }
                | Delta::Reasoning { text, .. }
                | Delta::Arguments { text, .. } => *text = rest.to_owned(),
                Delta::Call { .. } => {}
            }
        }
        Some(live)
    }

    /// Marks a sample's text as complete at its end.
    pub(super) fn on_fact(&mut self, fact: &RecordedFact) {
        if let Some(over) = TimelineEntry::of(fact).finished_run(fact.seq) {
            self.shown.retain(|(started, _), _| *started > over);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use windlass_engine::core::{SessionId, Timestamp, TurnId};

    use super::*;

    fn delta(text: &str) -> Vec<LiveEvent> {
        let kind = LiveKind::Delta {
            started: Seq(2),
            delta: Delta::Text { slot: 0, text: text.to_owned() },
        };
        vec![LiveEvent {
            session: SessionId::new("s").unwrap(),
            turn: TurnId(1),
            ts: Timestamp(1),
            kind,
        }]
    }

    fn text(all: Option<Vec<LiveEvent>>) -> String {
        let texts = all.iter().flat_map(|all| all.iter()).map(|live| {
            let LiveKind::Delta { delta: Delta::Text { text, .. }, .. } = &live.kind else {
                panic!("{live:?}");
            };
            text.clone()
        });
        texts.collect()
    }

    proptest! {
        /// Each character is shown once and in order, for any number of interruptions.
        #[test]
        fn each_character_is_shown_once(
            parts in prop::collection::vec("[a-z\u{e9}\u{1f980}]{1,5}", 1..12),
            breaks in prop::collection::vec(any::<bool>(), 12),
        ) {
            let mut joined = LiveDedup::default();
            let (mut said, mut shown) = (String::new(), String::new());
            for (part, breaks) in parts.iter().zip(breaks) {
                if breaks {
                    joined.reconnect();
                    // Text streamed during an interruption is repeated with the earlier text.
                    said.push_str(part);
                    shown.push_str(&text(joined.new_events(&delta(&said))));
                } else {
                    said.push_str(part);
                    shown.push_str(&text(joined.new_events(&delta(part))));
                }
            }
            prop_assert_eq!(shown, said);
        }
    }
}
