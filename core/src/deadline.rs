//! Deadline: the time of the next tick if no other input arrives.

use crate::hook::HookOccurrence;
use crate::session::{CallProgress, CallState, Session, Turn};
use crate::time::Timestamp;

/// Returns the time when the session wants a [`crate::Input::Tick`], if it wants one.
///
/// It is the earliest of these: the end of a backoff, the turn's deadline, the deadline of an open
/// question, the deadline for a client's result, the end of a grace period.
#[must_use]
pub fn deadline(session: &Session) -> Option<Timestamp> {
    let turn = session.turn()?;
    let told = hook_grace_end(turn);
    if told.is_some() {
        return told;
    }
    if let Some(stop) = &turn.stop {
        return Some(stop.at.plus_ms(turn.limits.grace_ms));
    }
    let wait = turn.stage.rules().deadline();
    let wait = wait.filter(|_| turn.hook_rounds.open.is_none());
    let limit = limit(turn);
    let answers = turn.calls().iter().filter_map(answer);
    answers.chain(limit).chain(wait).min()
}

/// Returns the time until which the turn waits for hooks on an interrupt.
pub(crate) fn hook_grace_end(turn: &Turn) -> Option<Timestamp> {
    let gate = turn.hook_rounds.open.as_ref()?;
    let since = gate.pending.iter().map(|asking| asking.since).max()?;
    (gate.at == HookOccurrence::Interrupt).then(|| since.plus_ms(turn.limits.grace_ms))
}

/// Returns the end of the turn's time, if it applies. It does not apply in a stage that one step
/// completes, nor while only hooks on an interrupt delay the end.
pub(crate) fn limit(turn: &Turn) -> Option<Timestamp> {
    let counts = turn.stage.rules().is_timed(turn) && hook_grace_end(turn).is_none();
    let turn_ms = turn.limits.turn_ms;
    (counts && turn_ms > 0).then(|| turn.opened_at.plus_ms(turn_ms))
}

/// Returns the milliseconds that a turn has left; `None` if its time is not limited.
pub(crate) fn left_ms(turn: &Turn, at: Timestamp) -> Option<u64> {
    let turn_ms = turn.limits.turn_ms;
    let left = || turn.opened_at.plus_ms(turn_ms).since_ms(at);
    // A clock that was set back adds no time.
    (turn_ms > 0).then(|| left().min(turn_ms))
}

fn answer(call: &CallState) -> Option<Timestamp> {
    match &call.progress {
        CallProgress::AwaitingApproval { question: Some(question) } => question.deadline,
        CallProgress::AwaitingResult { deadline, .. } => Some(*deadline),
        CallProgress::AwaitingApproval { question: None }
        | CallProgress::Proposed
        | CallProgress::Allowed
        | CallProgress::Denied { .. }
        | CallProgress::Running { .. }
        | CallProgress::Reconciling { .. }
        | CallProgress::Done { .. } => None,
    }
}
