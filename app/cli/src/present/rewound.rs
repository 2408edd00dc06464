//! Rewound facts: those that a later rewind took out of the conversation.

use std::collections::BTreeMap;

use windlass_engine::core::{InputEntry, InputId, RecordedFact, Seq, SessionEntry, TimelineEntry};

/// Facts that are not part of the conversation any more. They stay in the log.
#[derive(Debug, Default)]
pub(crate) struct RewoundFacts {
    /// Positions between a point and the rewind to it, without both.
    ranges: Vec<(Seq, Seq)>,
    /// Inputs of turns, with the positions at which they were accepted.
    accepted: BTreeMap<InputId, Seq>,
}

impl RewoundFacts {
    /// Reads a fact of the log.
    pub(crate) fn read(&mut self, recorded: &RecordedFact) {
        match TimelineEntry::of(recorded) {
            TimelineEntry::Session(SessionEntry::Rewound(fact)) => {
                self.ranges.push((fact.to, recorded.seq));
            }
            TimelineEntry::Input(InputEntry::Accepted(input)) => {
                self.accepted.insert(input, recorded.seq);
            }
            TimelineEntry::Session(_)
            | TimelineEntry::Input(_)
            | TimelineEntry::Turn(_)
            | TimelineEntry::Hook(_)
            | TimelineEntry::Context(_)
            | TimelineEntry::Compaction(_)
            | TimelineEntry::Sample(_)
            | TimelineEntry::Call(..)
            | TimelineEntry::Program(_) => {}
        }
    }

    /// Returns true if a fact was rewound: it belongs to a turn, or is the input of one.
    pub(crate) fn contains(&self, recorded: &RecordedFact) -> bool {
        let at = match TimelineEntry::of(recorded) {
            TimelineEntry::Input(InputEntry::Queued(_)) => {
                self.accepted.get(&InputId(recorded.seq.0)).copied()
            }
            TimelineEntry::Session(_)
            | TimelineEntry::Input(_)
            | TimelineEntry::Turn(_)
            | TimelineEntry::Hook(_)
            | TimelineEntry::Context(_)
            | TimelineEntry::Compaction(_)
            | TimelineEntry::Sample(_)
            | TimelineEntry::Call(..)
            | TimelineEntry::Program(_) => recorded.turn.map(|_| recorded.seq),
        };
        at.is_some_and(|at| self.ranges.iter().any(|(to, end)| *to < at && at < *end))
    }
}

/// Marks a line about a rewound fact.
pub(crate) fn mark_rewound(text: &str) -> String {
    format!("[rewound] {text}")
}
