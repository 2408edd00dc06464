//! Compaction: when the conversation is compacted, and when that is given up.

use alloc::sync::Arc;

use super::Plan;
use crate::budget::{self, AddedContent};
use crate::compaction::CompactionStrategy;
use crate::fact::{CompactionStarted, Fact, Reservation};
use crate::hook::{CompactionTrigger, HookOccurrence};
use crate::hook_rounds::hooks::{self, HookStep};
use crate::hook_rounds::{CombinedVerdict, subject_name};
use crate::outcome::{LimitKind, TurnOutcome};
use crate::session::{Session, Turn};
use crate::settings::Settings;
use crate::stage::{Compacting, NextFact, TurnOpening};

/// Target of a requested compaction up to which half of the conversation may stay, in bytes.
const SHORT_TARGET: u64 = 8 * 1024;

/// Compacts the conversation until the next request fits, including the input that waits for
/// admission.
///
/// # Errors
/// The end of the turn, if the conversation does not fit and cannot be compacted enough.
pub(crate) fn fit(plan: &Plan, turn: &Turn, overflow: bool) -> Result<NextFact, TurnOutcome> {
    let tokens = budget::tokens(&plan.session, turn, waiting_content(&plan.session, turn));
    let trigger = match budget::window_room(&turn.settings) {
        _ if overflow && turn.compacted.is_none() => CompactionTrigger::Overflow,
        Some(room) if tokens > room => CompactionTrigger::Window,
        Some(_) | None => return after(turn),
    };
    if turn.compacted.is_some() {
        return Err(TurnOutcome::Exhausted { limit: LimitKind::Context });
    }
    start(plan, turn, trigger)
}

/// Compacts the conversation as a user requested.
///
/// # Errors
/// The end of the turn, if it may not be compacted.
pub(crate) fn on_request(plan: &Plan, turn: &Turn) -> Result<NextFact, TurnOutcome> {
    if turn.compacted.is_some() || plan.session.visible.items == 0 {
        return after(turn);
    }
    start(plan, turn, CompactionTrigger::Manual)
}

/// Starts a compaction once its hooks allow it.
fn start(plan: &Plan, turn: &Turn, trigger: CompactionTrigger) -> Result<NextFact, TurnOutcome> {
    if turn.spent.compactions >= turn.limits.compactions {
        return Err(TurnOutcome::Exhausted { limit: LimitKind::Compactions });
    }
    let compaction = turn.spent.compactions.saturating_add(1);
    let at = HookOccurrence::BeforeCompaction { compaction, trigger };
    match hooks::at_turn(turn, at, subject_name(at)) {
        HookStep::Add(fact) => return Ok(NextFact::Fact(fact)),
        HookStep::Wait => return Ok(NextFact::Wait),
        HookStep::Finished(CombinedVerdict::Deny { reason, .. }) => {
            return Err(TurnOutcome::Blocked { reason: reason.clone() });
        }
        HookStep::Finished(
            CombinedVerdict::Pass | CombinedVerdict::Allow | CombinedVerdict::Ask,
        ) => {}
    }
    let started = started(plan, turn, trigger);
    Ok(NextFact::Fact(Fact::CompactionStarted(started)))
}

/// Returns the size of the next input with its context: the one that opened the turn, or else the
/// first steering input.
fn waiting_content(session: &Session, turn: &Turn) -> AddedContent {
    let queued = match turn.opening() {
        Some(TurnOpening::Input(input)) => session.queue.iter().find(|queued| queued.id == input),
        Some(TurnOpening::Goal(_) | TurnOpening::Compaction(_)) => None,
        None => session.steer(),
    };
    queued.map_or(AddedContent::default(), |queued| {
        let context = queued.context.iter().map(|part| part.text.bytes);
        let besides = context.chain(queued.images.iter().map(|part| part.bytes));
        let count = queued.context.len().saturating_add(queued.images.len());
        AddedContent {
            bytes: besides.fold(queued.text.bytes, u64::saturating_add),
            items: (count as u64).saturating_add(1),
        }
    })
}

/// Runs the hooks on a compaction before the model is asked.
fn after(turn: &Turn) -> Result<NextFact, TurnOutcome> {
    let Some((compacted, trigger)) = turn.compacted else {
        return Ok(NextFact::Pass);
    };
    let at = HookOccurrence::AfterCompaction { compacted, trigger };
    match hooks::at_turn(turn, at, subject_name(at)) {
        HookStep::Add(fact) => Ok(NextFact::Fact(fact)),
        HookStep::Wait => Ok(NextFact::Wait),
        HookStep::Finished(CombinedVerdict::Deny { reason, .. }) => {
            Err(TurnOutcome::Blocked { reason: reason.clone() })
        }
        HookStep::Finished(
            CombinedVerdict::Pass | CombinedVerdict::Allow | CombinedVerdict::Ask,
        ) => Ok(NextFact::Pass),
    }
}

