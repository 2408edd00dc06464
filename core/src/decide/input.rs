//! Inputs: the facts that record an input of a user or of the process.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Plan, answer, command, context, queue, recover, turn, widening};
use crate::call;
use crate::detached;
use crate::error::Reject;
use crate::evolve::hold_after;
use crate::fact::{
    CompactionRequested, ContextPart, Fact, GoalSet, InputQueued, InterruptRequested,
    PermissionsNarrowed, SettingsChanged, StopTiming,
};
use crate::goal::Goal;
use crate::hook_rounds::hooks;
use crate::id::TurnId;
use crate::image::Image;
use crate::input::{Input, Widening};
use crate::limits::Limits;
use crate::outcome::InterruptSource;
use crate::rewind;
use crate::scope::Scope;
use crate::session::Delivery;
use crate::settings::Settings;
use crate::stage::EffectReport;
use crate::{title, undo};

/// Adds the facts that record the input itself.
pub(super) fn decide_input(plan: &mut Plan, input: Input) -> Result<(), Reject> {
    match input {
        Input::Keyed { key, input } => decide_keyed(plan, key, *input),
        Input::Configure { scope, settings, widening } => {
            on_configure(plan, scope, settings, widening)
        }
        Input::SetGoal { scope, goal } => on_set_goal(plan, scope, goal),
        Input::Compact { scope, focus } => on_compact(plan, scope, focus),
        Input::Send { scope, text, delivery, context, images, key, dry_run, turn } => {
            let said = InputQueued {
                scope: Arc::new(scope),
                text: text.into(),
                delivery,
                context: deduplicate(context),
                images,
                key,
                command_key: plan.key.take(),
                dry_run,
                result_of: None,
                command: None,
            };
            on_send(plan, said, turn)
        }
        Input::RunCommand { scope, text, call } => command::on_run(plan, scope, text, call),
        Input::ChildEnded { scope, call, text } => {
            detached::on_child_ended(plan, &scope, call, text)
        }
        Input::EditInput { scope, input, text } => queue::on_edit(plan, scope, input, text),
        Input::MoveInput { scope, input, before } => queue::on_move(plan, scope, input, before),
        Input::WithdrawInput { scope, input } => queue::on_withdraw(plan, scope, input),
        Input::Rename { scope, title } => title::on_rename(plan, scope, title),
        Input::Rewind { scope, to } => rewind::on_rewind(plan, scope, to),
        Input::FilesRestored { scope, of, paths, more } => {
            undo::on_files_restored(plan, scope, of, paths, more)
        }
        Input::Continue => on_continue(plan),
        Input::Interrupt { by, scope, reason, when, turn } => {
            on_interrupt(plan, by, scope, reason, when, turn)
        }
        Input::Answer { call, scope, arguments, answer } => {
            call::answer::on_answer(plan, call, scope, arguments, answer)
        }
        Input::SubmitResult { call, scope, observation } => {
            call::client::on_result(plan, call, scope, observation)
        }
        Input::Close => hooks::on_close(plan),
        Input::Recover => recover::on_recovered(plan),
        Input::Narrow { to } => on_narrow(plan, to),
        Input::Tick => Ok(()),
        Input::SampleEvent { key, event: news } => {
            answer::report(plan, key, EffectReport::SampleEvent(news))
        }
        Input::CallEnded { key, observation } => {
            answer::report(plan, key, EffectReport::CallEnded(observation))
        }
        Input::CallSuspended { key, suspension } => {
            call::suspension::on_suspended(plan, key, suspension)
        }
        Input::AgentEnded { key, observation, usage: took } => {
            answer::report(plan, key, EffectReport::AgentEnded(observation, took))
        }
        Input::AgentDetached { key, observation } => {
            answer::report(plan, key, EffectReport::AgentDetached(observation))
        }
        Input::ProgramEvent { key, event: news } => {
            answer::report(plan, key, EffectReport::ProgramEvent(news))
        }
        Input::HookReplied { key, reply } => hooks::on_hook_reply(plan, key, reply),
        Input::ApproverAnswered { key, scope, answer } => {
            call::answer::on_approver_answered(plan, key, scope, answer)
        }
        Input::CallReconciled { key, observation } => {
            answer::report(plan, key, EffectReport::CallReconciled(observation))
        }
        Input::CompactionEnded { key, compaction } => {
            answer::report(plan, key, EffectReport::CompactionEnded(compaction))
        }
        Input::NeverStarted { key } => answer::on_never_began(plan, key),
    }
}

