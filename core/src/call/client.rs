//! Calls of a client's tools: the client runs them, and the turn waits for their results. The wait
//! is a state and not an effect, so it outlives processes.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use super::answer::observed;
use super::{Observation, ObservationStatus, steps, suspension};
use crate::decide::{Plan, require_visible};
use crate::error::Reject;
use crate::fact::{CallObserved, Fact};
use crate::id::CallId;
use crate::scope::Scope;
use crate::session::{CallProgress, CallState, Turn};
use crate::time::Timestamp;

/// Records the result that a client returns for its call, or the answer for a suspended one. The
/// first one counts.
pub(crate) fn on_result(
    plan: &mut Plan,
    id: CallId,
    scope: Scope,
    observation: Observation,
) -> Result<(), Reject> {
    require_visible(plan, &scope)?;
    if plan.session.turn().is_some_and(|turn| is_asked(turn, id, plan.at)) {
        let key = plan.key.take();
        return plan.push(suspension::answered(id, scope, observation, key));
    }
    let turn = plan.session.turn().filter(|turn| is_awaited(turn, id, plan.at));
    let turn = turn.filter(|_| ended(observation.status)).ok_or(Reject::ResultNotAwaited(id))?;
    let fact = observed(turn, id, observation, None);
    let key = plan.key.take();
    plan.push(Fact::CallObserved(CallObserved { by: Some(Arc::new(scope)), key, ..fact }))
}

fn is_asked(turn: &Turn, id: CallId, at: Timestamp) -> bool {
    let mut calls = turn.calls().iter();
    calls.any(|call| call.id == id && suspension::is_asked(call, at))
}

fn is_awaited(turn: &Turn, id: CallId, at: Timestamp) -> bool {
    let mut calls = turn.calls().iter();
    calls.any(|call| match call.progress {
        CallProgress::AwaitingResult { deadline, .. } => call.id == id && at < deadline,
        CallProgress::Proposed
        | CallProgress::AwaitingApproval { .. }
        | CallProgress::Allowed
        | CallProgress::Denied { .. }
        | CallProgress::Running { .. }
        | CallProgress::Reconciling { .. }
        | CallProgress::Done { .. } => false,
    })
}

/// Returns true for the statuses that a client may report.
fn ended(status: ObservationStatus) -> bool {
    match status {
        ObservationStatus::Done | ObservationStatus::Failed => true,
        ObservationStatus::Denied
        | ObservationStatus::Aborted
        | ObservationStatus::Unknown
        | ObservationStatus::NotStarted => false,
    }
}

/// Ends a call whose client has returned no result by the deadline, or whose question has no answer.
pub(super) fn expire(plan: &Plan, call: &CallState, deadline: Timestamp) -> Option<Fact> {
    let late = plan.at >= deadline;
    late.then(|| {
        let cause = match call.is_suspended() {
            true => "nobody answered in time",
            false => "the client returned no result in time",
        };
        without_result(call, ObservationStatus::Failed, cause)
    })
}

/// Ends a call whose turn is to stop. Nothing tells whether its client goes on.
pub(super) fn stopped(call: &CallState, cause: &str) -> Fact {
    without_result(call, ObservationStatus::Aborted, cause)
}

pub(super) fn without_result(call: &CallState, harmless: ObservationStatus, cause: &str) -> Fact {
    let (status, words): (_, String) = match call.is_read_only() {
        true => (harmless, format!("Stopped: {cause}. The tool changes nothing.")),
        false if call.is_suspended() => {
            let words = format!(
                "Unknown: {cause}, and this call had begun and waited. It may have taken effect in \
                 part. Check before you repeat it."
            );
            (ObservationStatus::Unknown, words)
        }
        false => {
            let words = format!(
                "Unknown: {cause}, and the client may have run this call or not. Check before you \
                 repeat it."
            );
            (ObservationStatus::Unknown, words)
        }
    };
    steps::observed(call, status, words)
}
