//! Ending: the turn cannot go on, and its outcome is to be recorded. The outcome is all the state
//! that the stage has.

use alloc::vec::Vec;

use super::{Allowed, Next, Report, Rules, Stage, Transition};
use crate::decide::Plan;
use crate::decide::turn::settle;
use crate::effect::{EffectKey, Owed};
use crate::error::Reject;
use crate::fact::Fact;
use crate::outcome::Outcome;
use crate::session::{Session, Turn};
use crate::time::Timestamp;

impl Rules for Outcome {
    fn allows(&self, _: &Session, _: &Turn, transition: Transition<'_>) -> Allowed {
        let so = match transition {
            Transition::Settle(outcome) => self == outcome,
            Transition::Accept(_)
            | Transition::Block(_)
            | Transition::Inject
            | Transition::InjectLast
            | Transition::AskAgain(_)
            | Transition::AskHooks(_)
            | Transition::EndCompaction(_)
            | Transition::Sample(_) => false,
        };
        transition.only_if(so)
    }

    fn on(&self, _: &Plan, _: &Turn, key: EffectKey, _: Report) -> Result<Vec<Fact>, Reject> {
        Err(Reject::Stale(key))
    }

    fn next(&self, plan: &Plan, turn: &Turn) -> Next {
        Next::Fact(settle(plan, turn, self.clone()))
    }

    fn owed(&self, _: &Session, _: &Turn) -> Option<Owed> {
        None
    }

    fn deadline(&self) -> Option<Timestamp> {
        None
    }

    fn is_timed(&self, _: &Turn) -> bool {
        false
    }
}

impl Stage {
    /// Returns the outcome that is to be recorded.
    #[must_use]
    pub fn ending(&self) -> Option<&Outcome> {
        if let Self::Ending(outcome) = self {
            Some(outcome)
        } else {
            None
        }
    }
}
