//! Answers: the facts that record the results of calls' effects.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Observation, ObservationStatus, Verdict, denial, programs, restarts};
use crate::agent::BudgetUsage;
use crate::arguments_digest::ArgumentsDigest;
use crate::budget;
use crate::decide::{Plan, require_visible};
use crate::effect::EffectKey;
use crate::error::Reject;
use crate::fact::{ApprovalAnswered, CallObserved, Fact};
use crate::id::{CallId, Seq};
use crate::input::ApprovalAnswer;
use crate::scope::Scope;
use crate::session::{CallProgress, CallState, Turn};
use crate::stage::EffectReport;

/// Returns the facts that record an answer to a call's effect, in any stage.
pub(crate) fn on_call_report(
    plan: &Plan,
    turn: &Turn,
    key: EffectKey,
    report: EffectReport,
) -> Result<Vec<Fact>, Reject> {
    let (id, reconciles) = match key {
        EffectKey::Call { call, .. } => (call, false),
        EffectKey::Reconcile { call, .. } => (call, true),
        EffectKey::Sample { .. }
        | EffectKey::Hook { .. }
        | EffectKey::Approval { .. }
        | EffectKey::Compact { .. } => return Err(Reject::Stale(key)),
    };
    let fact = match report {
        EffectReport::CallEnded(observation) => {
            observed(turn, id, with_stop_cause(plan, observation), None)
        }
        EffectReport::AgentEnded(observation, took) => {
            observed(turn, id, with_stop_cause(plan, observation), Some(took))
        }
        EffectReport::AgentDetached(observation) => {
            detached(turn, observed(turn, id, with_stop_cause(plan, observation), None))
        }
        // If the tool cannot report the outcome of its call, the outcome is unknown.
        EffectReport::CallReconciled(observation) => {
            let observation = observation.unwrap_or_else(restarts::unknown);
            observed(turn, id, observation, None)
        }
        EffectReport::NeverStarted if reconciles => observed(turn, id, restarts::unknown(), None),
        EffectReport::NeverStarted => {
            let observation = restarts::never_started(plan, id);
            let fresh = observation.status == ObservationStatus::NotStarted;
            let fact = observed(turn, id, observation, fresh.then(BudgetUsage::default));
            if fresh { fact } else { detached(turn, fact) }
        }
        EffectReport::ProgramEvent(news) if turn.stop.is_none() && turn.program_can_resume(id) => {
            return Ok(programs::on_program_event(turn, id, news));
        }
        EffectReport::ProgramEvent(_)
        | EffectReport::SampleEvent(_)
        | EffectReport::CompactionEnded(_)
        | EffectReport::ProcessEnded => {
            return Err(Reject::Stale(key));
        }
    };
    Ok(alloc::vec![Fact::CallObserved(fact)])
}

/// Marks the child of an agent's call as detached.
fn detached(turn: &Turn, fact: CallObserved) -> CallObserved {
    let granted = |call: &&CallState| call.id == fact.call && call.grant.is_some();
    let detached = turn.calls().iter().any(|call| granted(&call));
    CallObserved { detached, ..fact }
}

/// Puts the cause of the stop before the output of a call that an interrupt aborted, unless it is
/// there: a tool knows only that it was asked to stop.
fn with_stop_cause(plan: &Plan, mut observation: Observation) -> Observation {
    let interrupted = plan.session.turn().is_some_and(|turn| turn.stopped_by().is_some());
    if observation.status != ObservationStatus::Aborted || !interrupted {
        return observation;
    }
    let words = format!("Stopped: {}.\n", plan.session.stop_cause());
    if !observation.output.starts_with(words.trim_end()) {
        observation.output.insert_str(0, &words);
        observation.output_bytes = observation.output_bytes.saturating_add(words.len() as u64);
    }
    observation
}

/// Returns the fact of a call's observation. An output that is too long for the window is shown in
/// part. If the usage of a grant is unknown, all of the grant
/// counts. A child that reports more samples than its grant was not limited by this core: the grant
/// counts, and no more.
pub(super) fn observed(
    turn: &Turn,
    id: CallId,
    observation: Observation,
    took: Option<BudgetUsage>,
) -> CallObserved {
    let call = turn.calls().iter().find(|call| call.id == id);
    let known = took.filter(|_| observation.status != ObservationStatus::Unknown);
    let took = call.and_then(|call| call.grant).map(|lent| {
        let took = known.unwrap_or_else(|| lent.as_usage());
        BudgetUsage { samples: took.samples.min(lent.samples), ..took }
    });
    // A program gets the complete results of its calls.
    let form = budget::result_form(&turn.settings).filter(|form| {
        let for_model = call.is_some_and(|call| call.parent.is_none());
        for_model && observation.output.len() as u64 > form.max_bytes
    });
    CallObserved {
        call: id,
        observation: Arc::new(observation),
        usage: took,
        report: None,
        form,
        detached: false,
        by: None,
        key: None,
    }
}

