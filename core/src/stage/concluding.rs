//! Concluding: the model has answered and requests nothing more.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::sampling::AnswerKind;
use super::transition::about_steer;
use super::{EffectReport, NextFact, StageRules, Transition, TransitionResult};
use crate::budget;
use crate::decide::admit::admit;
use crate::decide::turn::{asked_at, is_at_rest, paused, settle};
use crate::decide::{Plan, context, empty_answer, output_schema};
use crate::effect::{DesiredEffect, EffectKey};
use crate::error::Reject;
use crate::fact::Fact;
use crate::failure::FailureKind;
use crate::hook::{HookOccurrence, HookPoint};
use crate::hook_rounds::CombinedVerdict;
use crate::hook_rounds::hooks::{self, HookStep};
use crate::hook_rounds::subject_name;
use crate::id::Seq;
use crate::item::StopReason;
use crate::outcome::{LimitKind, TurnOutcome};
use crate::session::{Session, Turn};
use crate::time::Timestamp;

/// The model has answered and requests nothing more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Concluding {
    /// Position of the `SampleStarted` of the answer.
    pub started: Seq,
    /// Reason why it stopped.
    pub stop: StopReason,
    /// Kind of the answer.
    pub answer: AnswerKind,
    /// Violation of the output schema, if one is set and the output is invalid.
    pub fault: Option<String>,
    /// Limit whose budget bounded the answer, if it was too short for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounded: Option<LimitKind>,
}

