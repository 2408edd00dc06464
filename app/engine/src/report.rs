//! Report: what a turn came to, folded from its facts.

use std::sync::Arc;

use windlass_core::{
    FactGroup, Item, Outcome, ProgramFact, Recorded, SampleFact, Seq, Spent, Stands, TurnFact,
    TurnId,
};

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
    /// Whether the answer is what a program has returned: JSON text.
    pub returned: bool,
    /// The terminal fact.
    pub settled: Arc<Recorded>,
}

/// Folds the facts of one turn into its report.
#[derive(Debug, Clone)]
pub struct TurnFold {
    turn: TurnId,
    /// What the latest sample has said, by position.
    said: Vec<(Seq, Arc<str>)>,
    /// Whether that is what its program has returned.
    returned: bool,
}

impl TurnFold {
    /// For this turn.
    #[must_use]
    pub fn new(turn: TurnId) -> Self {
        Self {
            turn,
            said: Vec::new(),
            returned: false,
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
        match fact.fact.group() {
            FactGroup::Sample(SampleFact::SampleStarted(_)) => {
                self.said.clear();
                self.returned = false;
            }
            FactGroup::Sample(SampleFact::SampleCut(cut)) => match cut.stands {
                Stands::Nothing => self.said.clear(),
                Stands::Through { item } => self.said.retain(|(seq, _)| *seq <= item),
                Stands::Said => self.said.push((fact.seq, cut.partial.as_str().into())),
            },
            FactGroup::Sample(SampleFact::ItemAdded(added)) => match &added.item {
                Item::Text { text } | Item::Refusal { text } => {
                    self.said.push((fact.seq, text.clone()));
                }
                Item::Reasoning(_) | Item::Call(_) => {}
            },
            FactGroup::Program(ProgramFact::ProgramRun(run)) => {
                let returned = run.outcome.end.returned().filter(|_| run.fault.is_none());
                if let Some(value) = returned {
                    self.said = vec![(fact.seq, value.clone())];
                    self.returned = true;
                }
            }
            FactGroup::Turn(TurnFact::TurnSettled(settled)) => {
                let said = std::mem::take(&mut self.said);
                return Some(TurnReport {
                    turn: self.turn,
                    outcome: settled.outcome.clone(),
                    spent: settled.spent,
                    answer: said.iter().map(|(_, text)| &**text).collect(),
                    returned: self.returned,
                    settled: fact.clone(),
                });
            }
            FactGroup::Sample(SampleFact::SampleEnded(_))
            | FactGroup::Program(ProgramFact::ProgramCalled(_))
            | FactGroup::Turn(TurnFact::TurnOpened(_) | TurnFact::InterruptRequested(_))
            | FactGroup::Session(_)
            | FactGroup::Recovery(_)
            | FactGroup::Goal(_)
            | FactGroup::Input(_)
            | FactGroup::Hook(_)
            | FactGroup::Context(_)
            | FactGroup::Compaction(_)
            | FactGroup::Permission(_)
            | FactGroup::Run(_) => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::{
        Because, Digest, FACT_VERSION, Fact, FailureKind, ItemAdded, Reserved, Retry, SampleCut,
        SampleFailure, SampleStarted, SessionId, Timestamp, TurnSettled,
    };

    use super::*;

    fn fold(facts: Vec<Fact>) -> String {
        let turn = TurnId(1);
        let mut fold = TurnFold::new(turn);
        let settled = Fact::TurnSettled(TurnSettled {
            outcome: Outcome::Completed,
            spent: Spent::default(),
            waiting: Vec::new(),
        });
        let numbered = (2_u64..).zip(facts.into_iter().chain([settled]));
        let mut reports = numbered.filter_map(|(seq, fact)| {
            fold.take(&Arc::new(Recorded {
                v: FACT_VERSION,
                session: SessionId::new("s").unwrap(),
                seq: Seq(seq),
                turn: Some(turn),
                ts: Timestamp(0),
                fact,
            }))
        });
        reports.next().unwrap().answer
    }

    fn asked() -> Fact {
        Fact::SampleStarted(SampleStarted {
            sample: 1,
            attempt: 1,
            because: Because::Retry,
            digest: Digest::EMPTY,
            reserved: Reserved::default(),
            kind: windlass_core::SampleKind::Normal,
        })
    }

    fn says(text: &str) -> Fact {
        Fact::ItemAdded(ItemAdded {
            started: Seq(2),
            item: Item::Text { text: text.into() },
        })
    }

    fn cut(stands: Stands) -> Fact {
        Fact::SampleCut(SampleCut {
            started: Seq(2),
            failure: SampleFailure::new(FailureKind::Steered, Retry::Never, "cut"),
            partial: " and more".into(),
            stands,
            usage: None,
            retry_at: None,
            asked: None,
        })
    }

    #[test]
    fn the_answer_is_what_stands_of_the_last_sample() {
        let said = |stands| fold(vec![asked(), says("one"), says(" two"), cut(stands)]);
        assert_eq!(said(Stands::Nothing), "");
        assert_eq!(said(Stands::Through { item: Seq(3) }), "one");
        assert_eq!(said(Stands::Said), "one two and more");
        let again = [
            asked(),
            says("one"),
            cut(Stands::Said),
            asked(),
            says("two"),
        ];
        assert_eq!(fold(again.to_vec()), "two");
    }
}
