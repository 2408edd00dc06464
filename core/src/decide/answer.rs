//! Answers: the facts that an answer of the world is.

use alloc::string::String;
use alloc::sync::Arc;

use super::input::seen;
use super::{Plan, calls, shape};
use crate::agent::Took;
use crate::call::{Observation, ObservationStatus, Verdict};
use crate::digest::Digest;
use crate::effect::{Demand, EffectKey, Owed};
use crate::error::Reject;
use crate::fact::{
    ApprovalAnswered, CallObserved, Compacted, CompactionFailed, Fact, ItemAdded, Reserved,
    SampleCut, SampleEnded, Stands,
};
use crate::failure::{FailureKind, Retry, SampleFailure};
use crate::id::{CallId, Seq};
use crate::input::{Answer, Compaction, SampleNews};
use crate::owed::owed;
use crate::scope::Scope;
use crate::session::{CallState, Phase, Progress, Sampling, Stage, Turn};
use crate::time::Timestamp;

pub(super) fn on_sampled(plan: &mut Plan, key: EffectKey, news: SampleNews) -> Result<(), Reject> {
    let (turn, sampling) = awaited(plan, key)?;
    let started = sampling.started;
    let fact = match news {
        SampleNews::Item(item) => Fact::ItemAdded(ItemAdded { started, item }),
        SampleNews::Ended {
            stop,
            usage,
            response_id,
            asked,
            fault,
        } => Fact::SampleEnded(SampleEnded {
            started,
            fault: shape::held(turn, sampling, &stop, fault),
            stop,
            usage,
            response_id,
            asked,
        }),
        SampleNews::Failed {
            failure,
            partial,
            usage,
            asked,
        } => {
            let stands = stands(turn, sampling, &failure);
            Fact::SampleCut(SampleCut {
                started,
                retry_at: retry_at(plan, turn, sampling, &failure, stands),
                failure,
                partial,
                stands,
                usage,
                asked,
            })
        }
    };
    plan.push(fact)
}

/// What stands of an answer that broke off: up to the last call that had begun; all that was said
/// if it gave way to the user; else nothing.
pub(super) fn stands(turn: &Turn, sampling: &Sampling, failure: &SampleFailure) -> Stands {
    let last = sampling.calls.iter().rfind(|call| call.has_begun());
    match last {
        Some(call) => Stands::Through {
            item: Seq(call.id.0),
        },
        None if failure.kind == FailureKind::Steered
            && sampling.calls.is_empty()
            && turn.stop.is_none() =>
        {
            Stands::Said
        }
        None => Stands::Nothing,
    }
}

/// When the next attempt is due, if the failure and the budget allow one.
///
/// Backoff doubles with each failure; half of it is spread by the input's entropy, so that many
/// sessions do not come back at once. A provider's own delay is obeyed up to the limit. An adapter
/// that speaks of a restart takes from the budget of restarts, so it cannot go on for ever.
fn retry_at(
    plan: &Plan,
    turn: &Turn,
    sampling: &Sampling,
    failure: &SampleFailure,
    stands: Stands,
) -> Option<Timestamp> {
    let spent = if failure.kind == FailureKind::Restart {
        sampling.restarts >= turn.limits.restarts
    } else {
        sampling.failures.saturating_add(1) >= turn.limits.attempts
    };
    match stands {
        Stands::Said => return Some(plan.at),
        Stands::Nothing if turn.overflows(failure) => return None,
        Stands::Nothing | Stands::Through { .. } => {}
    }
    if turn.stop.is_some() || spent {
        return None;
    }
    let doubled = 1_u64.checked_shl(sampling.failures).unwrap_or(u64::MAX);
    let backoff = turn.limits.backoff_ms.saturating_mul(doubled);
    let backoff = backoff.min(turn.limits.backoff_max_ms);
    let half = backoff / 2;
    let spread = half.saturating_add(plan.entropy % half.saturating_add(1));
    let wait = match failure.retry {
        Retry::Never => return None,
        Retry::Now => 0,
        Retry::Soon => spread,
        Retry::AfterMs(ms) => ms.max(spread).min(turn.limits.backoff_max_ms),
    };
    Some(plan.at.plus_ms(wait))
}

pub(super) fn on_ran(
    plan: &mut Plan,
    key: EffectKey,
    observation: Observation,
) -> Result<(), Reject> {
    let call = running(plan, key)?;
    observe(plan, call, observation, None)
}

