//! Inputs: the facts that an input itself is.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Plan, calls, proceed};
use crate::call::Observation;
use crate::effect::EffectKey;
use crate::error::Reject;
use crate::fact::{
    CallObserved, Fact, InputQueued, InterruptRequested, ItemAdded, SampleCut, SampleEnded,
    SettingsChanged,
};
use crate::failure::{FailureKind, Retry, SampleFailure};
use crate::id::{CallId, Seq};
use crate::input::{Input, SampleNews};
use crate::outcome::Interrupter;
use crate::scope::Scope;
use crate::session::{Delivery, Phase, Progress, Sampling, Stage, Turn};
use crate::settings::Settings;
use crate::time::Timestamp;

/// Adds the facts that the input itself is.
pub(super) fn take(plan: &mut Plan, input: Input) -> Result<(), Reject> {
    match input {
        Input::Configure { settings } => on_configure(plan, settings),
        Input::Send {
            scope,
            text,
            delivery,
            key,
            dry_run,
        } => on_send(plan, scope, text, delivery, key, dry_run),
        Input::Continue => on_continue(plan),
        Input::Interrupt { by, reason } => on_interrupt(plan, by, reason),
        Input::Recovered => on_recovered(plan),
        Input::Tick => Ok(()),
        Input::Sampled { key, news } => on_sampled(plan, key, news),
        Input::Ran { key, observation } => on_ran(plan, key, observation),
        Input::NeverBegan { key } => on_never_began(plan, key),
    }
}

fn on_configure(plan: &mut Plan, settings: Settings) -> Result<(), Reject> {
    if *plan.session.settings == settings {
        return Ok(());
    }
    plan.push(Fact::SettingsChanged(SettingsChanged {
        settings: Arc::new(settings),
    }))
}

fn on_send(
    plan: &mut Plan,
    scope: Scope,
    text: String,
    delivery: Delivery,
    key: Option<String>,
    dry_run: bool,
) -> Result<(), Reject> {
    if text.trim().is_empty() {
        return Err(Reject::Empty);
    }
    if let Some(key) = &key
        && let Some((_, seq)) = plan.session.keys.iter().find(|(known, _)| known == key)
    {
        return Err(Reject::Duplicate(*seq));
    }
    // What opens a turn at once does not wait, so a limit of 0 only refuses what would.
    let opens = plan.session.queue.is_empty() && plan.session.turn().is_none();
    let waiting = u32::try_from(plan.session.queue.len()).unwrap_or(u32::MAX);
    if !opens && waiting >= plan.session.settings.limits.within(&plan.ceiling).queue {
        return Err(Reject::QueueFull { waiting });
    }
    plan.push(Fact::InputQueued(InputQueued {
        scope: Arc::new(scope),
        text: text.into(),
        delivery,
        key,
        dry_run,
    }))
}

fn on_continue(plan: &mut Plan) -> Result<(), Reject> {
    if plan.session.turn().is_some() {
        return Ok(());
    }
    match proceed::open_turn(plan) {
        Some(fact) => plan.push(fact),
        None => Err(Reject::NothingWaits),
    }
}

fn on_interrupt(plan: &mut Plan, by: Interrupter, reason: String) -> Result<(), Reject> {
    match plan.session.turn() {
        None => Err(Reject::Idle),
        Some(turn) if turn.stop.is_some() => Err(Reject::Stopping),
        Some(_) => plan.push(Fact::InterruptRequested(InterruptRequested { by, reason })),
    }
}

/// What ran in the process before this one runs no more. A sample is asked for again; a call is
/// run again if that is safe, and otherwise nobody knows what became of it. Nothing is taken up
/// again in a turn whose time ran out while no process looked.
fn on_recovered(plan: &mut Plan) -> Result<(), Reject> {
    let late = plan.session.turn();
    if let Some(fact) = late.and_then(|turn| proceed::overdue(plan, turn)) {
        plan.push(fact)?;
    }
    let Some(turn) = plan.session.turn() else {
        return Ok(());
    };
    match &turn.stage {
        Stage::Sampling(sampling) => {
            let cut = restart_cut(turn, sampling, plan.at);
            plan.push(Fact::SampleCut(cut))
        }
        Stage::Executing(executing) => {
            let running = |call: &&crate::session::CallState| {
                matches!(call.progress, Progress::Running { .. })
            };
            let lost: Vec<CallId> = executing
                .calls
                .iter()
                .filter(running)
                .map(|c| c.id)
                .collect();
            for call in lost {
                if let Some(fact) = calls::after_restart(plan, call) {
                    plan.push(fact)?;
                }
            }
            Ok(())
        }
        Stage::Opening { .. }
        | Stage::Ready(_)
        | Stage::Backoff(_)
        | Stage::Concluding(_)
        | Stage::Ending(_) => Ok(()),
    }
}