/// Returns the bytes of text that a compaction should leave.
///
/// This is two thirds of the room that the window leaves beside the waiting input, so that the
/// longest result fits next. A request that the provider rejected is halved: its limit is unknown.
fn target(plan: &Plan, turn: &Turn, trigger: CompactionTrigger) -> u64 {
    let bytes = plan.session.visible.bytes;
    let half = bytes / 2;
    if trigger == CompactionTrigger::Manual {
        return requested_target(plan);
    }
    let Some(room) = budget::window_room(&turn.settings) else {
        return half;
    };
    let waiting = waiting_content(&plan.session, turn).tokens();
    let wanted = room.saturating_sub(waiting).saturating_mul(2) / 3;
    // The measure of the last request does not survive a compaction, so the rest must fit by the
    // estimate too.
    let nothing = AddedContent::default();
    let tokens = budget::tokens(&plan.session, turn, nothing);
    let tokens = tokens.max(budget::unmeasured(&plan.session, turn, nothing));
    let all = u128::from(bytes.saturating_add(turn.base_bytes));
    let left = all.saturating_mul(u128::from(wanted)) / u128::from(tokens.max(1));
    let left = u64::try_from(left).unwrap_or(u64::MAX).saturating_sub(turn.base_bytes);
    match trigger {
        CompactionTrigger::Window => left.min(bytes),
        CompactionTrigger::Overflow | CompactionTrigger::Manual => left.min(half),
    }
}

/// Returns the settings of the latest sample, if its model can read more of the conversation than
/// the turn's: its window is larger or unknown, or the turn's model rejected the conversation. It is
/// another model of the same server and, if the turn's money is limited, for the same price: the
/// reservation is made at the turn's.
fn reader<'a>(
    plan: &'a Plan,
    turn: &Turn,
    trigger: CompactionTrigger,
) -> Option<&'a Arc<Settings>> {
    let reader = plan.session.reader.as_ref()?;
    let settings = &turn.settings;
    let same_server = reader.provider == settings.provider && reader.base_url == settings.base_url;
    let affordable = turn.limits.cost_micros == 0 || reader.price == settings.price;
    let (other, own) = (reader.window.tokens, settings.window.tokens);
    let more = other == 0 || (own > 0 && other > own) || trigger == CompactionTrigger::Overflow;
    let asked = more && same_server && affordable && reader.model != settings.model;
    asked.then_some(reader)
}

/// Returns the bytes of text that a requested compaction should leave: a quarter of the
/// conversation. A short one keeps up to half, so that a summary has room.
fn requested_target(plan: &Plan) -> u64 {
    let bytes = plan.session.visible.bytes;
    (bytes / 4).max((bytes / 2).min(SHORT_TARGET))
}

/// Restarts a compaction after the process of the last run ended. The reservation of that run
/// counts as used, since its cost is unknown.
pub(crate) fn restart(plan: &Plan, turn: &Turn, compacting: &Compacting) -> Fact {
    let mut turn = turn.clone();
    turn.spend_reserved(&compacting.reserved);
    let started = started(plan, &turn, compacting.trigger);
    Fact::CompactionStarted(CompactionStarted { lost: compacting.reserved, ..started })
}

/// Returns the start of a compaction. Asks for a summary only if the budget leaves room for it.
fn started(plan: &Plan, turn: &Turn, trigger: CompactionTrigger) -> CompactionStarted {
    let wanted = match trigger {
        CompactionTrigger::Window | CompactionTrigger::Overflow => turn.settings.window.strategy,
        CompactionTrigger::Manual => CompactionStrategy::Summary,
    };
    let target = target(plan, turn, trigger);
    let (strategy, reserved) = match (wanted, budget::reserve(plan, turn, target)) {
        (CompactionStrategy::Summary, Ok(reserved)) => (CompactionStrategy::Summary, reserved),
        (CompactionStrategy::Summary, Err(_)) => {
            (CompactionStrategy::Slide, Reservation::default())
        }
        (CompactionStrategy::Clear | CompactionStrategy::Slide, _) => {
            (wanted, Reservation::default())
        }
    };
    let asked = reader(plan, turn, trigger);
    let asked = asked.filter(|_| strategy == CompactionStrategy::Summary);
    CompactionStarted {
        compaction: turn.spent.compactions.saturating_add(1),
        attempt: turn.compacting.saturating_add(1),
        trigger,
        strategy,
        target_bytes: target,
        model: asked.map(|settings| settings.model.clone()),
        reserved,
        lost: Reservation::default(),
    }
}
