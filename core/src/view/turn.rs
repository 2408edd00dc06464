//! View of a turn: its opening, its latest answer, its end.

use alloc::collections::BTreeMap;

use super::entry::{HookEntry, SampleEntry, TimelineEntry, TurnEntry};
use super::sample::SampleView;
use crate::fact::TurnSettled;
use crate::id::{CallId, Seq, TurnId};
use crate::reason::Reason;
use crate::record::RecordedFact;
use crate::time::Timestamp;

/// A turn, as read from its log.
#[derive(Debug, Clone)]
pub struct TurnView {
    /// Id of the turn.
    pub id: TurnId,
    /// Time and reason of its opening; `None` if the view began after it.
    pub opened: Option<(Timestamp, Reason)>,
    /// Its latest answer, with the calls.
    pub sample: SampleView,
    /// End of the turn.
    pub settled: Option<TurnEnd>,
    /// Calls that hooks are asked about, by the `HooksAsked`.
    asked: BTreeMap<Seq, CallId>,
}

/// End of a turn.
#[derive(Debug, Clone)]
pub struct TurnEnd {
    /// Time of the end.
    pub at: Timestamp,
    /// Outcome, totals, and inputs that still wait.
    pub fact: TurnSettled,
}

impl TurnView {
    pub(super) fn new(id: TurnId, at: Timestamp) -> Self {
        Self {
            id,
            opened: None,
            sample: SampleView::none(at),
            settled: None,
            asked: BTreeMap::new(),
        }
    }

    pub(super) fn apply(&mut self, recorded: &RecordedFact, entry: TimelineEntry<'_>) {
        match entry {
            TimelineEntry::Turn(TurnEntry::Opened(fact)) => {
                self.opened = Some((recorded.ts, fact.reason));
            }
            TimelineEntry::Turn(TurnEntry::Settled(fact)) => {
                let (at, fact) = (recorded.ts, fact.clone());
                self.settled = Some(TurnEnd { at, fact });
            }
            TimelineEntry::Hook(HookEntry::Asked(fact)) => {
                let call = fact.at.call().map(|call| (recorded.seq, call));
                self.asked.extend(call);
            }
            TimelineEntry::Hook(HookEntry::Decided(fact)) => {
                if let Some(id) = self.asked.get(&fact.asked)
                    && let Some(call) = self.sample.call_mut(*id)
                {
                    call.edit(fact.edit.as_ref());
                }
            }
            TimelineEntry::Sample(sample) => {
                // The hooks on earlier calls have all replied.
                if let SampleEntry::Started(_) = sample {
                    self.asked.clear();
                }
                self.sample.apply(recorded, sample);
            }
            TimelineEntry::Call(id, call) => self.sample.call(recorded, id, call),
            TimelineEntry::Program(fact) => self.sample.ran(recorded.ts, fact),
            TimelineEntry::Turn(TurnEntry::Interrupted(_))
            | TimelineEntry::Session(_)
            | TimelineEntry::Input(_)
            | TimelineEntry::Context(_)
            | TimelineEntry::Compaction(_) => {}
        }
    }
}
