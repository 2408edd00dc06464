//! Recovery: what a new process does about what the one before it left behind.

use super::{Plan, turn};
use crate::call::steps;
use crate::effect::{EffectKey, Owed};
use crate::error::Reject;
use crate::fact::{ApprovalAsked, Fact, SessionResumed};
use crate::gate::hooks;
use crate::hook::HookPoint;
use crate::id::CallId;
use crate::owed::owed;
use crate::session::Progress;
use crate::stage::Report;

/// Ends the effects of the previous process. A sample is requested again, and so are hooks and
/// people; a call runs again if that is safe, and else its result is unknown. Nothing is resumed in
/// a turn whose time ran out in the meantime.
pub(super) fn on_recovered(plan: &mut Plan) -> Result<(), Reject> {
    let session = &plan.session;
    let hears = hooks::listens(&session.settings.hooks, HookPoint::SessionStart);
    if hears && session.start.is_none() {
        plan.push(Fact::SessionResumed(SessionResumed {}))?;
    }
    let late = plan.session.turn();
    if let Some(fact) = late.and_then(|turn| turn::overdue(plan, turn)) {
        plan.push(fact)?;
    }
    // The sample first: what stands of its answer decides which calls are still out.
    let lost = owed(&plan.session);
    let samples = |one: &&Owed| matches!(one.key, EffectKey::Sample { .. });
    if let Some(one) = lost.iter().find(samples)
        && let Some(fact) = taken_up(plan, one)
    {
        plan.push(fact)?;
    }
    for one in lost.iter().filter(|one| !samples(one)) {
        let still = owed(&plan.session).iter().any(|now| now.key == one.key);
        if let Some(fact) = still.then(|| taken_up(plan, one)).flatten() {
            plan.push(fact)?;
        }
    }
    Ok(())
}

/// Returns the fact for an effect whose process ended.
fn taken_up(plan: &Plan, one: &Owed) -> Option<Fact> {
    match one.key {
        EffectKey::Sample { .. } | EffectKey::Compact { .. } => lost(plan, one.key),
        EffectKey::Call { call, .. } => steps::after_restart(plan, call),
        EffectKey::Reconcile { call, .. } => steps::reconcile_again(plan, call),
        EffectKey::Hook { .. } => hooks::again(plan, one),
        EffectKey::Approval { call, .. } => ask_again(plan, call),
    }
}

fn lost(plan: &Plan, key: EffectKey) -> Option<Fact> {
    let turn = plan.session.turn()?;
    let facts = turn.stage.rules().on(plan, turn, key, Report::Lost);
    facts.ok()?.pop()
}

/// A question stays open when its process ends: whoever asks now finds it. Its deadline stays.
fn ask_again(plan: &Plan, id: CallId) -> Option<Fact> {
    let turn = plan.session.turn()?;
    let call = turn.calls().iter().find(|call| call.id == id)?;
    let question = match &call.progress {
        Progress::Asking { question } => (*question)?,
        Progress::Proposed
        | Progress::Allowed
        | Progress::Denied { .. }
        | Progress::Running { .. }
        | Progress::Reconciling { .. }
        | Progress::Done { .. } => return None,
    };
    // One whose time is over is not asked again: the next step denies it.
    if question
        .deadline
        .is_some_and(|deadline| plan.at >= deadline)
    {
        return None;
    }
    Some(Fact::ApprovalAsked(ApprovalAsked {
        call: id,
        attempt: question.attempt.saturating_add(1),
        arguments: call.arguments,
        deadline: question.deadline,
    }))
}
