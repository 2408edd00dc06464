//! Report: what a turn came to, folded from its facts.

use std::sync::Arc;

use windlass_core::{Fact, Item, Outcome, Recorded, Seq, Spent, Stands, TurnId};

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
    /// The terminal fact.
    pub settled: Arc<Recorded>,
}

/// Folds the facts of one turn into its report.
#[derive(Debug, Clone)]
pub struct TurnFold {
    turn: TurnId,
    /// What the latest sample has said, by position.
    said: Vec<(Seq, Arc<str>)>,
}

impl TurnFold {
    /// For this turn.
    #[must_use]
    pub fn new(turn: TurnId) -> Self {
        Self {
            turn,
            said: Vec::new(),
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
            Fact::SampleStarted(_) => self.said.clear(),
            Fact::SampleCut(cut) => match cut.stands {
                Stands::Nothing => self.said.clear(),
                Stands::Through { item } => self.said.retain(|(seq, _)| *seq <= item),
                Stands::Said => self.said.push((fact.seq, cut.partial.as_str().into())),
            },
            Fact::ItemAdded(added) => match &added.item {
                Item::Text { text } | Item::Refusal { text } => {
                    self.said.push((fact.seq, text.clone()));
                }
                Item::Reasoning(_) | Item::Call(_) => {}
            },
            Fact::TurnSettled(settled) => {
                let said = std::mem::take(&mut self.said);
                return Some(TurnReport {
                    turn: self.turn,
                    outcome: settled.outcome.clone(),
                    spent: settled.spent,
                    answer: said.iter().map(|(_, text)| &**text).collect(),
                    settled: fact.clone(),
                });
            }
            Fact::SessionOpened(_)
            | Fact::SessionResumed(_)
            | Fact::SettingsChanged(_)
            | Fact::GoalSet(_)
            | Fact::GoalEnded(_)
            | Fact::InputQueued(_)
            | Fact::TurnOpened(_)
            | Fact::HooksAsked(_)
            | Fact::HookDecided(_)
            | Fact::InputAccepted(_)
            | Fact::InputBlocked(_)
            | Fact::ContextInjected(_)
            | Fact::CompactionStarted(_)
            | Fact::Compacted(_)
            | Fact::CompactionFailed(_)
            | Fact::SampleEnded(_)
            | Fact::CallDecided(_)
            | Fact::ApprovalAsked(_)
            | Fact::ApprovalAnswered(_)
            | Fact::CallStarted(_)
            | Fact::ReconcileStarted(_)
            | Fact::CallObserved(_)
            | Fact::InterruptRequested(_) => {}
        }
        None
    }
}
