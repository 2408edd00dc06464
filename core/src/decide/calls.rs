//! Calls: decided, started and given up, one step at a time.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use super::Plan;
use super::policy;
use crate::call::{Observation, ObservationStatus};
use crate::fact::{CallObserved, CallStarted, Fact};
use crate::id::CallId;
use crate::session::{CallState, Executing, Fitness, Progress, Stage, Stop, Turn};
use crate::settings::{Concurrency, EffectClass};

/// The next step of the calls that are out.
pub(super) fn next(plan: &Plan, turn: &Turn, executing: &Executing) -> Option<Fact> {
    let step = executing
        .calls
        .iter()
        .find_map(|call| settle_or_decide(plan, turn, call));
    step.or_else(|| start(plan, turn, executing))
}

/// What is to be said of one call without running it.
fn settle_or_decide(plan: &Plan, turn: &Turn, call: &CallState) -> Option<Fact> {
    match (&call.progress, &turn.stop) {
        (Progress::Done { .. }, _) | (Progress::Running { .. }, None) => None,
        (Progress::Running { .. }, Some(stop)) => abandon(plan, turn, call, stop),
        (Progress::Denied { reason }, _) => {
            Some(observed(call, ObservationStatus::Denied, reason.clone()))
        }
        (Progress::Proposed | Progress::Allowed, Some(_)) => {
            let words = "Not run: the turn was asked to stop before this call began.";
            Some(observed(call, ObservationStatus::NotStarted, words.into()))
        }
        (Progress::Proposed, None) => Some(propose(turn, call)),
        (Progress::Allowed, None) if planned(turn, call) => {
            let words = "Not run: this is a dry run. With these arguments the call would have run.";
            Some(observed(call, ObservationStatus::NotStarted, words.into()))
        }
        (Progress::Allowed, None) => None,
    }
}

/// The first word on a call: over a limit, unfit, or decided by policy.
fn propose(turn: &Turn, call: &CallState) -> Fact {
    if turn.over_calls().is_some() {
        let words = "Not run: the answer asks for more calls than the limit allows.";
        return observed(call, ObservationStatus::NotStarted, words.into());
    }
    match &call.fitness {
        Fitness::Unfit { reason } => observed(call, ObservationStatus::Failed, reason.clone()),
        Fitness::Fit { effect, .. } => Fact::CallDecided(policy::decide(turn, call, *effect)),
    }
}

/// Whether a dry run only plans this call.
fn planned(turn: &Turn, call: &CallState) -> bool {
    let changes = match &call.fitness {
        Fitness::Fit { effect, .. } => *effect != EffectClass::ReadOnly,
        Fitness::Unfit { .. } => false,
    };
    turn.dry_run && changes
}

/// Starts the first call that waits, if there is room for it. Calls start in their order, so an
/// exclusive one is not overtaken for ever.
fn start(plan: &Plan, turn: &Turn, executing: &Executing) -> Option<Fact> {
    let waits = |call: &&CallState| call.progress == Progress::Allowed;
    let call = executing.calls.iter().find(waits)?;
    let Fitness::Fit {
        concurrency,
        timeout_ms,
        ..
    } = &call.fitness
    else {
        return None;
    };
    let mut running = 0_u32;
    let mut alone = false;
    for other in executing.calls.iter() {
        if let (Progress::Running { .. }, Fitness::Fit { concurrency, .. }) =
            (&other.progress, &other.fitness)
        {
            running = running.saturating_add(1);
            alone |= *concurrency == Concurrency::Exclusive;
        }
    }
    let room = match concurrency {
        Concurrency::Parallel => !alone && running < turn.limits.parallel_calls.max(1),
        Concurrency::Exclusive => running == 0,
    };
    room.then(|| {
        Fact::CallStarted(CallStarted {
            call: call.id,
            attempt: 1,
            idempotency_key: idempotency_key(plan, call.id),
            timeout_ms: *timeout_ms,
        })
    })
}

