//! Ready: the model may be asked next, for a new sample.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::transition::{about_compaction, about_steer};
use super::{
    AfterCompacting, Attempt, EffectReport, NextFact, StageRules, Transition, TransitionResult,
};
use crate::budget;
use crate::call::programs;
use crate::decide::admit::admit;
use crate::decide::turn::{ask, asked_at, has_time_left, pause, settle};
use crate::decide::{Plan, compaction, context};
use crate::effect::{DesiredEffect, EffectKey};
use crate::error::Reject;
use crate::fact::Fact;
use crate::hook::{HookOccurrence, HookPoint, SessionStart};
use crate::hook_rounds::hooks;
use crate::id::InputId;
use crate::outcome::TurnOutcome;
use crate::program::SampleKind;
use crate::reason::Reason;
use crate::session::{Session, Turn};
use crate::time::Timestamp;

/// The model may be asked next, for a new sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// Reason of the next sample.
    pub reason: Reason,
    /// Set if the provider rejected the conversation as too large, so that it must be compacted.
    pub overflow: bool,
    /// Earliest time to ask.
    pub not_before: Option<Timestamp>,
}

impl StageRules for Ready {
    fn allows(
        &self,
        session: &Session,
        turn: &Turn,
        transition: Transition<'_>,
    ) -> TransitionResult {
        let so = match transition {
            Transition::Accept(input) | Transition::Block(input) => session.is_steer(input),
            Transition::Inject | Transition::InjectLast => true,
            Transition::AskHooks(at) => {
                (resumes(session) && at == RESUME)
                    || about_steer(session, at)
                    || about_compaction(turn, at)
                    || at == before_sample(turn)
            }
            Transition::Settle(outcome) => {
                turn.pauses(outcome)
                    || matches!(
                        outcome,
                        TurnOutcome::Exhausted { .. } | TurnOutcome::Blocked { .. }
                    )
            }
            Transition::AskAgain(_)
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

    /// Asks the model after the steering inputs, if the conversation fits, the hooks allow it, and
    /// the budget has room.
    fn next(&self, plan: &Plan, turn: &Turn) -> NextFact {
        pause(plan, turn)
            .or(|| exhausted(plan, turn))
            .or(|| self.wait(plan, turn))
            .or(|| resume(plan, turn))
            .or(|| self.prepare(plan, turn))
            .or(|| hooks::ask_or_block(plan, turn, before_sample(turn)))
            .or(|| ask(plan, turn))
    }

    fn desired_effect(&self, _: &Session, _: &Turn) -> Option<DesiredEffect> {
        None
    }

    fn deadline(&self) -> Option<Timestamp> {
        self.not_before
    }

    fn accepted(&self, input: InputId) -> Ready {
        Self { reason: Reason::PendingInput { input }, ..self.clone() }
    }

    fn attempt(&self) -> Option<Attempt> {
        Some(Attempt {
            reason: self.reason,
            failures: 0,
            restarts: 0,
            kind: self.re_asks().then_some(SampleKind::ReAsk),
        })
    }

    fn after_compaction(&self) -> Option<AfterCompacting> {
        Some(AfterCompacting::Ask(self.reason))
    }

    fn re_asks(&self) -> bool {
        self.reason.is_invalid_output()
    }

    fn rests(&self, turn: &Turn) -> bool {
        !self.overflow && self.reason != Reason::Retry && turn.compacted.is_none()
    }
}

const RESUME: HookOccurrence = HookOccurrence::SessionStart { start: SessionStart::Resume };

fn resumes(session: &Session) -> bool {
    session.start == Some(SessionStart::Resume)
}

fn before_sample(turn: &Turn) -> HookOccurrence {
    let sample = turn.spent.samples.saturating_add(1);
    HookOccurrence::BeforeSample { sample }
}

fn exhausted(plan: &Plan, turn: &Turn) -> NextFact {
    let limit = budget::exhausted_limit(&plan.session, turn);
    NextFact::from(limit.map(|limit| settle(plan, turn, TurnOutcome::Exhausted { limit })))
}

/// Runs the hooks on the session's resumption in a new process.
fn resume(plan: &Plan, turn: &Turn) -> NextFact {
    if resumes(&plan.session) { hooks::ask_or_block(plan, turn, RESUME) } else { NextFact::Pass }
}

impl Ready {
    /// Creates one for this reason, without an overflow.
    #[must_use]
    pub(crate) fn for_reason(because: Reason) -> Self {
        Self { reason: because, overflow: false, not_before: None }
    }

    fn wait(&self, plan: &Plan, turn: &Turn) -> NextFact {
        match self.not_before {
            Some(until) if has_time_left(plan, turn, until) => NextFact::Wait,
            Some(_) | None => NextFact::Pass,
        }
    }

    /// Runs the phases that precede the hooks on the next request; none of them runs while those
    /// are asked.
    fn prepare(&self, plan: &Plan, turn: &Turn) -> NextFact {
        if asked_at(turn).is_some_and(|at| at.point() == HookPoint::BeforeSample) {
            return NextFact::Pass;
        }
        let steer = || match plan.session.steer().filter(|_| !turn.only_re_asks()) {
            Some(steer) => admit(plan, turn, steer),
            None => NextFact::Pass,
        };
        compaction::fit(plan, turn, self.overflow)
            .unwrap_or_else(|outcome| NextFact::Fact(settle(plan, turn, outcome)))
            .or(steer)
            .or(|| NextFact::from(context::pending(turn)))
            .or(|| NextFact::from(programs::last_sample(turn)))
    }
}
