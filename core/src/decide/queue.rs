//! Queue: the facts that record changes of waiting inputs.

use alloc::string::String;
use alloc::sync::Arc;

use super::{Plan, require_room, require_visible};
use crate::context;
use crate::error::Reject;
use crate::fact::{Fact, InputEdited, InputMoved, InputWithdrawn};
use crate::id::{InputId, TurnId};
use crate::scope::Scope;
use crate::session::QueuedInput;

/// Rejects a command that is meant for another turn than the running one.
pub(super) fn require_running(plan: &Plan, about: Option<TurnId>) -> Result<(), Reject> {
    let running = plan.session.turn().map(|turn| turn.id);
    match about.filter(|about| Some(*about) != running) {
        Some(other) => Err(Reject::TurnMismatch(other)),
        None => Ok(()),
    }
}

pub(super) fn on_edit(
    plan: &mut Plan,
    scope: Scope,
    input: InputId,
    text: String,
) -> Result<(), Reject> {
    require_visible(plan, &scope)?;
    let queued = changeable(plan, input)?;
    if queued.command.is_some() {
        let why = "a command that waits is not edited: withdraw it and send another";
        return Err(Reject::CommandRefused(why.into()));
    }
    if text.trim().is_empty() {
        return Err(Reject::Empty);
    }
    if queued.text == context::user(&text) && plan.key.is_none() {
        return Ok(());
    }
    require_room(plan)?;
    let (by, key) = (Arc::new(scope), plan.key.take());
    plan.push(Fact::InputEdited(InputEdited { by, input, text: text.into(), key }))
}

pub(super) fn on_move(
    plan: &mut Plan,
    scope: Scope,
    input: InputId,
    before: Option<InputId>,
) -> Result<(), Reject> {
    require_visible(plan, &scope)?;
    require_unopened(plan, input)?;
    changeable(plan, input)?;
    if let Some(other) = before {
        waiting(plan, other)?;
    }
    // Before itself is where it is.
    let before = if before == Some(input) { plan.session.next_of(input) } else { before };
    if let Some(locked) = plan.session.overtaken(input, before) {
        return Err(Reject::InputLocked(locked));
    }
    if plan.session.next_of(input) == before && plan.key.is_none() {
        return Ok(());
    }
    require_room(plan)?;
    let (by, key) = (Arc::new(scope), plan.key.take());
    plan.push(Fact::InputMoved(InputMoved { by, input, before, key }))
}

pub(super) fn on_withdraw(plan: &mut Plan, scope: Scope, input: InputId) -> Result<(), Reject> {
    require_visible(plan, &scope)?;
    require_unopened(plan, input)?;
    changeable(plan, input)?;
    let (by, key) = (Arc::new(scope), plan.key.take());
    plan.push(Fact::InputWithdrawn(InputWithdrawn { by, input, key }))
}

/// Returns a waiting input that may still be changed.
fn changeable(plan: &Plan, input: InputId) -> Result<&QueuedInput, Reject> {
    let queued = waiting(plan, input)?;
    match plan.session.is_locked(input) {
        true => Err(Reject::InputLocked(input)),
        false => Ok(queued),
    }
}

fn waiting(plan: &Plan, input: InputId) -> Result<&QueuedInput, Reject> {
    plan.session.queued(input).ok_or(Reject::InputNotWaiting(input))
}

/// Rejects a change of an input that a turn was opened for: that turn would have no subject.
fn require_unopened(plan: &Plan, input: InputId) -> Result<(), Reject> {
    match plan.session.turn() {
        Some(turn) if turn.is_opened_by(input) => Err(Reject::InputOpened { input, turn: turn.id }),
        Some(_) | None => Ok(()),
    }
}
