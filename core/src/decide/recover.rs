//! Recovery: how a new process handles the effects of the previous one.

use super::{Plan, command, turn};
use crate::call::restarts;
use crate::desired_effects::desired_effects;
use crate::effect::{DesiredEffect, EffectKey};
use crate::error::Reject;
use crate::fact::{ApprovalAsked, Fact, SessionResumed};
use crate::hook::HookPoint;
use crate::hook_rounds::hooks;
use crate::id::CallId;
use crate::session::CallProgress;
use crate::stage::EffectReport;

/// Ends the effects of the previous process. A sample is requested again, and so are hooks and
/// approvals. A call runs again if that is safe; else its result is unknown. Nothing resumes in a
/// turn whose time has run out.
pub(super) fn on_recovered(plan: &mut Plan) -> Result<(), Reject> {
    let session = &plan.session;
    let silent_ms = plan.at.since_ms(session.changed_at);
    let hears = hooks::has_hooks(&session.settings.hooks, HookPoint::SessionStart);
    if hears && session.start.is_none() {
        plan.push(Fact::SessionResumed(SessionResumed {}))?;
    }
    command::withdraw_recovered(plan)?;
    let late = plan.session.turn().filter(|_| !plan.session.turn_is_inherited());
    if let Some(fact) = late.and_then(|turn| turn::overdue(plan, turn)) {
        plan.push(fact)?;
    }
    // The sample first: the retained part of its answer decides which calls are still pending.
    let lost = desired_effects(&plan.session);
    let samples = |one: &&DesiredEffect| matches!(one.key, EffectKey::Sample { .. });
    if let Some(one) = lost.iter().find(samples)
        && let Some(fact) = recover_effect(plan, one, silent_ms)
    {
        plan.push(fact)?;
    }
    for one in lost.iter().filter(|one| !samples(one)) {
        let still = desired_effects(&plan.session).iter().any(|now| now.key == one.key);
        if let Some(fact) = still.then(|| recover_effect(plan, one, silent_ms)).flatten() {
            plan.push(fact)?;
        }
    }
    Ok(())
}

/// Returns the recovery fact for an effect whose process ended. The log has had no fact for so long.
fn recover_effect(plan: &Plan, one: &DesiredEffect, silent_ms: u64) -> Option<Fact> {
    match one.key {
        EffectKey::Sample { .. } | EffectKey::Compact { .. } => end_lost(plan, one.key),
        EffectKey::Call { call, .. } => restarts::after_restart(plan, call),
        EffectKey::Reconcile { call, .. } => restarts::reconcile_again(plan, call),
        EffectKey::Hook { .. } => hooks::ask_again(plan, one),
        EffectKey::Approval { call, .. } => ask_again(plan, call, silent_ms),
    }
}

fn end_lost(plan: &Plan, key: EffectKey) -> Option<Fact> {
    let turn = plan.session.turn()?;
    let facts = turn.stage.rules().on_report(plan, turn, key, EffectReport::ProcessEnded);
    facts.ok()?.pop()
}

/// Asks an open question again with the same deadline. A question stays open when its process ends.
fn ask_again(plan: &Plan, id: CallId, silent_ms: u64) -> Option<Fact> {
    let turn = plan.session.turn()?;
    let call = turn.calls().iter().find(|call| call.id == id)?;
    let question = match &call.progress {
        CallProgress::AwaitingApproval { question } => (*question)?,
        CallProgress::Proposed
        | CallProgress::Allowed
        | CallProgress::Denied { .. }
        | CallProgress::Running { .. }
        | CallProgress::AwaitingResult { .. }
        | CallProgress::Reconciling { .. }
        | CallProgress::Done { .. } => return None,
    };
    let limits = &turn.limits;
    let deadline = match question.deadline {
        Some(deadline) if plan.at >= deadline => {
            // Nobody could answer, or the clock was set forward: closing all questions for that
            // would be for good.
            if limits.reask_after_ms == 0 || silent_ms <= limits.reask_after_ms {
                // The next step denies the call.
                return None;
            }
            (limits.approval_ms > 0).then(|| plan.at.plus_ms(limits.approval_ms))
        }
        deadline => deadline,
    };
    Some(Fact::ApprovalAsked(ApprovalAsked {
        call: id,
        attempt: question.attempt.saturating_add(1),
        arguments: call.arguments_digest(),
        deadline,
    }))
}