/// Decides a keyed input once: rejects a key that the session remembers.
fn decide_keyed(plan: &mut Plan, key: String, input: Input) -> Result<(), Reject> {
    match &input {
        Input::Configure { scope, .. }
        | Input::SetGoal { scope, .. }
        | Input::Compact { scope, .. }
        | Input::Send { scope, .. }
        | Input::RunCommand { scope, .. }
        | Input::ChildEnded { scope, .. }
        | Input::EditInput { scope, .. }
        | Input::MoveInput { scope, .. }
        | Input::WithdrawInput { scope, .. }
        | Input::Rename { scope, .. }
        | Input::Rewind { scope, .. }
        | Input::FilesRestored { scope, .. }
        | Input::Interrupt { scope, .. }
        | Input::Answer { scope, .. }
        | Input::SubmitResult { scope, .. } => require_visible(plan, scope)?,
        Input::Continue => {}
        Input::Keyed { .. }
        | Input::Close
        | Input::Recover
        | Input::Narrow { .. }
        | Input::Tick
        | Input::SampleEvent { .. }
        | Input::CallEnded { .. }
        | Input::CallSuspended { .. }
        | Input::AgentEnded { .. }
        | Input::AgentDetached { .. }
        | Input::ProgramEvent { .. }
        | Input::HookReplied { .. }
        | Input::ApproverAnswered { .. }
        | Input::CallReconciled { .. }
        | Input::CompactionEnded { .. }
        | Input::NeverStarted { .. } => return Err(Reject::KeyNotAllowed),
    }
    require_new_key(plan, &key)?;
    plan.key = Some(key);
    decide_input(plan, input)
}

/// Rejects a key that the session remembers.
pub(crate) fn require_new_key(plan: &Plan, key: &str) -> Result<(), Reject> {
    let mut keys = plan.session.keys.iter();
    match keys.find(|(known, _)| known == key) {
        Some((_, seq)) => Err(Reject::Duplicate(*seq)),
        None => Ok(()),
    }
}

/// Hides a session from callers of another tenant.
pub(crate) fn require_visible(plan: &Plan, scope: &Scope) -> Result<(), Reject> {
    if scope.can_access(&plan.session.owner) { Ok(()) } else { Err(Reject::OutOfScope) }
}

/// Rejects an input that makes a session longer which is as long as it may be. What ends its work,
/// such as an interrupt, is never rejected for that.
pub(crate) fn require_room(plan: &Plan) -> Result<(), Reject> {
    require_room_within(plan, &plan.session.settings.limits)
}

fn require_room_within(plan: &Plan, limits: &Limits) -> Result<(), Reject> {
    let limits = limits.within(&plan.ceiling);
    match plan.session.is_full(&limits) {
        true => Err(Reject::SessionFull { bytes: plan.session.bytes, limit: limits.session_bytes }),
        false => Ok(()),
    }
}

fn on_configure(
    plan: &mut Plan,
    scope: Scope,
    settings: Settings,
    widening: Widening,
) -> Result<(), Reject> {
    require_visible(plan, &scope)?;
    if *plan.session.settings == settings {
        return Ok(());
    }
    // Settings with a higher limit are how a full session goes on.
    require_room_within(plan, &settings.limits)?;
    match (widening, widening::of(&plan.session, &settings)) {
        (Widening::Forbidden, Some(what)) => {
            return Err(Reject::WidensPermissions(Cow::Borrowed(what)));
        }
        (Widening::Forbidden, None) | (Widening::Allowed, _) => {}
    }
    let key = plan.key.take();
    let rules = plan.session.settings.rules.clone();
    plan.push(Fact::SettingsChanged(SettingsChanged {
        by: Arc::new(scope),
        settings: Arc::new(settings),
        key,
    }))?;
    command::withdraw_if_changed(plan, &rules)
}

fn on_narrow(plan: &mut Plan, to: PermissionsNarrowed) -> Result<(), Reject> {
    let rules = plan.session.settings.rules.clone();
    plan.push(Fact::PermissionsNarrowed(to))?;
    command::withdraw_if_changed(plan, &rules)
}

fn on_set_goal(plan: &mut Plan, scope: Scope, goal: Option<Goal>) -> Result<(), Reject> {
    require_visible(plan, &scope)?;
    let idle = |goal: &Goal| goal.text.trim().is_empty() || goal.turns == 0;
    if goal.as_ref().is_some_and(idle) {
        return Err(Reject::InvalidGoal);
    }
    if goal.is_none() && plan.session.goal.is_none() {
        return Ok(());
    }
    require_room(plan)?;
    let key = plan.key.take();
    plan.push(Fact::GoalSet(GoalSet { by: Arc::new(scope), goal: goal.map(Arc::new), key }))
}

