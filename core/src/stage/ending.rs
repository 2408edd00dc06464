//! Ending: the turn cannot continue, and its outcome must be recorded. The outcome is the stage's
//! only state.

use alloc::vec::Vec;

use super::{EffectReport, NextFact, Stage, StageRules, Transition, TransitionResult};
use crate::budget;
use crate::decide::Plan;
use crate::decide::turn::settle;
use crate::effect::{DesiredEffect, EffectKey};
use crate::error::Reject;
use crate::fact::Fact;
use crate::outcome::TurnOutcome;
use crate::session::{Session, Turn};
use crate::time::Timestamp;

impl StageRules for TurnOutcome {
    fn allows(&self, _: &Session, turn: &Turn, transition: Transition<'_>) -> TransitionResult {
        let so = match transition {
            Transition::Settle(outcome) => {
                self == outcome || exceeded(self, turn) == Some(outcome.clone())
            }
            Transition::Accept(_)
            | Transition::Block(_)
            | Transition::Inject
            | Transition::InjectLast
            | Transition::AskAgain(_)
            | Transition::AskAfterEmpty(_)
            | Transition::AskHooks(_)
            | Transition::EndCompaction(_)
            | Transition::Sample(_) => false,
        };
        transition.only_if(so)
    }

    fn on_report(
        &self,
        _: &Plan,
        _: &Turn,
        key: EffectKey,
        _: EffectReport,
    ) -> Result<Vec<Fact>, Reject> {
        Err(Reject::Stale(key))
    }

    fn next(&self, plan: &Plan, turn: &Turn) -> NextFact {
        let outcome = exceeded(self, turn).unwrap_or_else(|| self.clone());
        NextFact::Fact(settle(plan, turn, outcome))
    }

    fn desired_effect(&self, _: &Session, _: &Turn) -> Option<DesiredEffect> {
        None
    }

    fn deadline(&self) -> Option<Timestamp> {
        None
    }

    fn is_timed(&self, _: &Turn) -> bool {
        false
    }
}

/// Returns the outcome of a turn that exceeded its budget, in place of one that its answer led to.
fn exceeded(outcome: &TurnOutcome, turn: &Turn) -> Option<TurnOutcome> {
    let invalid = matches!(outcome, TurnOutcome::InvalidOutput { .. });
    let limit = budget::exceeded(turn).filter(|_| invalid)?;
    Some(TurnOutcome::Exhausted { limit })
}

impl Stage {
    /// Returns the outcome to record.
    #[must_use]
    pub fn ending(&self) -> Option<&TurnOutcome> {
        if let Self::Ending(outcome) = self { Some(outcome) } else { None }
    }
}
