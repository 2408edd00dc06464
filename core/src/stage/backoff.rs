//! Backoff: the last attempt at a sample failed, and the next one waits.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::transition::about_steer;
use super::{Attempt, EffectReport, NextFact, Ready, StageRules, Transition, TransitionResult};
use crate::budget;
use crate::decide::Plan;
use crate::decide::admit::admit;
use crate::decide::turn::{ask, has_time_left, is_at_rest, pause};
use crate::effect::{DesiredEffect, EffectKey};
use crate::error::Reject;
use crate::fact::Fact;
use crate::id::InputId;
use crate::outcome::{LimitKind, TurnOutcome};
use crate::program::SampleKind;
use crate::reason::Reason;
use crate::session::{Session, Turn};
use crate::time::Timestamp;

/// The last attempt failed; the next one waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backoff {
    /// End of the wait.
    pub until: Timestamp,
    /// Failures of this sample so far.
    pub failures: u32,
    /// Restarts of this sample so far.
    pub restarts: u32,
    /// Kind of the sample.
    #[serde(default, skip_serializing_if = "SampleKind::is_normal")]
    pub kind: SampleKind,
}

impl StageRules for Backoff {
    fn allows(
        &self,
        session: &Session,
        turn: &Turn,
        transition: Transition<'_>,
    ) -> TransitionResult {
        let so = match transition {
            Transition::Accept(input) | Transition::Block(input) => session.is_steer(input),
            Transition::Inject => true,
            Transition::AskHooks(at) => about_steer(session, at),
            Transition::Settle(outcome) => turn.pauses(outcome) || leaves_no_attempt(outcome),
            Transition::InjectLast
            | Transition::AskAgain(_)
            | Transition::AskAfterEmpty(_)
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

    /// A steering input is admitted at once; the model is asked again when the wait ends.
    fn next(&self, plan: &Plan, turn: &Turn) -> NextFact {
        pause(plan, turn)
            .or(|| steer(plan, turn))
            .or(|| self.wait(plan, turn))
            .or(|| ask(plan, turn))
    }

    fn desired_effect(&self, _: &Session, _: &Turn) -> Option<DesiredEffect> {
        None
    }

    fn deadline(&self) -> Option<Timestamp> {
        Some(self.until)
    }

    fn accepted(&self, input: InputId) -> Ready {
        Ready { not_before: Some(self.until), ..Ready::for_reason(Reason::PendingInput { input }) }
    }

    fn attempt(&self) -> Option<Attempt> {
        Some(Attempt {
            reason: Reason::Retry,
            failures: self.failures,
            restarts: self.restarts,
            kind: Some(self.kind),
        })
    }
}

/// Returns true if this outcome leaves no room for a further attempt.
fn leaves_no_attempt(outcome: &TurnOutcome) -> bool {
    let (tokens, cost) = (LimitKind::Tokens, LimitKind::Cost);
    [tokens, cost].map(|limit| TurnOutcome::Exhausted { limit }).contains(outcome)
}

fn steer(plan: &Plan, turn: &Turn) -> NextFact {
    match plan.session.user_steer() {
        Some(steer) if budget::exhausted_limit(&plan.session, turn).is_none() => {
            admit(plan, turn, steer)
        }
        // Hooks that are asked about it reply first.
        Some(_) | None if !is_at_rest(turn) => NextFact::Wait,
        Some(_) | None => NextFact::Pass,
    }
}

impl Backoff {
    fn wait(&self, plan: &Plan, turn: &Turn) -> NextFact {
        if has_time_left(plan, turn, self.until) { NextFact::Wait } else { NextFact::Pass }
    }
}