/// Requests a compaction. Its turn opens at once if no turn is open, also while inputs are held.
fn on_compact(plan: &mut Plan, scope: Scope, focus: Option<String>) -> Result<(), Reject> {
    require_visible(plan, &scope)?;
    let idle = plan.session.turn().is_none();
    if idle && plan.session.visible.items == 0 {
        return Err(Reject::NothingToCompact);
    }
    require_room(plan)?;
    let key = plan.key.take();
    let focus = focus.filter(|focus| !focus.trim().is_empty()).map(Arc::from);
    plan.push(Fact::CompactionRequested(CompactionRequested { by: Arc::new(scope), focus, key }))
}

fn on_send(plan: &mut Plan, mut said: InputQueued, about: Option<TurnId>) -> Result<(), Reject> {
    require_acceptable(plan, &said)?;
    queue::require_running(plan, about)?;
    let limits = plan.session.settings.limits.within(&plan.ceiling);
    context::fits(&said.context, limits.context_bytes)?;
    if said.images.len() > Image::MAX_PER_INPUT {
        return Err(Reject::TooManyImages {
            images: said.images.len(),
            limit: Image::MAX_PER_INPUT,
        });
    }
    require_place(plan)?;
    // A turn without dry run would execute what should only be planned, so the input gets the next
    // turn.
    let for_real = plan.session.turn().is_some_and(|turn| !turn.dry_run);
    if said.dry_run && said.delivery == Delivery::Steer && for_real {
        said.delivery = Delivery::FollowUp;
    }
    plan.push(Fact::InputQueued(said))
}

/// Rejects an input that says nothing, is repeated, or has no room in the session.
pub(super) fn require_acceptable(plan: &Plan, said: &InputQueued) -> Result<(), Reject> {
    require_visible(plan, &said.scope)?;
    if said.text.trim().is_empty() {
        return Err(Reject::Empty);
    }
    if let Some(key) = &said.key {
        require_new_key(plan, key)?;
    }
    require_room(plan)
}

/// Rejects an input if too many wait. One that opens a turn at once does not wait, so a limit of 0
/// rejects only those that would.
pub(super) fn require_place(plan: &Plan) -> Result<(), Reject> {
    let limits = plan.session.settings.limits.within(&plan.ceiling);
    let of_users = plan.session.queue.iter().filter(|queued| queued.result.is_none());
    let waiting = u32::try_from(of_users.count()).unwrap_or(u32::MAX);
    let opens = waiting == 0 && plan.session.turn().is_none();
    if !opens && waiting >= limits.queue {
        return Err(Reject::QueueFull { waiting });
    }
    Ok(())
}

/// Removes parts with a repeated name; the last one of each name counts.
fn deduplicate(parts: Vec<ContextPart>) -> Vec<ContextPart> {
    let mut kept: Vec<ContextPart> = Vec::new();
    for part in parts {
        kept.retain(|other| other.from != part.from);
        kept.push(part);
    }
    kept
}

fn on_continue(plan: &mut Plan) -> Result<(), Reject> {
    if let Some(turn) = plan.session.turn() {
        // Waiting inputs are held when the turn ends, so reject a continuation that comes too
        // early.
        let stop = turn.stop.as_ref().or(turn.pause.as_ref());
        let held = stop.and_then(|stop| hold_after(turn, &stop.outcome));
        return held.map_or(Ok(()), |_| Err(Reject::Stopping));
    }
    let key = plan.key.take();
    let opened =
        turn::open_compaction(plan, key.clone()).or_else(|| turn::open_to_continue(plan, key));
    match opened {
        Some(fact) => plan.push(fact),
        None => Err(Reject::NoPendingInput),
    }
}

fn on_interrupt(
    plan: &mut Plan,
    by: InterruptSource,
    scope: Scope,
    reason: String,
    when: StopTiming,
    about: Option<TurnId>,
) -> Result<(), Reject> {
    require_visible(plan, &scope)?;
    if by == InterruptSource::Deadline {
        return Err(Reject::DeadlineReserved);
    }
    queue::require_running(plan, about)?;
    let turn = plan.session.turn().ok_or(Reject::Idle)?;
    let stopping = match (&turn.stop, when) {
        (None, StopTiming::Now) => false,
        (None, StopTiming::AfterStep) => turn.pause.is_some(),
        (Some(_), _) => turn.is_interrupted(),
    };
    if stopping {
        return Err(Reject::Stopping);
    }
    let key = plan.key.take();
    plan.push(Fact::InterruptRequested(InterruptRequested {
        by,
        scope: Arc::new(scope),
        reason,
        when,
        key,
    }))
}
