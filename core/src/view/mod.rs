//! The view: one fold of a session's log for all presenters. Formats nothing; no decision depends
//! on it.

mod call;
mod entry;
mod rewound;
mod sample;
mod shown;
mod turn;

pub use call::{CallStage, CallView, OpenQuestion};
pub use entry::{
    CallEntry, CallSource, CompactionEntry, ContentPart, HookEntry, InputEntry, SampleEntry,
    SessionEntry, TimelineEntry, TurnEntry,
};
pub use rewound::RewoundFacts;
pub use sample::{SampleEnd, SampleView};
pub use shown::{diff_lines, is_hidden, shown_lines, spelled_out};
pub use turn::{TurnEnd, TurnView};

use crate::record::RecordedFact;

/// Folds a log, fact by fact, into the visible state of a session.
///
/// [`apply`](Self::apply) returns the timeline one entry at a time, for streaming. The view holds
/// the latest turn: its last answer, its calls and open questions, its end. Its size is limited to
/// one answer of the model with its calls; the outputs of calls are only in their entries.
///
/// A view may begin anywhere in a log: entries about earlier calls then find nothing.
#[derive(Debug, Clone, Default)]
pub struct View {
    turn: Option<TurnView>,
}

impl View {
    /// Applies the next fact and returns its entry of the timeline.
    pub fn apply<'a>(&mut self, recorded: &'a RecordedFact) -> TimelineEntry<'a> {
        let entry = TimelineEntry::of(recorded);
        let Some(id) = recorded.turn else {
            return entry;
        };
        let known = self.turn.take_if(|turn| turn.id == id);
        let mut turn = known.unwrap_or_else(|| TurnView::new(id, recorded.ts));
        turn.apply(recorded, entry);
        self.turn = Some(turn);
        entry
    }

    /// Returns the latest turn, open or settled.
    #[must_use]
    pub fn turn(&self) -> Option<&TurnView> {
        self.turn.as_ref()
    }
}

#[cfg(test)]
mod tests;
