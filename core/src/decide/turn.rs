//! Turns: phases shared by every stage, from the opening of a turn to its end.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use super::Plan;
use crate::budget::answer::{SampleReservation, reserve_sample};
use crate::deadline::{hook_grace_end, limit};
use crate::fact::{
    Fact, InputBlocked, InterruptRequested, SampleStarted, StopTiming, TurnOpened, TurnSettled,
};
use crate::goal::steps as goal;
use crate::hook::HookOccurrence;
use crate::hook_rounds::hooks::{self, HookStep};
use crate::outcome::{InterruptSource, LimitKind, TurnOutcome};
use crate::reason::Reason;
use crate::scope::Scope;
use crate::session::{QueuedInput, StopRequest, Turn};
use crate::stage::{NextFact, TurnOpening};
use crate::time::Timestamp;

/// Opens a turn for the next waiting input.
pub(super) fn open(plan: &Plan) -> Option<Fact> {
    plan.session.next_input().map(|input| open_for(plan, input, None))
}

/// Opens a turn for the next waiting input because a user asks to continue, under the key of the
/// request.
pub(super) fn open_to_continue(plan: &Plan, key: Option<String>) -> Option<Fact> {
    plan.session.continued_input().map(|input| open_for(plan, input, key))
}

fn open_for(plan: &Plan, input: &QueuedInput, key: Option<String>) -> Fact {
    let because = Reason::Input { input: input.id };
    Fact::TurnOpened(TurnOpened {
        dry_run: input.dry_run,
        key,
        ..opened(plan, because, input.scope.clone())
    })
}

/// Opens the turn of a requested compaction, under the key of the user's request.
pub(super) fn open_compaction(plan: &Plan, key: Option<String>) -> Option<Fact> {
    let request = plan.session.compaction.as_ref()?;
    let reason = Reason::CompactionRequested { request: request.requested };
    Some(Fact::TurnOpened(TurnOpened { key, ..opened(plan, reason, request.scope.clone()) }))
}

pub(crate) fn opened(plan: &Plan, because: Reason, scope: Arc<Scope>) -> TurnOpened {
    TurnOpened {
        reason: because,
        scope,
        settings: plan.session.settings_at,
        limits: plan.session.settings.limits.within(&plan.ceiling),
        dry_run: false,
        key: None,
    }
}

/// Requests the turn's stop when its deadline has passed.
pub(super) fn overdue(plan: &Plan, turn: &Turn) -> Option<Fact> {
    let late = limit(turn).is_some_and(|limit| plan.at >= limit);
    (late && turn.stop.is_none()).then(|| {
        Fact::InterruptRequested(InterruptRequested {
            by: InterruptSource::Deadline,
            scope: Arc::new(Scope::system("the time of the turn is over")),
            reason: format!("the turn has run for {} ms, which is its limit", turn.limits.turn_ms),
            when: StopTiming::Now,
            key: None,
        })
    })
}

/// Ends a turn that a fork inherited. It asks no hooks: the source session handles its turn. A
/// decision that the fork cuts off ends at the fork.
pub(super) fn end_inherited(plan: &Plan, turn: &Turn) -> NextFact {
    match plan.session.forked_in_turn() {
        None => NextFact::Pass,
        Some(at) if plan.start() <= at => NextFact::Wait,
        Some(_) => NextFact::Fact(settle(plan, turn, TurnOutcome::forked())),
    }
}

/// Ends a turn that is to stop, once none of its effects run.
pub(super) fn stop(plan: &Plan, turn: &Turn) -> NextFact {
    match &turn.stop {
        Some(stop) if !turn.stage.rules().winds_down() => {
            NextFact::from(block_opening(turn, stop)).or(|| end(plan, turn, stop))
        }
        Some(_) | None => NextFact::Pass,
    }
}

/// Blocks the input of a turn that hooks end: another turn for it would end in the same way, for
/// ever. If the turn was interrupted or ran out of time, its input waits for a user's request to
/// continue.
fn block_opening(turn: &Turn, stop: &StopRequest) -> Option<Fact> {
    let input = match turn.opening()? {
        TurnOpening::Input(input) => input,
        TurnOpening::Goal(_) | TurnOpening::Compaction(_) => return None,
    };
    let reason = match &stop.outcome {
        TurnOutcome::Blocked { reason } => reason.clone(),
        TurnOutcome::Failed { message, .. } => message.clone(),
        TurnOutcome::Interrupted { .. }
        | TurnOutcome::Exhausted { .. }
        | TurnOutcome::Completed
        | TurnOutcome::NoAnswer
        | TurnOutcome::Refused
        | TurnOutcome::InvalidOutput { .. } => return None,
    };
    Some(Fact::InputBlocked(InputBlocked { input, reason }))
}

/// Ends a turn that was asked to pause before the next sample, unless it waits for hooks.
pub(crate) fn pause(plan: &Plan, turn: &Turn) -> NextFact {
    if turn.pause.is_some() && is_at_rest(turn) { paused(plan, turn) } else { NextFact::Pass }
}

/// Ends a turn that was asked to pause before the next sample.
pub(crate) fn paused(plan: &Plan, turn: &Turn) -> NextFact {
    match &turn.pause {
        Some(pause) => end(plan, turn, pause),
        None => NextFact::Wait,
    }
}

