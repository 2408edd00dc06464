//! Rewound facts: those that a later rewind took out of the conversation. They stay in the log.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{CallEntry, CallSource, InputEntry, SessionEntry, TimelineEntry};
use crate::id::{InputId, Seq};
use crate::record::RecordedFact;

/// Folds a log into the facts that are no longer part of its conversation.
///
/// A fact may be rewound by any later one, so apply the whole log first.
#[derive(Debug, Clone, Default)]
pub struct RewoundFacts {
    /// Position of each rewind, after the position that it returned to.
    rewinds: Vec<(Seq, Seq)>,
    /// Positions at which inputs were accepted or blocked.
    inputs: BTreeMap<InputId, Seq>,
}

impl RewoundFacts {
    /// Applies the next fact.
    pub fn apply(&mut self, recorded: &RecordedFact) {
        match TimelineEntry::of(recorded) {
            TimelineEntry::Session(SessionEntry::Rewound(fact)) => {
                self.rewinds.push((fact.to, recorded.seq));
            }
            TimelineEntry::Input(InputEntry::Accepted(input))
            | TimelineEntry::Call(_, CallEntry::Proposed(CallSource::User(input), _)) => {
                self.inputs.insert(input, recorded.seq);
            }
            TimelineEntry::Input(InputEntry::Blocked(fact)) => {
                self.inputs.insert(fact.input, recorded.seq);
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

    /// Returns true if a fact was rewound: it belongs to a turn, or is the input of one. Facts about
    /// the session as a whole are not rewound, and neither are inputs that still wait.
    #[must_use]
    pub fn includes(&self, recorded: &RecordedFact) -> bool {
        let at = match TimelineEntry::of(recorded) {
            TimelineEntry::Input(InputEntry::Queued(_)) => self.entered(InputId(recorded.seq.0)),
            TimelineEntry::Input(InputEntry::Edited(fact)) => self.entered(fact.input),
            TimelineEntry::Session(_) => None,
            TimelineEntry::Input(_)
            | TimelineEntry::Turn(_)
            | TimelineEntry::Hook(_)
            | TimelineEntry::Context(_)
            | TimelineEntry::Compaction(_)
            | TimelineEntry::Sample(_)
            | TimelineEntry::Call(..)
            | TimelineEntry::Program(_) => recorded.turn.map(|_| recorded.seq),
        };
        at.is_some_and(|at| self.rewinds.iter().any(|(to, rewind)| *to < at && at < *rewind))
    }

    fn entered(&self, input: InputId) -> Option<Seq> {
        self.inputs.get(&input).copied()
    }
}
