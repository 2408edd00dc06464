//! Report: what a turn came to, folded from its facts.

use std::sync::Arc;

use windlass_core::{Fact, Item, Outcome, Recorded, Spent, TurnId};

/// How a turn ended. See [`TurnFold`].
#[derive(Debug, Clone)]
pub struct TurnReport {
    /// The turn.
    pub turn: TurnId,
    /// How it ended.
    pub outcome: Outcome,
    /// What it took.
    pub spent: Spent,
    /// What the model's last answer said to the user; empty when it said nothing.
    pub answer: String,
    /// The terminal fact.
    pub settled: Arc<Recorded>,
}

/// Folds the facts of one turn into its report.
#[derive(Debug, Clone)]
pub struct TurnFold {
    turn: TurnId,
    answer: String,
}

impl TurnFold {
    /// For this turn.
    #[must_use]
    pub fn new(turn: TurnId) -> Self {
        Self {
            turn,
            answer: String::new(),
        }
    }

    /// The turn.
    #[must_use]
    pub fn turn(&self) -> TurnId {
        self.turn
    }

    /// Takes the next fact of the log; answers the report with the turn's terminal fact. Facts of
    /// other turns are passed over.
    pub fn take(&mut self, fact: &Arc<Recorded>) -> Option<TurnReport> {
        if fact.turn != Some(self.turn) {
            return None;
        }
        match &fact.fact {
            Fact::SampleStarted(_) | Fact::SampleCut(_) => self.answer.clear(),
            Fact::ItemAdded(added) => match &added.item {
                Item::Text { text } | Item::Refusal { text } => self.answer.push_str(text),
                Item::Reasoning(_) | Item::Call(_) => {}
            },
            Fact::TurnSettled(settled) => {
                return Some(TurnReport {
                    turn: self.turn,
                    outcome: settled.outcome.clone(),
                    spent: settled.spent,
                    answer: std::mem::take(&mut self.answer),
                    settled: fact.clone(),
                });
            }
            Fact::SessionOpened(_)
            | Fact::SettingsChanged(_)
            | Fact::InputQueued(_)
            | Fact::TurnOpened(_)
            | Fact::InputAccepted(_)
            | Fact::SampleEnded(_)
            | Fact::CallDecided(_)
            | Fact::CallStarted(_)
            | Fact::CallObserved(_)
            | Fact::InterruptRequested(_) => {}
        }
        None
    }
}
