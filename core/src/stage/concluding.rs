//! Concluding: the model has answered and asks for nothing more.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::sampling::Said;
use super::transition::about_steer;
use super::{Allowed, Next, Report, Rules, Transition};
use crate::budget;
use crate::decide::admit::admit;
use crate::decide::turn::{asked_at, paused, rests, settle};
use crate::decide::{Plan, context, shape};
use crate::effect::{EffectKey, Owed};
use crate::error::Reject;
use crate::fact::Fact;
use crate::failure::FailureKind;
use crate::gate::Word;
use crate::gate::hooks::{self, At};
use crate::gate::word;
use crate::hook::{HookAt, HookPoint};
use crate::id::Seq;
use crate::item::StopReason;
use crate::outcome::{LimitKind, Outcome};
use crate::session::{Session, Turn};
use crate::time::Timestamp;

/// The model has answered and asks for nothing more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Concluding {
    /// The `SampleStarted` of the answer.
    pub started: Seq,
    /// Reason why it stopped.
    pub stop: StopReason,
    /// Strongest thing that it said.
    pub said: Said,
    /// Fault in its shape, if the settings ask for one and it has another.
    pub fault: Option<String>,
}

impl Rules for Concluding {
    fn allows(&self, session: &Session, turn: &Turn, transition: Transition<'_>) -> Allowed {
        let so = match transition {
            Transition::Accept(input) | Transition::Block(input) => session.is_steer(input),
            Transition::Inject => true,
            Transition::AskAgain(started) => {
                started == self.started
                    && self.fault.is_some()
                    && turn.spent.returns < turn.returns()
            }
            Transition::AskHooks(at) => {
                about_steer(session, at) || at == self.answered() || at == self.end(session, turn)
            }
            Transition::Settle(outcome) => turn.pauses(outcome) || self.ends(turn, outcome),
            Transition::InjectLast | Transition::EndCompaction(_) | Transition::Sample(_) => false,
        };
        transition.only_if(so)
    }

    fn on(&self, _: &Plan, _: &Turn, key: EffectKey, _: Report) -> Result<Vec<Fact>, Reject> {
        Err(Reject::Stale(key))
    }

    /// Hooks may have the model go on, and so may a user who has spoken to the turn. Hooks see only
    /// an answer that has the shape that is asked for.
    fn next(&self, plan: &Plan, turn: &Turn) -> Next {
        self.after_answer(plan, turn)
            .or(|| steer(plan, turn))
            .or(|| self.mend(plan, turn))
            .or(|| self.before_end(plan, turn))
            .or(|| Next::Fact(settle(plan, turn, self.outcome())))
    }

    fn owed(&self, _: &Session, _: &Turn) -> Option<Owed> {
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

    fn retries(&self) -> bool {
        self.fault.is_some()
    }

    fn is_timed(&self, turn: &Turn) -> bool {
        turn.gates.open.is_some()
    }
}

impl Concluding {
    fn answered(&self) -> HookAt {
        HookAt::AfterAnswer {
            started: self.started,
        }
    }

    fn end(&self, session: &Session, turn: &Turn) -> HookAt {
        let (started, continued) = (self.started, turn.spent.continuations);
        if session.is_child() {
            HookAt::SubTurnStop { started, continued }
        } else {
            HookAt::Stop { started, continued }
        }
    }

    /// An answer that does not have its shape is never plain success.
    fn ends(&self, turn: &Turn, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Completed => self.fault.is_none(),
            Outcome::Misshapen { fault } => {
                self.fault.as_ref() == Some(fault) && turn.spent.returns >= turn.returns()
            }
            Outcome::NoAnswer
            | Outcome::Refused
            | Outcome::Exhausted { .. }
            | Outcome::Failed { .. } => true,
            Outcome::Interrupted { .. } | Outcome::Blocked { .. } => false,
        }
    }

    fn after_answer(&self, plan: &Plan, turn: &Turn) -> Next {
        if self.fault.is_some() {
            return Next::Pass;
        }
        go_on(plan, turn, self.answered())
    }

    fn mend(&self, plan: &Plan, turn: &Turn) -> Next {
        match &self.fault {
            Some(fault) => shape::mend(plan, turn, self.started, fault),
            None => Next::Pass,
        }
    }

    fn before_end(&self, plan: &Plan, turn: &Turn) -> Next {
        match self.outcome() {
            Outcome::Completed | Outcome::NoAnswer | Outcome::Refused => {
                go_on(plan, turn, self.end(&plan.session, turn))
            }
            Outcome::Misshapen { .. }
            | Outcome::Interrupted { .. }
            | Outcome::Blocked { .. }
            | Outcome::Exhausted { .. }
            | Outcome::Failed { .. } => Next::Pass,
        }
    }

    fn outcome(&self) -> Outcome {
        match (&self.stop, self.said) {
            (StopReason::Length, _) => Outcome::Exhausted {
                limit: LimitKind::OutputTokens,
            },
            (StopReason::ContentFilter, _) => Outcome::Failed {
                failure: FailureKind::ContentFilter,
                message: String::from("the provider's content filter cut the answer off"),
            },
            (StopReason::Stop | StopReason::Unfinished | StopReason::Other(_), said) => {
                match said {
                    Said::Text => Outcome::Completed,
                    Said::Refusal => Outcome::Refused,
                    Said::Nothing => Outcome::NoAnswer,
                }
            }
        }
    }
}

/// The user is heard, after the hooks that are asked whether the turn may end.
fn steer(plan: &Plan, turn: &Turn) -> Next {
    let Some(steer) = plan.session.steer() else {
        return Next::Pass;
    };
    let prompt = |at: HookAt| at.point() == HookPoint::PromptSubmitted;
    if !asked_at(turn).is_none_or(|at| at == HookAt::Interrupt || prompt(at)) {
        return Next::Pass;
    }
    match (&turn.pause, budget::spent(turn)) {
        (Some(_), _) if rests(turn) => paused(plan, turn),
        (None, Some(limit)) => Next::Fact(settle(plan, turn, Outcome::Exhausted { limit })),
        (Some(_), _) | (None, None) => admit(plan, turn, steer),
    }
}

/// Asks the hooks of an answer, or of the end of the turn: a denial has the model go on, as often as
/// it may.
fn go_on(plan: &Plan, turn: &Turn, at: HookAt) -> Next {
    let decided: Seq = match hooks::at_turn(turn, at, word(at)) {
        At::Do(fact) => return Next::Fact(fact),
        At::Wait => return Next::Wait,
        At::Passed(Word::Deny { decided, .. }) => *decided,
        At::Passed(Word::Pass | Word::Allow | Word::Ask) => return Next::Pass,
    };
    let mut pending = turn.pending.iter();
    if !pending.any(|pending| pending.decided == decided) {
        return Next::Pass;
    }
    if turn.spent.continuations >= turn.limits.continuations {
        let limit = LimitKind::Continuations;
        return Next::Fact(settle(plan, turn, Outcome::Exhausted { limit }));
    }
    Next::or_wait(context::pending(turn))
}
