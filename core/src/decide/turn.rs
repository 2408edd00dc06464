//! Turns: phases that every stage shares, from the opening of a turn to its end.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use super::Plan;
use crate::because::Because;
use crate::budget;
use crate::deadline::{limit, told};
use crate::fact::{
    Fact, InputBlocked, InterruptRequested, SampleStarted, StopWhen, TurnOpened, TurnSettled,
};
use crate::gate::hooks::{self, At};
use crate::goal::steps as goal;
use crate::hook::HookAt;
use crate::outcome::{Interrupter, Outcome};
use crate::scope::Scope;
use crate::session::{Stop, Turn};
use crate::stage::{Next, Opening};
use crate::time::Timestamp;

/// Opens a turn for the next input that waits, under the key that a user asks for that under.
pub(super) fn open(plan: &Plan, key: Option<String>) -> Option<Fact> {
    let input = plan.session.next_input()?;
    let because = Because::Opened { input: input.id };
    Some(Fact::TurnOpened(TurnOpened {
        dry_run: input.dry_run,
        key,
        ..opened(plan, because, input.scope.clone())
    }))
}

pub(crate) fn opened(plan: &Plan, because: Because, scope: Arc<Scope>) -> TurnOpened {
    TurnOpened {
        because,
        scope,
        settings: plan.session.settings_at,
        limits: plan.session.settings.limits.within(&plan.ceiling),
        dry_run: false,
        key: None,
    }
}

/// Asks the turn to stop when its own deadline has passed.
pub(super) fn overdue(plan: &Plan, turn: &Turn) -> Option<Fact> {
    let late = limit(turn).is_some_and(|limit| plan.at >= limit);
    (late && turn.stop.is_none()).then(|| {
        Fact::InterruptRequested(InterruptRequested {
            by: Interrupter::Deadline,
            scope: Arc::new(Scope::system("the time of the turn is over")),
            reason: format!(
                "the turn has run for {} ms, which is its limit",
                turn.limits.turn_ms
            ),
            when: StopWhen::Now,
            key: None,
        })
    })
}

/// Ends a turn that is to stop, once nothing of it runs.
pub(super) fn stop(plan: &Plan, turn: &Turn) -> Next {
    match &turn.stop {
        Some(stop) if !turn.stage.rules().winds_down() => {
            Next::from(block_opening(turn, stop)).or(|| end(plan, turn, stop))
        }
        Some(_) | None => Next::Pass,
    }
}

/// Blocks the input of a turn that hooks end: another turn for it would end in the same way, for
/// ever. An input whose turn was asked to stop, or ran out of time, waits for a user's word.
fn block_opening(turn: &Turn, stop: &Stop) -> Option<Fact> {
    let input = match turn.opening()? {
        Opening::Input(input) => input,
        Opening::Goal(_) => return None,
    };
    let reason = match &stop.outcome {
        Outcome::Blocked { reason } => reason.clone(),
        Outcome::Failed { message, .. } => message.clone(),
        Outcome::Interrupted { .. }
        | Outcome::Exhausted { .. }
        | Outcome::Completed
        | Outcome::NoAnswer
        | Outcome::Refused
        | Outcome::Misshapen { .. } => return None,
    };
    Some(Fact::InputBlocked(InputBlocked { input, reason }))
}

/// Ends a turn that was asked to stop before the model is asked again, unless hooks are being asked
/// that it waits for.
pub(crate) fn pause(plan: &Plan, turn: &Turn) -> Next {
    if turn.pause.is_some() && rests(turn) {
        paused(plan, turn)
    } else {
        Next::Pass
    }
}

/// Ends a turn that was asked to stop before the model is asked again.
pub(crate) fn paused(plan: &Plan, turn: &Turn) -> Next {
    match &turn.pause {
        Some(pause) => end(plan, turn, pause),
        None => Next::Wait,
    }
}

/// Hooks hear that the turn was asked to stop, within its grace; then it ends.
fn end(plan: &Plan, turn: &Turn, stop: &Stop) -> Next {
    let interrupted = match &stop.outcome {
        Outcome::Interrupted { .. } | Outcome::Exhausted { .. } => true,
        Outcome::Completed
        | Outcome::NoAnswer
        | Outcome::Refused
        | Outcome::Misshapen { .. }
        | Outcome::Blocked { .. }
        | Outcome::Failed { .. } => false,
    };
    if interrupted {
        match hooks::at_turn(turn, HookAt::Interrupt, "") {
            At::Do(fact) => return Next::Fact(fact),
            At::Wait if told(turn).is_some_and(|until| plan.at >= until) => {
                return Next::or_wait(hooks::give_up(plan, turn));
            }
            At::Wait => return Next::Wait,
            At::Passed(_) => {}
        }
    }
    Next::Fact(settle(plan, turn, stop.outcome.clone()))
}

/// Answers whether nothing stands between the turn and its end: hooks that are being asked are
/// heard first.
pub(crate) fn rests(turn: &Turn) -> bool {
    asked_at(turn).is_none_or(|at| at == HookAt::Interrupt)
}

/// Returns the occurrence that hooks of the turn are being asked about.
pub(crate) fn asked_at(turn: &Turn) -> Option<HookAt> {
    turn.gates.open.as_ref().map(|gate| gate.at)
}

/// Answers whether a wait has time left. One that has more of it than any wait gets was recorded
/// under a clock that has since been set back; it is over.
pub(crate) fn waits(plan: &Plan, turn: &Turn, until: Timestamp) -> bool {
    let left_ms = until.since_ms(plan.at);
    left_ms > 0 && left_ms <= turn.limits.backoff_max_ms
}

/// Starts the next attempt at a sample, if the budget leaves room for it.
pub(crate) fn ask(plan: &Plan, turn: &Turn) -> Next {
    let Some(attempt) = turn.stage.rules().attempt() else {
        return Next::Wait;
    };
    let tries = attempt.failures.saturating_add(attempt.restarts);
    Next::Fact(match budget::reserve(plan, turn) {
        Err(limit) => settle(plan, turn, Outcome::Exhausted { limit }),
        Ok(reserved) => Fact::SampleStarted(SampleStarted {
            sample: turn.spent.samples.saturating_add(u32::from(tries == 0)),
            attempt: tries.saturating_add(1),
            because: attempt.because,
            digest: plan.session.shown.digest,
            reserved,
            kind: turn.next_kind(),
        }),
    })
}

/// Returns the end of the turn, or what must be said of its goal before it.
pub(crate) fn settle(plan: &Plan, turn: &Turn, outcome: Outcome) -> Fact {
    if let Some(fact) = goal::left(plan, &outcome) {
        return fact;
    }
    Fact::TurnSettled(TurnSettled {
        outcome,
        spent: turn.spent_at_last(),
        waiting: plan.session.queue.iter().map(|queued| queued.id).collect(),
    })
}
