//! Report: what a turn came to, folded from its facts.

use std::sync::Arc;

use windlass_core::{Entry, Outcome, Recorded, Spent, TurnEntry, TurnId, View};

/// How a turn ended. See [`TurnFold`].
#[derive(Debug, Clone)]
pub struct TurnReport {
    /// The turn.
    pub turn: TurnId,
    /// How it ended.
    pub outcome: Outcome,
    /// What it took.
    pub spent: Spent,
    /// What the model's last answer said to the user, as far as it stands; empty when it said
    /// nothing.
    pub answer: String,
    /// True if the answer is what a program has returned: JSON text.
    pub returned: bool,
    /// The terminal fact.
    pub settled: Arc<Recorded>,
}

impl TurnReport {
    /// Applies the next fact of a log to a view; returns the report with a turn's terminal fact.
    pub fn apply(view: &mut View, recorded: &Arc<Recorded>) -> Option<Self> {
        let Entry::Turn(TurnEntry::Settled(fact)) = view.apply(recorded) else {
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
    pub fn take(&mut self, fact: &Arc<Recorded>) -> Option<TurnReport> {
        if fact.turn != Some(self.turn) {
            return None;
        }
        TurnReport::apply(&mut self.view, fact)
    }
}