impl StageRules for Concluding {
    fn allows(
        &self,
        session: &Session,
        turn: &Turn,
        transition: Transition<'_>,
    ) -> TransitionResult {
        let so = match transition {
            Transition::Accept(input) | Transition::Block(input) => session.is_steer(input),
            Transition::Inject => true,
            Transition::AskAgain(started) => {
                started == self.started
                    && self.fault.is_some()
                    && turn.spent.re_asks < turn.max_re_asks()
            }
            Transition::AskAfterEmpty(started) => {
                started == self.started && self.is_empty() && turn.may_ask_after_empty()
            }
            Transition::AskHooks(at) => {
                about_steer(session, at) || at == self.answered() || at == self.end(session, turn)
            }
            Transition::Settle(outcome) => turn.pauses(outcome) || self.ends(turn, outcome),
            Transition::InjectLast | Transition::EndCompaction(_) | Transition::Sample(_) => false,
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

    /// Hooks or a steering input may make the model continue. Hooks run only on a valid output.
    fn next(&self, plan: &Plan, turn: &Turn) -> NextFact {
        self.after_answer(plan, turn)
            .or(|| steer(plan, turn))
            .or(|| self.re_ask(plan, turn))
            .or(|| self.ask_after_empty(plan, turn))
            .or(|| self.before_end(plan, turn))
            .or(|| NextFact::Fact(settle(plan, turn, self.outcome(turn))))
    }

    fn desired_effect(&self, _: &Session, _: &Turn) -> Option<DesiredEffect> {
        None
    }

    fn deadline(&self) -> Option<Timestamp> {
        None
    }

    fn answer(&self) -> Option<Seq> {
        Some(self.started)
    }

    fn concludes(&self) -> bool {
        true
    }

    fn re_asks(&self) -> bool {
        self.fault.is_some()
    }

    fn is_timed(&self, turn: &Turn) -> bool {
        turn.hook_rounds.open.is_some()
    }

    fn rests(&self, turn: &Turn) -> bool {
        let heard = || hooks::at_turn(turn, self.answered(), subject_name(self.answered()));
        self.fault.is_some() || matches!(heard(), HookStep::Finished(_))
    }
}

impl Concluding {
    fn answered(&self) -> HookOccurrence {
        HookOccurrence::AfterAnswer { started: self.started }
    }

    fn end(&self, session: &Session, turn: &Turn) -> HookOccurrence {
        let (started, continued) = (self.started, turn.spent.continuations);
        if session.is_child() {
            HookOccurrence::SubTurnStop { started, continued }
        } else {
            HookOccurrence::Stop { started, continued }
        }
    }

    /// An invalid output never ends the turn as completed.
    fn ends(&self, turn: &Turn, outcome: &TurnOutcome) -> bool {
        match outcome {
            TurnOutcome::Completed => self.fault.is_none(),
            TurnOutcome::InvalidOutput { fault } => {
                self.fault.as_ref() == Some(fault) && turn.spent.re_asks >= turn.max_re_asks()
            }
            TurnOutcome::NoAnswer
            | TurnOutcome::Refused
            | TurnOutcome::Exhausted { .. }
            | TurnOutcome::Failed { .. } => true,
            TurnOutcome::Interrupted { .. } | TurnOutcome::Blocked { .. } => false,
        }
    }

    fn after_answer(&self, plan: &Plan, turn: &Turn) -> NextFact {
        if self.fault.is_some() {
            return NextFact::Pass;
        }
        ask_to_continue(plan, turn, self.answered())
    }

    fn re_ask(&self, plan: &Plan, turn: &Turn) -> NextFact {
        match &self.fault {
            Some(fault) => output_schema::re_ask(plan, turn, self.started, fault),
            None => NextFact::Pass,
        }
    }

    fn ask_after_empty(&self, plan: &Plan, turn: &Turn) -> NextFact {
        if !self.is_empty() {
            return NextFact::Pass;
        }
        NextFact::from(empty_answer::ask_again(plan, turn, self.started))
    }

    /// Returns true if the model ended the answer by itself, with neither text nor calls.
    fn is_empty(&self) -> bool {
        let whole = match self.stop {
            StopReason::Stop | StopReason::Unfinished | StopReason::Other(_) => true,
            StopReason::Length | StopReason::ContentFilter => false,
        };
        whole && self.answer == AnswerKind::Nothing
    }

    fn before_end(&self, plan: &Plan, turn: &Turn) -> NextFact {
        match self.outcome(turn) {
            TurnOutcome::Completed | TurnOutcome::NoAnswer | TurnOutcome::Refused => {
                ask_to_continue(plan, turn, self.end(&plan.session, turn))
            }
            TurnOutcome::InvalidOutput { .. }
            | TurnOutcome::Interrupted { .. }
            | TurnOutcome::Blocked { .. }
            | TurnOutcome::Exhausted { .. }
            | TurnOutcome::Failed { .. } => NextFact::Pass,
        }
    }

    /// Returns the outcome of the turn if it ends here. One that exceeded its budget says so,
    /// whatever the model answered.
    fn outcome(&self, turn: &Turn) -> TurnOutcome {
        if let Some(limit) = budget::exceeded(turn) {
            return TurnOutcome::Exhausted { limit };
        }
        match (&self.stop, self.answer) {
            (StopReason::Length, _) => {
                TurnOutcome::Exhausted { limit: self.bounded.unwrap_or(LimitKind::OutputTokens) }
            }
            (StopReason::ContentFilter, _) => TurnOutcome::Failed {
                failure: FailureKind::ContentFilter,
                message: String::from("the provider's content filter cut the answer off"),
            },
            (StopReason::Stop | StopReason::Unfinished | StopReason::Other(_), said) => {
                match said {
                    AnswerKind::Text => TurnOutcome::Completed,
                    AnswerKind::Refusal => TurnOutcome::Refused,
                    AnswerKind::Nothing => TurnOutcome::NoAnswer,
                }
            }
        }
    }
}

/// Admits a steering input, after pending hooks on the turn's end. Results of detached children
/// alone do not continue the turn.
fn steer(plan: &Plan, turn: &Turn) -> NextFact {
    let Some(steer) = plan.session.user_steer().filter(|_| !turn.only_re_asks()) else {
        return NextFact::Pass;
    };
    let prompt = |at: HookOccurrence| at.point() == HookPoint::PromptSubmitted;
    if !asked_at(turn).is_none_or(|at| at == HookOccurrence::Interrupt || prompt(at)) {
        return NextFact::Pass;
    }
    match (&turn.pause, budget::exhausted_limit(&plan.session, turn)) {
        (Some(_), _) if is_at_rest(turn) => paused(plan, turn),
        (None, Some(limit)) => NextFact::Fact(settle(plan, turn, TurnOutcome::Exhausted { limit })),
        (Some(_), _) | (None, None) => admit(plan, turn, steer),
    }
}

/// Asks the hooks on an answer or on the turn's end: a denial makes the model continue, within the
/// limit.
fn ask_to_continue(plan: &Plan, turn: &Turn, at: HookOccurrence) -> NextFact {
    let decided: Seq = match hooks::at_turn(turn, at, subject_name(at)) {
        HookStep::Add(fact) => return NextFact::Fact(fact),
        HookStep::Wait => return NextFact::Wait,
        HookStep::Finished(CombinedVerdict::Deny { decided, .. }) => *decided,
        HookStep::Finished(
            CombinedVerdict::Pass | CombinedVerdict::Allow | CombinedVerdict::Ask,
        ) => return NextFact::Pass,
    };
    let mut pending = turn.pending.iter();
    if !pending.any(|pending| pending.decided == decided) {
        return NextFact::Pass;
    }
    if turn.spent.continuations >= turn.limits.continuations {
        let limit = LimitKind::Continuations;
        return NextFact::Fact(settle(plan, turn, TurnOutcome::Exhausted { limit }));
    }
    NextFact::or_wait(context::pending(turn))
}