/// An agent says what it took. A child that took more samples than it was lent is not one that this
/// core limited: all that was lent counts, and no more.
pub(super) fn on_returned(
    plan: &mut Plan,
    key: EffectKey,
    observation: Observation,
    took: Took,
) -> Result<(), Reject> {
    let call = running(plan, key)?;
    observe(plan, call, observation, Some(took))
}

/// Where a call was lent something and nobody says what it took, all of it counts.
fn observe(
    plan: &mut Plan,
    id: CallId,
    observation: Observation,
    took: Option<Took>,
) -> Result<(), Reject> {
    let turn = plan.session.turn();
    let mut calls = turn.into_iter().flat_map(Turn::calls);
    let call = calls.find(|call| call.id == id);
    let known = took.filter(|_| observation.status != ObservationStatus::Unknown);
    let took = call.and_then(|call| call.lent).map(|lent| {
        let took = known.unwrap_or_else(|| lent.all());
        Took {
            samples: took.samples.min(lent.samples),
            ..took
        }
    });
    plan.push(Fact::CallObserved(CallObserved {
        call: id,
        observation: Arc::new(observation),
        took,
        tells: None,
    }))
}

/// A tool that cannot say what became of its call leaves it unknown.
pub(super) fn on_reconciled(
    plan: &mut Plan,
    key: EffectKey,
    observation: Option<Observation>,
) -> Result<(), Reject> {
    let call = running(plan, key)?;
    let observation = observation.unwrap_or_else(calls::unknown);
    observe(plan, call, observation, None)
}

/// Anybody who may see the session answers the open question; the first answer counts.
pub(super) fn on_answer(
    plan: &mut Plan,
    call: CallId,
    scope: Scope,
    arguments: Digest,
    answer: Answer,
) -> Result<(), Reject> {
    seen(plan, &scope)?;
    let open = open_question(plan, call).filter(|open| !open.late);
    let open = open.ok_or(Reject::NotAsked(call))?;
    if open.arguments != arguments {
        return Err(Reject::OtherArguments(call));
    }
    answered(plan, call, arguments, scope, answer)
}

pub(super) fn on_asked(
    plan: &mut Plan,
    key: EffectKey,
    scope: Scope,
    answer: Answer,
) -> Result<(), Reject> {
    let EffectKey::Approval { call, asked } = key else {
        return Err(Reject::Stale(key));
    };
    match open_question(plan, call) {
        // It is a denial by now, whatever the answer is; the next step says so.
        Some(open) if open.asked == asked && open.late => Ok(()),
        Some(open) if open.asked == asked && seen(plan, &scope).is_err() => {
            let reason = String::from("Denied: the answer came from outside the session's tenant.");
            let system = Scope::system("an answer from outside the tenant");
            answered(plan, call, open.arguments, system, Answer::Deny { reason })
        }
        Some(open) if open.asked == asked => answered(plan, call, open.arguments, scope, answer),
        Some(_) | None => Err(Reject::Stale(key)),
    }
}

pub(super) fn answered(
    plan: &mut Plan,
    call: CallId,
    arguments: Digest,
    by: Scope,
    answer: Answer,
) -> Result<(), Reject> {
    let (verdict, reason, edit) = match answer {
        Answer::Allow { edit } => (Verdict::Allow, String::new(), edit),
        Answer::Deny { reason } if reason.trim().is_empty() => (
            Verdict::Deny,
            String::from("Denied: a person said no."),
            None,
        ),
        Answer::Deny { reason } => (Verdict::Deny, reason, None),
    };
    let key = plan.key.take();
    plan.push(Fact::ApprovalAnswered(ApprovalAnswered {
        call,
        by: Arc::new(by),
        verdict,
        reason,
        arguments,
        edit,
        key,
    }))
}

/// An open question about a call.
struct Open {
    asked: Seq,
    arguments: Digest,
    /// Whether the time for an answer is over.
    late: bool,
}

/// The open question about a call. Nobody is asked any more once the turn is to stop.
fn open_question(plan: &Plan, id: CallId) -> Option<Open> {
    let turn = plan.session.turn()?;
    let call = turn.calls().iter().find(|call| call.id == id)?;
    match &call.progress {
        Progress::Asking {
            question: Some(question),
        } if turn.stop.is_none() => Some(Open {
            asked: question.asked,
            arguments: call.arguments,
            late: question.deadline.is_some_and(|until| plan.at >= until),
        }),
        Progress::Asking { .. }
        | Progress::Proposed
        | Progress::Allowed
        | Progress::Denied { .. }
        | Progress::Running { .. }
        | Progress::Reconciling { .. }
        | Progress::Done { .. } => None,
    }
}