/// The same for each run of a call; no other call of any session has it.
fn idempotency_key(plan: &Plan, call: CallId) -> String {
    format!("{}.{call}", plan.session.id)
}

/// What becomes of a call whose process is gone: run again if that is safe, else unknown.
pub(super) fn after_restart(plan: &Plan, id: CallId) -> Option<Fact> {
    let turn = plan.session.turn()?;
    let Stage::Executing(executing) = &turn.stage else {
        return None;
    };
    let call = executing.calls.iter().find(|call| call.id == id)?;
    let Progress::Running { attempt, .. } = call.progress else {
        return None;
    };
    let Fitness::Fit {
        effect, timeout_ms, ..
    } = &call.fitness
    else {
        return None;
    };
    let again = turn.stop.is_none() && attempt <= turn.limits.restarts;
    Some(match effect {
        EffectClass::ReadOnly | EffectClass::Idempotent if again => {
            Fact::CallStarted(CallStarted {
                call: id,
                attempt: attempt.saturating_add(1),
                idempotency_key: idempotency_key(plan, id),
                timeout_ms: *timeout_ms,
            })
        }
        EffectClass::ReadOnly => {
            let words = "Stopped: the process that ran this call ended. The tool changes nothing.";
            observed(call, ObservationStatus::Aborted, words.into())
        }
        EffectClass::Idempotent | EffectClass::Effectful => {
            let words = "Unknown: the process that ran this call ended before the call did. It may \
                         have taken effect or not; check before you repeat it.";
            observed(call, ObservationStatus::Unknown, words.into())
        }
    })
}

/// What is said of a call whose run never began. An earlier run of it, in a process that ended,
/// may have taken effect all the same.
pub(super) fn never_began(plan: &Plan, id: CallId) -> Observation {
    let repeats = |call: &&CallState| {
        call.id == id && matches!(call.progress, Progress::Running { attempt: 2.., .. })
    };
    let again = plan.session.turn().and_then(|turn| match &turn.stage {
        Stage::Executing(executing) => executing.calls.iter().find(repeats),
        Stage::Opening { .. }
        | Stage::Ready(_)
        | Stage::Sampling(_)
        | Stage::Backoff(_)
        | Stage::Concluding(_)
        | Stage::Ending(_) => None,
    });
    match again.map(read_only) {
        None => {
            let words = "Not run: the turn was asked to stop before this call began.";
            Observation::new(ObservationStatus::NotStarted, words)
        }
        Some(true) => {
            let words = "Stopped: the process that ran this call ended. The tool changes nothing.";
            Observation::new(ObservationStatus::Aborted, words)
        }
        Some(false) => {
            let words = "Unknown: the process that ran this call ended before the call did, and it \
                         was not run again. It may have taken effect or not; check before you \
                         repeat it.";
            Observation::new(ObservationStatus::Unknown, words)
        }
    }
}

fn read_only(call: &CallState) -> bool {
    match &call.fitness {
        Fitness::Fit { effect, .. } => *effect == EffectClass::ReadOnly,
        Fitness::Unfit { .. } => true,
    }
}

/// Gives up on a run that was told to stop and has not answered within its grace.
fn abandon(plan: &Plan, turn: &Turn, call: &CallState, stop: &Stop) -> Option<Fact> {
    let late = plan.at >= stop.at.plus_ms(turn.limits.grace_ms);
    late.then(|| {
        if read_only(call) {
            let words = "Stopped: the turn was asked to stop. The tool changes nothing.";
            return observed(call, ObservationStatus::Aborted, words.into());
        }
        let words = "Unknown: the turn was asked to stop and this call did not end in time. It may \
                     have taken effect or not; check before you repeat it.";
        observed(call, ObservationStatus::Unknown, words.into())
    })
}

fn observed(call: &CallState, status: ObservationStatus, words: String) -> Fact {
    Fact::CallObserved(CallObserved {
        call: call.id,
        observation: Arc::new(Observation::new(status, words)),
    })
}
