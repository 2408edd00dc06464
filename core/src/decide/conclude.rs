//! Conclude: the end of a turn whose model asks for nothing more.

use alloc::string::String;

use super::hooks::{self, At};
use super::proceed::{asked_at, hear, prompt, rests, settle, told};
use super::{Plan, budget, context, shape};
use crate::evolve::word;
use crate::fact::Fact;
use crate::failure::FailureKind;
use crate::gate::Word;
use crate::hook::HookAt;
use crate::id::Seq;
use crate::item::StopReason;
use crate::outcome::{LimitKind, Outcome};
use crate::session::{Concluding, Said, Turn};

/// The model asks for nothing more: hooks may have it go on, and so may a user who has spoken
/// meanwhile. Hooks see only an answer that has the shape that is asked for.
pub(super) fn conclude(plan: &Plan, turn: &Turn, concluding: &Concluding) -> Option<Fact> {
    let started = concluding.started;
    if concluding.fault.is_none()
        && let Some(step) = answered(plan, turn, HookAt::AfterAnswer { started })
    {
        return step;
    }
    // Hooks that are asked whether the turn may end are heard first.
    if let Some(steer) = plan.session.steer()
        && asked_at(turn).is_none_or(|at| at == HookAt::Interrupt || prompt(at))
    {
        return match (&turn.pause, budget::spent(turn)) {
            (Some(pause), _) if rests(turn) => told(plan, turn, pause),
            (Some(_), _) => hear(plan, turn, steer),
            (None, Some(limit)) => Some(settle(plan, turn, Outcome::Exhausted { limit })),
            (None, None) => hear(plan, turn, steer),
        };
    }
    if let Some(fault) = &concluding.fault {
        return shape::misshapen(plan, turn, started, fault);
    }
    let outcome = concluded(concluding);
    let continued = turn.spent.continuations;
    let at = if plan.session.is_child() {
        HookAt::SubTurnStop { started, continued }
    } else {
        HookAt::Stop { started, continued }
    };
    match &outcome {
        Outcome::Completed | Outcome::NoAnswer | Outcome::Refused => {
            if let Some(step) = answered(plan, turn, at) {
                return step;
            }
        }
        Outcome::Misshapen { .. }
        | Outcome::Interrupted { .. }
        | Outcome::Blocked { .. }
        | Outcome::Exhausted { .. }
        | Outcome::Failed { .. } => {}
    }
    Some(settle(plan, turn, outcome))
}

/// What hooks say to an answer, or to the end of the turn; `None` when they let it be.
fn answered(plan: &Plan, turn: &Turn, at: HookAt) -> Option<Option<Fact>> {
    let decided: Seq = match hooks::at_turn(turn, at, word(at)) {
        At::Do(fact) => return Some(Some(fact)),
        At::Wait => return Some(None),
        At::Passed(Word::Deny { decided, .. }) => *decided,
        At::Passed(Word::Pass | Word::Allow | Word::Ask) => return None,
    };
    let waits = turn
        .pending
        .iter()
        .any(|pending| pending.decided == decided);
    if !waits {
        return None;
    }
    if turn.spent.continuations >= turn.limits.continuations {
        let limit = LimitKind::Continuations;
        return Some(Some(settle(plan, turn, Outcome::Exhausted { limit })));
    }
    Some(context::pending(turn))
}

fn concluded(concluding: &Concluding) -> Outcome {
    match (&concluding.stop, concluding.said) {
        (StopReason::Length, _) => Outcome::Exhausted {
            limit: LimitKind::OutputTokens,
        },
        (StopReason::ContentFilter, _) => Outcome::Failed {
            failure: FailureKind::ContentFilter,
            message: String::from("the provider's content filter cut the answer off"),
        },
        (StopReason::Stop | StopReason::Unfinished | StopReason::Other(_), said) => match said {
            Said::Text => Outcome::Completed,
            Said::Refusal => Outcome::Refused,
            Said::Nothing => Outcome::NoAnswer,
        },
    }
}
