//! Compaction: when the conversation is made smaller, and when that is given up.

use super::Plan;
use crate::budget::{self, More};
use crate::compaction::Strategy;
use crate::fact::{CompactionStarted, Fact, Reserved};
use crate::gate::hooks::{self, At};
use crate::gate::{Word, word};
use crate::hook::{HookAt, Trigger};
use crate::outcome::{LimitKind, Outcome};
use crate::session::{Session, Turn};
use crate::stage::{Compacting, Next, Opening};

/// Compacts the conversation until the next request fits, with the input that waits to be let in.
///
/// # Errors
/// The end of the turn, where the conversation does not fit and cannot be made to.
pub(crate) fn fit(plan: &Plan, turn: &Turn, overflow: bool) -> Result<Next, Outcome> {
    let tokens = budget::tokens(&plan.session, turn, waiting(&plan.session, turn));
    let room = budget::room(turn);
    let trigger = match room {
        _ if overflow && turn.compacted.is_none() => Trigger::Overflow,
        Some(room) if tokens > room => Trigger::Window,
        Some(_) | None => return after(turn),
    };
    let exhausted = |limit| Err(Outcome::Exhausted { limit });
    if turn.compacted.is_some() {
        return exhausted(LimitKind::Context);
    }
    if turn.spent.compactions >= turn.limits.compactions {
        return exhausted(LimitKind::Compactions);
    }
    let compaction = turn.spent.compactions.saturating_add(1);
    let at = HookAt::BeforeCompaction {
        compaction,
        trigger,
    };
    match hooks::at_turn(turn, at, word(at)) {
        At::Do(fact) => return Ok(Next::Fact(fact)),
        At::Wait => return Ok(Next::Wait),
        At::Passed(Word::Deny { reason, .. }) => {
            return Err(Outcome::Blocked {
                reason: reason.clone(),
            });
        }
        At::Passed(Word::Pass | Word::Allow | Word::Ask) => {}
    }
    let started = started(plan, turn, trigger, tokens);
    Ok(Next::Fact(Fact::CompactionStarted(started)))
}

/// The input that is let in next, with its context: the one that the turn is opened for, or else
/// what the user says to the turn.
fn waiting(session: &Session, turn: &Turn) -> More {
    let queued = match turn.opening() {
        Some(Opening::Input(input)) => session.queue.iter().find(|queued| queued.id == input),
        Some(Opening::Goal(_)) => None,
        None => session.steer(),
    };
    queued.map_or(More::default(), |queued| {
        let context = queued.context.iter().map(|part| part.part.bytes);
        let besides = context.chain(queued.images.iter().map(|part| part.bytes));
        let count = queued.context.len().saturating_add(queued.images.len());
        More {
            bytes: besides.fold(queued.part.bytes, u64::saturating_add),
            items: (count as u64).saturating_add(1),
        }
    })
}

/// Hooks hear of a compaction before the model is asked.
fn after(turn: &Turn) -> Result<Next, Outcome> {
    let Some((compacted, trigger)) = turn.compacted else {
        return Ok(Next::Pass);
    };
    let at = HookAt::AfterCompaction { compacted, trigger };
    match hooks::at_turn(turn, at, word(at)) {
        At::Do(fact) => Ok(Next::Fact(fact)),
        At::Wait => Ok(Next::Wait),
        At::Passed(Word::Deny { reason, .. }) => Err(Outcome::Blocked {
            reason: reason.clone(),
        }),
        At::Passed(Word::Pass | Word::Allow | Word::Ask) => Ok(Next::Pass),
    }
}

/// Returns the bytes of text that a compaction should leave: half of the window, by the
/// conversation's own ratio of bytes to tokens; half of the conversation if the window is unknown.
fn target(plan: &Plan, turn: &Turn, tokens: u64, room: Option<u64>) -> u64 {
    let bytes = plan.session.shown.bytes;
    let Some(room) = room else {
        return bytes / 2;
    };
    let all = u128::from(bytes.saturating_add(turn.base_bytes));
    let half = all.saturating_mul(u128::from(room / 2)) / u128::from(tokens.max(1));
    let half = u64::try_from(half).unwrap_or(u64::MAX);
    half.saturating_sub(turn.base_bytes).min(bytes / 2)
}

/// The run of a compaction anew, after the process of the last one ended. What was set aside for
/// that one is gone, as nobody says what it cost.
pub(crate) fn again(plan: &Plan, turn: &Turn, compacting: &Compacting) -> Fact {
    let tokens = budget::tokens(&plan.session, turn, waiting(&plan.session, turn));
    let mut turn = turn.clone();
    turn.spend_reserved(&compacting.reserved);
    let started = started(plan, &turn, compacting.trigger, tokens);
    Fact::CompactionStarted(CompactionStarted {
        lost: compacting.reserved,
        ..started
    })
}

/// A summary is asked for only if the budget leaves room for it.
fn started(plan: &Plan, turn: &Turn, trigger: Trigger, tokens: u64) -> CompactionStarted {
    let wanted = turn.settings.window.strategy;
    let (strategy, reserved) = match (wanted, budget::reserve(plan, turn)) {
        (Strategy::Summary, Ok(reserved)) => (Strategy::Summary, reserved),
        (Strategy::Summary, Err(_)) => (Strategy::Slide, Reserved::default()),
        (Strategy::Clear | Strategy::Slide, _) => (wanted, Reserved::default()),
    };
    CompactionStarted {
        compaction: turn.spent.compactions.saturating_add(1),
        attempt: turn.compacting.saturating_add(1),
        trigger,
        strategy,
        target_bytes: target(plan, turn, tokens, budget::room(turn)),
        reserved,
        lost: Reserved::default(),
    }
}