/// Applies an answer to the open question. Anybody who may see the session may answer; the first
/// answer counts.
pub(crate) fn on_answer(
    plan: &mut Plan,
    call: CallId,
    scope: Scope,
    arguments: ArgumentsDigest,
    answer: ApprovalAnswer,
) -> Result<(), Reject> {
    require_visible(plan, &scope)?;
    let open = open_question(plan, call).filter(|open| !open.late);
    let open = open.ok_or(Reject::NoOpenQuestion(call))?;
    if open.arguments != arguments {
        return Err(Reject::ArgumentsMismatch(call));
    }
    apply_answer(plan, call, arguments, scope, answer)
}

pub(crate) fn on_approver_answered(
    plan: &mut Plan,
    key: EffectKey,
    scope: Scope,
    answer: ApprovalAnswer,
) -> Result<(), Reject> {
    let EffectKey::Approval { call, asked } = key else {
        return Err(Reject::Stale(key));
    };
    match open_question(plan, call) {
        // The deadline has passed, so the call is denied whatever the answer is. The next step
        // records it.
        Some(open) if open.asked == asked && open.late => Ok(()),
        Some(open) if open.asked == asked && require_visible(plan, &scope).is_err() => {
            let reason = String::from(denial::FROM_OUTSIDE);
            let system = Scope::system("an answer from outside the tenant");
            apply_answer(plan, call, open.arguments, system, ApprovalAnswer::Deny { reason })
        }
        Some(open) if open.asked == asked => {
            apply_answer(plan, call, open.arguments, scope, answer)
        }
        Some(_) | None => Err(Reject::Stale(key)),
    }
}

pub(crate) fn apply_answer(
    plan: &mut Plan,
    call: CallId,
    arguments: ArgumentsDigest,
    by: Scope,
    answer: ApprovalAnswer,
) -> Result<(), Reject> {
    let (verdict, reason, edit, grant) = match answer {
        ApprovalAnswer::Allow { edit } => (Verdict::Allow, String::new(), edit, None),
        ApprovalAnswer::Granted { grant } if permits_grants(plan, call) => {
            (Verdict::Allow, String::new(), None, Some(grant))
        }
        // A person allowed this call, and no grant can come of it.
        ApprovalAnswer::Granted { grant } if !grant.used => {
            (Verdict::Allow, String::new(), None, None)
        }
        ApprovalAnswer::Granted { .. } => {
            (Verdict::Deny, String::from(denial::NOT_GRANTED), None, None)
        }
        ApprovalAnswer::Deny { reason } => (Verdict::Deny, reason, None, None),
    };
    let key = plan.key.take();
    plan.push(Fact::ApprovalAnswered(ApprovalAnswered {
        call,
        by: Arc::new(by),
        verdict,
        reason,
        arguments,
        edit,
        grant,
        key,
    }))
}

/// Returns true if an approval grant may answer the question about a call.
fn permits_grants(plan: &Plan, id: CallId) -> bool {
    let calls = plan.session.turn().map_or(&[][..], |turn| turn.calls());
    let call = calls.iter().find(|call| call.id == id);
    call.is_some_and(|call| call.approval_reason().permits_grants())
}

/// An open question about a call.
struct OpenApproval {
    asked: Seq,
    arguments: ArgumentsDigest,
    /// True if the deadline for an answer has passed.
    late: bool,
}

/// Returns the open question about a call; `None` once the turn is to stop.
fn open_question(plan: &Plan, id: CallId) -> Option<OpenApproval> {
    let turn = plan.session.turn()?;
    let call = turn.calls().iter().find(|call| call.id == id)?;
    match &call.progress {
        CallProgress::AwaitingApproval { question: Some(question) } if turn.stop.is_none() => {
            Some(OpenApproval {
                asked: question.asked,
                arguments: call.arguments_digest(),
                late: question.deadline.is_some_and(|until| plan.at >= until),
            })
        }
        CallProgress::AwaitingApproval { .. }
        | CallProgress::Proposed
        | CallProgress::Allowed
        | CallProgress::Denied { .. }
        | CallProgress::Running { .. }
        | CallProgress::AwaitingResult { .. }
        | CallProgress::Reconciling { .. }
        | CallProgress::Done { .. } => None,
    }
}

/// Returns true if the turn awaits this run of a call.
pub(crate) fn running(turn: &Turn, key: EffectKey) -> bool {
    let (id, run, reconciles) = match key {
        EffectKey::Call { call, started } => (call, started, false),
        EffectKey::Reconcile { call, started } => (call, started, true),
        EffectKey::Sample { .. }
        | EffectKey::Hook { .. }
        | EffectKey::Approval { .. }
        | EffectKey::Compact { .. } => return false,
    };
    let awaited = |progress: &CallProgress| match progress {
        CallProgress::Running { started, .. } => *started == run && !reconciles,
        CallProgress::Reconciling { started, .. } => *started == run && reconciles,
        CallProgress::Proposed
        | CallProgress::AwaitingApproval { .. }
        | CallProgress::Allowed
        | CallProgress::AwaitingResult { .. }
        | CallProgress::Denied { .. }
        | CallProgress::Done { .. } => false,
    };
    // A program that waits for its calls reports nothing.
    let waits = |call: &CallState| call.is_program() && !turn.program_can_resume(call.id);
    let mut calls = turn.calls().iter();
    calls.any(|call| call.id == id && awaited(&call.progress) && !waits(call))
}
