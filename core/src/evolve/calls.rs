//! Calls: decided, started, observed.

use super::{misfit, turn_of};
use crate::because::Because;
use crate::call::Verdict;
use crate::context;
use crate::error::Misfit;
use crate::fact::{CallDecided, CallObserved, CallStarted};
use crate::id::CallId;
use crate::outcome::Outcome;
use crate::record::Recorded;
use crate::session::{CallState, Executing, Fitness, Progress, Ready, Session, Stage, Turn};
use crate::settings::EffectClass;

pub(super) fn on_decided(
    session: &mut Session,
    recorded: &Recorded,
    fact: &CallDecided,
) -> Result<(), Misfit> {
    let call = call_of(turn_of(session, recorded)?, recorded, fact.call)?;
    if call.progress != Progress::Proposed {
        return Err(misfit(recorded, "the call is decided already"));
    }
    if fact.arguments != call.arguments {
        return Err(misfit(recorded, "the decision is about other arguments"));
    }
    call.progress = match fact.verdict {
        Verdict::Allow => Progress::Allowed,
        Verdict::Deny => Progress::Denied {
            reason: fact.reason.clone(),
        },
    };
    Ok(())
}

pub(super) fn on_started(
    session: &mut Session,
    recorded: &Recorded,
    fact: &CallStarted,
) -> Result<(), Misfit> {
    let call = call_of(turn_of(session, recorded)?, recorded, fact.call)?;
    let Fitness::Fit { effect, .. } = &call.fitness else {
        return Err(misfit(recorded, "the call cannot be run"));
    };
    let attempt = match (&call.progress, effect) {
        (Progress::Allowed, _) => 1,
        (Progress::Running { .. }, EffectClass::Effectful) => {
            return Err(misfit(recorded, "an effectful call starts at most once"));
        }
        (Progress::Running { attempt, .. }, EffectClass::ReadOnly | EffectClass::Idempotent) => {
            attempt.saturating_add(1)
        }
        (Progress::Proposed | Progress::Denied { .. } | Progress::Done { .. }, _) => {
            return Err(misfit(recorded, "the call may not start"));
        }
    };
    if fact.attempt != attempt {
        return Err(misfit(recorded, "its runs are not counted on"));
    }
    call.progress = Progress::Running {
        started: recorded.seq,
        attempt,
    };
    Ok(())
}

/// With the last observation the turn goes on, and the model will see all of them in call order,
/// whichever came first.
pub(super) fn on_observed(
    session: &mut Session,
    recorded: &Recorded,
    fact: &CallObserved,
) -> Result<(), Misfit> {
    let mut context = session.context;
    let turn = turn_of(session, recorded)?;
    let call = call_of(turn, recorded, fact.call)?;
    if matches!(call.progress, Progress::Done { .. }) {
        return Err(misfit(recorded, "the call has its observation already"));
    }
    call.progress = Progress::Done {
        observation: context::observation(&fact.observation),
    };
    let executing = executing(turn, recorded)?;
    for call in executing.calls.iter() {
        let Progress::Done { observation } = call.progress else {
            return Ok(());
        };
        context = context.digest(observation);
    }
    turn.stage = match turn.over_calls() {
        Some(limit) => Stage::Ending(Outcome::Exhausted { limit }),
        None => Stage::Ready(Ready {
            because: Because::ToolResults,
        }),
    };
    session.context = context;
    Ok(())
}

fn executing<'a>(turn: &'a mut Turn, recorded: &Recorded) -> Result<&'a mut Executing, Misfit> {
    match &mut turn.stage {
        Stage::Executing(executing) => Ok(executing),
        Stage::Opening { .. }
        | Stage::Ready(_)
        | Stage::Sampling(_)
        | Stage::Backoff(_)
        | Stage::Concluding(_)
        | Stage::Ending(_) => Err(misfit(recorded, "no calls are out")),
    }
}

fn call_of<'a>(
    turn: &'a mut Turn,
    recorded: &Recorded,
    id: CallId,
) -> Result<&'a mut CallState, Misfit> {
    let executing = executing(turn, recorded)?;
    let call = executing.calls.iter_mut().find(|call| call.id == id);
    call.ok_or_else(|| misfit(recorded, "no such call is out"))
}
