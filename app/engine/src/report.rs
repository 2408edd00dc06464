//! Report: what a turn came to, folded from its facts.

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
    /// True if the answer is what a program has returned: JSON text.
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
    /// Begins with nothing of this turn.
    #[must_use]
    pub fn new(turn: TurnId) -> Self {
        let view = View::default();
        Self { turn, view }
    }

    /// Takes the next fact of the log; answers the report with the turn's terminal fact. Facts of
    /// other turns are passed over.
    pub fn apply(&mut self, fact: &Arc<RecordedFact>) -> Option<TurnReport> {
        if fact.turn != Some(self.turn) {
            return None;
        }
        TurnReport::apply(&mut self.view, fact)
    }
}
