//! Turn snapshots: the result of each cycle of a session's turns, read from its log. They are for
//! readers; no decision depends on them.

use alloc::collections::BTreeMap;

use crate::error::InvalidFact;
use crate::history::History;
use crate::record::RecordedFact;
use crate::settings::Settings;
use crate::view::{
    CallEntry, CompactionEntry, SampleEntry, SessionEntry, TimelineEntry, TurnEntry, View,
};

mod messages;
mod open_cycle;
mod source;
mod turn;

pub use messages::CycleMessages;
use open_cycle::OpenCycle;
pub use turn::{Cycle, CycleCall, TurnSnapshot};

/// Folds a log, fact by fact, into one snapshot per cycle.
///
/// A cycle begins with a sample's first attempt. It ends with the answer, or with the last
/// observation of the answer's calls. The fold holds the conversation, as [`History`] does, and the
/// open cycle. The session's settings limit the size of both.
#[derive(Debug, Clone, Default)]
pub struct TurnSnapshots {
    history: History,
    view: View,
    /// True in program mode, for turns that open from now on.
    programs: bool,
    /// True if the open turn is in program mode.
    frozen: bool,
    /// Number of conversation items in the previous snapshot.
    previous_items: usize,
    open: Option<OpenCycle>,
}

impl TurnSnapshots {
    /// Applies the next fact. Returns the snapshot of a cycle if the fact ends one. A log yields
    /// the same snapshots in one pass and fact by fact.
    ///
    /// # Errors
    /// As [`History::apply`]. Discard the value after an error.
    pub fn apply(&mut self, recorded: &RecordedFact) -> Result<Option<TurnSnapshot>, InvalidFact> {
        self.history.apply(recorded)?;
        let mut made = None;
        if let TimelineEntry::Sample(SampleEntry::Started(fact)) = TimelineEntry::of(recorded)
            && (fact.attempt <= 1 || self.open.is_none())
        {
            // It ends a cycle whose next attempt was due and did not start, for example after a
            // steering input.
            made = self.close();
            self.open = recorded.turn.map(|_| self.begin());
        }
        match self.view.apply(recorded) {
            TimelineEntry::Session(SessionEntry::Opened(fact)) => self.set(&fact.settings),
            TimelineEntry::Session(SessionEntry::Settings(fact)) => self.set(&fact.settings),
            TimelineEntry::Session(SessionEntry::Rewound(fact)) => {
                let kept = usize::try_from(fact.visible.items).unwrap_or(usize::MAX);
                self.previous_items = self.previous_items.min(kept);
            }
            TimelineEntry::Turn(TurnEntry::Opened(_)) => self.frozen = self.programs,
            TimelineEntry::Turn(TurnEntry::Settled(_)) => made = self.close(),
            TimelineEntry::Compaction(CompactionEntry::Done(_)) => self.previous_items = 0,
            TimelineEntry::Call(id, entry) => {
                if let (CallEntry::Observed(fact), Some(open)) = (entry, &mut self.open) {
                    open.observed.insert(id, fact.observation.clone());
                }
                made = self.close_if_complete();
            }
            TimelineEntry::Sample(SampleEntry::Started(_)) => {}
            TimelineEntry::Sample(_) | TimelineEntry::Program(_) => made = self.close_if_complete(),
            TimelineEntry::Session(_)
            | TimelineEntry::Input(_)
            | TimelineEntry::Turn(TurnEntry::Interrupted(_))
            | TimelineEntry::Hook(_)
            | TimelineEntry::Context(_)
            | TimelineEntry::Compaction(_) => {}
        }
        Ok(made)
    }

    /// Returns the snapshot of the open cycle so far: the log of a killed process may end in one.
    /// It is a failure of the class `unfinished`, or of the class of the last failed attempt.
    #[must_use]
    pub fn unfinished(&self) -> Option<TurnSnapshot> {
        self.snapshot_of(self.open.clone()?)
    }

    /// Returns the approximate bytes of text, for caches. Reads all of it.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.history.bytes()
    }

    fn set(&mut self, settings: &Settings) {
        self.programs = settings.options.program.is_some();
    }

    fn begin(&mut self) -> OpenCycle {
        let items = self.history.items();
        let messages = CycleMessages::new(items.clone(), self.previous_items);
        self.previous_items = items.len();
        OpenCycle { messages, programs: self.frozen, observed: BTreeMap::new() }
    }

    fn close_if_complete(&mut self) -> Option<TurnSnapshot> {
        let over = self.view.turn().is_some_and(|turn| turn.sample.is_over());
        if over { self.close() } else { None }
    }

    fn close(&mut self) -> Option<TurnSnapshot> {
        let open = self.open.take()?;
        self.snapshot_of(open)
    }

    fn snapshot_of(&self, open: OpenCycle) -> Option<TurnSnapshot> {
        Some(open.finish(self.view.turn()?, self.history.memory()))
    }
}

#[cfg(test)]
#[path = "snapshot/log_builder_tests.rs"]
pub(crate) mod log_builder;
#[cfg(test)]
mod tests;
