//! Restarts: calls whose process ended, and runs that never started.

use alloc::format;
use alloc::sync::Arc;

use super::steps::{idempotency_key, is_planned, observed};
use super::{Observation, ObservationStatus, programs};
use crate::decide::Plan;
use crate::fact::{CallObserved, CallStarted, Fact, ReconcileStarted};
use crate::id::CallId;
use crate::session::{CallProgress, CallState, CallValidity, Turn};
use crate::settings::EffectClass;

fn find(plan: &Plan, id: CallId) -> Option<(&Turn, &CallState)> {
    let turn = plan.session.turn()?;
    let call = turn.calls().iter().find(|call| call.id == id)?;
    Some((turn, call))
}

/// Returns the fact for a call whose process ended: another run if that is safe; else a question to
/// its tool, if it reconciles; else an unknown result.
pub(crate) fn after_restart(plan: &Plan, id: CallId) -> Option<Fact> {
    let (turn, call) = find(plan, id)?;
    let CallProgress::Running { attempt, plan: only_plan, .. } = call.progress else {
        return None;
    };
    let repeats = call.repeats(attempt);
    let again = turn.stop.is_none() && repeats <= turn.limits.restarts && !call.barred;
    if let CallValidity::Program { timeout_ms, .. } = call.validity {
        return Some(match again {
            true => Fact::CallStarted(CallStarted {
                call: id,
                attempt: attempt.saturating_add(1),
                idempotency_key: idempotency_key(plan, id),
                timeout_ms,
                plan: false,
                client: false,
                grant: None,
            }),
            false => programs::abandoned(turn, id),
        });
    }
    let CallValidity::Valid { effect, timeout_ms, reconciles, .. } = &call.validity else {
        return None;
    };
    let harmless = only_plan || *effect == EffectClass::ReadOnly;
    let rerun = || {
        Fact::CallStarted(CallStarted {
            call: id,
            attempt: attempt.saturating_add(1),
            idempotency_key: idempotency_key(plan, id),
            timeout_ms: turn.run_ms(call, call.grant, *timeout_ms),
            plan: only_plan,
            client: false,
            grant: call.grant,
        })
    };
    Some(match effect {
        EffectClass::ReadOnly | EffectClass::Idempotent if again => rerun(),
        EffectClass::Effectful if again && (only_plan || call.is_repeatable()) => rerun(),
        EffectClass::ReadOnly | EffectClass::Idempotent | EffectClass::Effectful if harmless => {
            let words = "Stopped: the process that ran this call ended. The tool changes nothing.";
            observed(call, ObservationStatus::Aborted, words.into())
        }
        EffectClass::ReadOnly | EffectClass::Idempotent | EffectClass::Effectful
            if *reconciles && turn.stop.is_none() =>
        {
            reconcile(plan, id, 1, *timeout_ms)
        }
        EffectClass::ReadOnly | EffectClass::Idempotent | EffectClass::Effectful => {
            settle_unknown(call)
        }
    })
}

fn reconcile(plan: &Plan, call: CallId, attempt: u32, timeout_ms: u64) -> Fact {
    Fact::ReconcileStarted(ReconcileStarted {
        call,
        attempt,
        idempotency_key: idempotency_key(plan, call),
        timeout_ms,
    })
}

/// Asks the tool about the outcome of a call again: the process of the last question ended too.
pub(crate) fn reconcile_again(plan: &Plan, id: CallId) -> Option<Fact> {
    let (turn, call) = find(plan, id)?;
    let CallProgress::Reconciling { attempt, .. } = call.progress else {
        return None;
    };
    let CallValidity::Valid { timeout_ms, .. } = call.validity else {
        return None;
    };
    if turn.stop.is_none() && attempt <= turn.limits.restarts {
        return Some(reconcile(plan, id, attempt.saturating_add(1), timeout_ms));
    }
    Some(settle_unknown(call))
}

fn settle_unknown(call: &CallState) -> Fact {
    Fact::CallObserved(CallObserved {
        call: call.id,
        observation: Arc::new(unknown()),
        usage: call.grant.map(|lent| lent.as_usage()),
        report: None,
        form: None,
        detached: call.grant.is_some(),
        by: None,
        key: None,
    })
}

/// Returns the observation of a call whose process ended and whose outcome is unknown.
pub(crate) fn unknown() -> Observation {
    let words = "Unknown: the process that ran this call ended before the call did. It may \
                 have taken effect or not; check before you repeat it.";
    Observation::new(ObservationStatus::Unknown, words)
}

/// Returns the observation of a call whose run never started. An earlier run, in a process that
/// ended, may still have taken effect.
pub(crate) fn never_started(plan: &Plan, id: CallId) -> Observation {
    let again = find(plan, id)
        .filter(|(_, call)| matches!(call.progress, CallProgress::Running { attempt: 2.., .. }));
    let harmless =
        |(turn, call): (&Turn, &CallState)| call.is_read_only() || is_planned(turn, call);
    match again.map(harmless) {
        None => {
            let words = format!("Not run: {} before this call began.", plan.session.stop_cause());
            Observation::new(ObservationStatus::NotStarted, words)
        }
        Some(true) => {
            let words = "Stopped: the process that ran this call ended. The tool changes nothing.";
            Observation::new(ObservationStatus::Aborted, words)
        }
        Some(false) if find(plan, id).is_some_and(|(_, call)| call.is_suspended()) => {
            let words = "Unknown: this call had begun and waited, and it did not go on. It may have \
                         taken effect in part. Check before you repeat it.";
            Observation::new(ObservationStatus::Unknown, words)
        }
        Some(false) => {
            let words = "Unknown: the process that ran this call ended before the call did, and it \
                         was not run again. It may have taken effect or not; check before you \
                         repeat it.";
            Observation::new(ObservationStatus::Unknown, words)
        }
    }
}
