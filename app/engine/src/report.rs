//! Report: the result of a turn, folded from its facts.

use std::sync::Arc;

use windlass_core::{RecordedFact, TimelineEntry, TurnEntry, TurnId, TurnOutcome, TurnUsage, View};

/// Report on an ended turn. See [`TurnFold`].
#[derive(Debug, Clone)]
pub struct TurnReport {
    /// Id of the turn.
    pub turn: TurnId,
    /// Outcome of the turn.
    pub outcome: TurnOutcome,
    /// Usage of the turn.
    pub spent: TurnUsage,
    /// Retained text of the model's last answer; empty if there is none.
    pub answer: String,
    /// True if the answer is the JSON that a program returned.
    pub returned: bool,
    /// Fact that settled the turn.
    pub settled: Arc<RecordedFact>,
}

impl TurnReport {
    /// Applies the next fact of a log to a view; returns the report with a turn's terminal fact.
    pub fn apply(view: &mut View, recorded: &Arc<RecordedFact>) -> Option<Self> {
        let TimelineEntry::Turn(TurnEntry::Settled(fact)) = view.apply(recorded) else {
            return None;
        };
        let turn = view.turn()?;
        Some(Self {
            turn: turn.id,
            outcome: fact.outcome.clone(),
            spent: fact.spent,
            answer: turn.sample.answer(),
            returned: turn.sample.returned().is_some(),
            settled: recorded.clone(),
        })
    }
}

/// Folds the facts of one turn into its report.
#[derive(Debug, Clone)]
pub struct TurnFold {
    turn: TurnId,
    view: View,
}

impl TurnFold {
    /// Creates a fold without facts.
    #[must_use]
    pub fn new(turn: TurnId) -> Self {
        let view = View::default();
        Self { turn, view }
    }

    /// Applies the next fact of the log; returns the report with the turn's terminal fact. Ignores
    /// facts of other turns.
    pub fn apply(&mut self, fact: &Arc<RecordedFact>) -> Option<TurnReport> {
        if fact.turn != Some(self.turn) {
            return None;
        }
        TurnReport::apply(&mut self.view, fact)
    }
}