fn restart_cut(turn: &Turn, sampling: &Sampling, at: Timestamp) -> SampleCut {
    let again = turn.stop.is_none() && sampling.restarts < turn.limits.restarts;
    let message = if again {
        "the process ended while the model answered; the model is asked again"
    } else {
        "the process ended while the model answered"
    };
    SampleCut {
        started: sampling.started,
        failure: SampleFailure::new(FailureKind::Restart, Retry::Soon, message),
        partial: String::new(),
        retry_at: again.then_some(at),
    }
}

fn on_sampled(plan: &mut Plan, key: EffectKey, news: SampleNews) -> Result<(), Reject> {
    let (turn, sampling) = awaited(plan, key)?;
    let started = sampling.started;
    let fact = match news {
        SampleNews::Item(item) => Fact::ItemAdded(ItemAdded { started, item }),
        SampleNews::Ended {
            stop,
            usage,
            response_id,
        } => Fact::SampleEnded(SampleEnded {
            started,
            stop,
            usage,
            response_id,
        }),
        SampleNews::Failed { failure, partial } => {
            let retry_at = retry_at(turn, sampling, &failure, plan.at, plan.entropy);
            Fact::SampleCut(SampleCut {
                started,
                failure,
                partial,
                retry_at,
            })
        }
    };
    plan.push(fact)
}

/// When the next attempt is due, if the failure and the budget allow one.
///
/// Backoff doubles with each failure; half of it is spread by the input's entropy, so that many
/// sessions do not come back at once. A provider's own delay is obeyed up to the limit. An adapter
/// that speaks of a restart takes from the budget of restarts, so it cannot go on for ever.
fn retry_at(
    turn: &Turn,
    sampling: &Sampling,
    failure: &SampleFailure,
    at: Timestamp,
    entropy: u64,
) -> Option<Timestamp> {
    let spent = if failure.kind == FailureKind::Restart {
        sampling.restarts >= turn.limits.restarts
    } else {
        sampling.failures.saturating_add(1) >= turn.limits.attempts
    };
    if turn.stop.is_some() || spent {
        return None;
    }
    let doubled = 1_u64.checked_shl(sampling.failures).unwrap_or(u64::MAX);
    let backoff = turn.limits.backoff_ms.saturating_mul(doubled);
    let backoff = backoff.min(turn.limits.backoff_max_ms);
    let half = backoff / 2;
    let spread = half.saturating_add(entropy % half.saturating_add(1));
    let wait = match failure.retry {
        Retry::Never => return None,
        Retry::Soon => spread,
        Retry::AfterMs(ms) => ms.max(spread).min(turn.limits.backoff_max_ms),
    };
    Some(at.plus_ms(wait))
}

fn on_ran(plan: &mut Plan, key: EffectKey, observation: Observation) -> Result<(), Reject> {
    let call = running(plan, key)?;
    plan.push(Fact::CallObserved(CallObserved {
        call,
        observation: Arc::new(observation),
    }))
}

fn on_never_began(plan: &mut Plan, key: EffectKey) -> Result<(), Reject> {
    match key {
        EffectKey::Sample { .. } => {
            let message = "the turn was asked to stop before the model was asked";
            let failure = SampleFailure::new(FailureKind::Cancelled, Retry::Never, message);
            let news = SampleNews::Failed {
                failure,
                partial: String::new(),
            };
            on_sampled(plan, key, news)
        }
        EffectKey::Call { .. } => {
            let call = running(plan, key)?;
            let observation = calls::never_began(plan, call);
            on_ran(plan, key, observation)
        }
    }
}

/// The sample that this run is the awaited one of.
fn awaited(plan: &Plan, key: EffectKey) -> Result<(&Turn, &Sampling), Reject> {
    if let EffectKey::Sample { started } = key
        && let Phase::Turning(turn) = &plan.session.phase
        && let Stage::Sampling(sampling) = &turn.stage
        && sampling.started == started
    {
        return Ok((turn, sampling));
    }
    Err(Reject::Stale(key))
}

/// The call that this run is the awaited one of.
fn running(plan: &Plan, key: EffectKey) -> Result<CallId, Reject> {
    let awaited = |progress: &Progress, run: Seq| match progress {
        Progress::Running { started, .. } => *started == run,
        Progress::Proposed
        | Progress::Allowed
        | Progress::Denied { .. }
        | Progress::Done { .. } => false,
    };
    if let EffectKey::Call { call, started } = key
        && let Phase::Turning(turn) = &plan.session.phase
        && let Stage::Executing(executing) = &turn.stage
        && let mut calls = executing.calls.iter()
        && calls.any(|state| state.id == call && awaited(&state.progress, started))
    {
        return Ok(call);
    }
    Err(Reject::Stale(key))
}