pub(super) fn on_compacted(
    plan: &mut Plan,
    key: EffectKey,
    compaction: Result<Compaction, String>,
) -> Result<(), Reject> {
    let out = plan.session.turn().and_then(|turn| match &turn.stage {
        Stage::Compacting(compacting) if turn.stop.is_none() => Some(compacting.started),
        Stage::Compacting(_)
        | Stage::Opening(_)
        | Stage::Ready(_)
        | Stage::Sampling(_)
        | Stage::Backoff(_)
        | Stage::Executing(_)
        | Stage::Concluding(_)
        | Stage::Ending(_) => None,
    });
    let started = match (key, out) {
        (EffectKey::Compact { started }, Some(out)) if started == out => started,
        (
            EffectKey::Compact { .. }
            | EffectKey::Sample { .. }
            | EffectKey::Call { .. }
            | EffectKey::Hook { .. }
            | EffectKey::Approval { .. }
            | EffectKey::Reconcile { .. },
            _,
        ) => return Err(Reject::Stale(key)),
    };
    plan.push(match compaction {
        Ok(compaction) => Fact::Compacted(Compacted {
            started,
            cut: compaction.cut,
            shown: compaction.shown,
            usage: compaction.usage,
            fallback: compaction.fallback,
        }),
        Err(reason) => Fact::CompactionFailed(CompactionFailed {
            started,
            reason,
            lost: Reserved::default(),
        }),
    })
}

/// Only what is to wind down can have never begun.
pub(super) fn on_never_began(plan: &mut Plan, key: EffectKey) -> Result<(), Reject> {
    let winds = |one: &Owed| one.key == key && one.demand == Demand::Wind;
    if !owed(&plan.session).iter().any(winds) {
        return Err(Reject::Stale(key));
    }
    match key {
        EffectKey::Sample { .. } => {
            let message = "the turn was asked to stop before the model was asked";
            let failure = SampleFailure::new(FailureKind::Cancelled, Retry::Never, message);
            let news = SampleNews::Failed {
                failure,
                partial: String::new(),
                usage: None,
                asked: None,
            };
            on_sampled(plan, key, news)
        }
        EffectKey::Call { .. } => {
            let call = running(plan, key)?;
            let observation = calls::never_began(plan, call);
            let fresh = observation.status == ObservationStatus::NotStarted;
            let took = fresh.then(Took::default);
            observe(plan, call, observation, took)
        }
        EffectKey::Reconcile { .. } => {
            let call = running(plan, key)?;
            observe(plan, call, calls::unknown(), None)
        }
        EffectKey::Hook { .. } | EffectKey::Approval { .. } | EffectKey::Compact { .. } => {
            Err(Reject::Stale(key))
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

/// Whether a program is to go on.
fn goes_on(plan: &Plan, program: CallId) -> bool {
    let turn = plan.session.turn();
    turn.is_some_and(|turn| turn.program_goes_on(program))
}

/// The call that this run is the awaited one of.
fn running(plan: &Plan, key: EffectKey) -> Result<CallId, Reject> {
    let (id, run, reconciles) = match key {
        EffectKey::Call { call, started } => (call, started, false),
        EffectKey::Reconcile { call, started } => (call, started, true),
        EffectKey::Sample { .. }
        | EffectKey::Hook { .. }
        | EffectKey::Approval { .. }
        | EffectKey::Compact { .. } => return Err(Reject::Stale(key)),
    };
    let awaited = |progress: &Progress| match progress {
        Progress::Running { started, .. } => *started == run && !reconciles,
        Progress::Reconciling { started, .. } => *started == run && reconciles,
        Progress::Proposed
        | Progress::Asking { .. }
        | Progress::Allowed
        | Progress::Denied { .. }
        | Progress::Done { .. } => false,
    };
    let turn = plan.session.turn();
    let mut calls = turn.into_iter().flat_map(Turn::calls);
    // A program that waits for its calls says nothing.
    let waits = |call: &CallState| call.is_program() && !goes_on(plan, call.id);
    if calls.any(|call| call.id == id && awaited(&call.progress) && !waits(call)) {
        return Ok(id);
    }
    Err(Reject::Stale(key))
}