/// Runs the hooks on an interrupt, within its grace period, and then ends the turn.
fn end(plan: &Plan, turn: &Turn, stop: &StopRequest) -> NextFact {
    let interrupted = match &stop.outcome {
        TurnOutcome::Interrupted { .. } | TurnOutcome::Exhausted { .. } => true,
        TurnOutcome::Completed
        | TurnOutcome::NoAnswer
        | TurnOutcome::Refused
        | TurnOutcome::InvalidOutput { .. }
        | TurnOutcome::Blocked { .. }
        | TurnOutcome::Failed { .. } => false,
    };
    if interrupted {
        match hooks::at_turn(turn, HookOccurrence::Interrupt, "") {
            HookStep::Add(fact) => return NextFact::Fact(fact),
            HookStep::Wait if hook_grace_end(turn).is_some_and(|until| plan.at >= until) => {
                return NextFact::or_wait(hooks::give_up(plan, turn));
            }
            HookStep::Wait => return NextFact::Wait,
            HookStep::Finished(_) => {}
        }
    }
    NextFact::Fact(settle(plan, turn, stop.outcome.clone()))
}

/// Returns true if nothing delays the turn's end: hooks that are being asked reply first.
pub(crate) fn is_at_rest(turn: &Turn) -> bool {
    asked_at(turn).is_none_or(|at| at == HookOccurrence::Interrupt)
}

/// Returns the occurrence that hooks of the turn are being asked about.
pub(crate) fn asked_at(turn: &Turn) -> Option<HookOccurrence> {
    turn.hook_rounds.open.as_ref().map(|gate| gate.at)
}

/// Returns true if a wait has time left. A wait with more time than the maximum was recorded before
/// the clock was set back; it is over.
pub(crate) fn has_time_left(plan: &Plan, turn: &Turn, until: Timestamp) -> bool {
    let left_ms = until.since_ms(plan.at);
    left_ms > 0 && left_ms <= turn.limits.max_wait_ms()
}

/// Starts the next attempt at a sample, if the budget leaves room for it.
pub(crate) fn ask(plan: &Plan, turn: &Turn) -> NextFact {
    let Some(attempt) = turn.stage.rules().attempt() else {
        return NextFact::Wait;
    };
    let tries = attempt.failures.saturating_add(attempt.restarts);
    // What its hooks said may have filled the session.
    if tries == 0 && plan.session.is_full(&turn.limits) {
        let limit = LimitKind::SessionBytes;
        return NextFact::Fact(settle(plan, turn, TurnOutcome::Exhausted { limit }));
    }
    NextFact::Fact(match reserve_sample(plan, turn) {
        Err(limit) => settle(plan, turn, TurnOutcome::Exhausted { limit }),
        Ok(SampleReservation { reserved, output_bound }) => Fact::SampleStarted(SampleStarted {
            sample: turn.spent.samples.saturating_add(u32::from(tries == 0)),
            attempt: tries.saturating_add(1),
            reason: attempt.reason,
            digest: plan.session.visible.digest,
            reserved,
            output_bound,
            kind: turn.next_kind(),
        }),
    })
}

/// Returns the end of the turn, or the goal fact that must precede it.
pub(crate) fn settle(plan: &Plan, turn: &Turn, outcome: TurnOutcome) -> Fact {
    // A turn that asks no model does nothing towards the goal.
    let end = || goal::end_with_turn(plan, &outcome);
    if let Some(fact) = turn.asks_model().then(end).flatten() {
        return fact;
    }
    Fact::TurnSettled(TurnSettled {
        notice: notice(plan, turn, &outcome),
        outcome,
        spent: turn.spent_at_last(),
        waiting: plan.session.queue.iter().map(|queued| queued.id).collect(),
        detached: plan.session.detached_calls(),
    })
}

/// Most characters of an interrupt's reason in the notice to the model.
const NOTICE_REASON: usize = 500;

/// Returns the notice to the model that the turn was interrupted. A turn whose input was not admitted
/// has shown the model nothing that needs one. Only a person's interrupt is worded as the user's.
fn notice(plan: &Plan, turn: &Turn, outcome: &TurnOutcome) -> Option<Arc<str>> {
    let by = outcome.interrupted_by().filter(|_| turn.opening().is_none())?;
    if plan.session.turn_is_inherited() {
        return Some(unfinished("The conversation was forked here: this turn went no further"));
    }
    let cause = match by {
        InterruptSource::Person => "The user interrupted this turn here",
        InterruptSource::Parent => "The calling session stopped this turn here",
        InterruptSource::Shutdown => {
            "The process was shut down here; the user did not stop this turn"
        }
        InterruptSource::Deadline => {
            "The time limit of this turn was reached here; the user did not stop it"
        }
    };
    let reason = match outcome {
        TurnOutcome::Interrupted { reason, .. } if !reason.trim().is_empty() => {
            let reason: String = reason.trim().chars().take(NOTICE_REASON).collect();
            format!(" (reason: {reason})")
        }
        TurnOutcome::Interrupted { .. }
        | TurnOutcome::Exhausted { .. }
        | TurnOutcome::Completed
        | TurnOutcome::NoAnswer
        | TurnOutcome::Refused
        | TurnOutcome::InvalidOutput { .. }
        | TurnOutcome::Blocked { .. }
        | TurnOutcome::Failed { .. } => String::new(),
    };
    Some(unfinished(&format!("{cause}{reason}")))
}

/// Returns the notice to the model after this cause.
fn unfinished(cause: &str) -> Arc<str> {
    format!(
        "{cause}. Its work may be unfinished, and calls that ran may have taken effect. What the \
         user says next decides whether to go on with it."
    )
    .into()
}
