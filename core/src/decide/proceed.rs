//! Proceed: the facts that need nothing from the world, phase by phase.

use super::{Plan, turn};
use crate::error::Reject;
use crate::fact::Fact;
use crate::gate::hooks::{self, At};
use crate::gate::word;
use crate::goal::steps as goal;
use crate::hook::HookAt;
use crate::session::{Hold, Phase, Turn};
use crate::stage::Next;

/// Adds facts until the world has to say something.
///
/// It ends: each fact moves a call or a turn forward, and each turn that it opens takes an input
/// from the queue, or from what its goal may have.
pub(super) fn proceed(plan: &mut Plan) -> Result<(), Reject> {
    while let Some(fact) = next(plan).fact() {
        plan.push(fact)?;
    }
    Ok(())
}

fn next(plan: &Plan) -> Next {
    match &plan.session.phase {
        Phase::Idle => at_rest(plan),
        Phase::Turning(turn) => in_turn(plan, turn),
    }
}

/// The phases of a session at rest: it closes, or a turn is opened for what waits, or for a goal
/// that is not met.
fn at_rest(plan: &Plan) -> Next {
    close(plan)
        .or(|| Next::from(goal::finished(plan)))
        .or(|| hold(plan))
        .or(|| Next::from(turn::open(plan, None)))
        .or(|| Next::from(goal::open(plan)))
}

/// The phases of an open turn: those that hold in every stage, and then the stage's own.
fn in_turn(plan: &Plan, turn: &Turn) -> Next {
    Next::from(goal::met(plan))
        .or(|| Next::from(turn::overdue(plan, turn)))
        .or(|| Next::from(asks_on(turn)))
        .or(|| turn::stop(plan, turn))
        .or(|| turn.stage.rules().next(plan, turn))
}

fn close(plan: &Plan) -> Next {
    match plan.session.gates.open {
        Some(_) => Next::or_wait(hooks::at_rest(&plan.session)),
        None => Next::Pass,
    }
}

fn hold(plan: &Plan) -> Next {
    match plan.session.hold {
        Hold::Held => Next::Wait,
        Hold::Free => Next::Pass,
    }
}

/// The next hooks of the occurrence that is open. They come before every other step: what else the
/// turn might do next could be a question of its own, and would wait for this one for ever.
fn asks_on(turn: &Turn) -> Option<Fact> {
    let at = turn.gates.open.as_ref()?.at;
    if turn.stop.is_some() && at != HookAt::Interrupt {
        return None;
    }
    match hooks::at_turn(turn, at, word(at)) {
        At::Do(fact) => Some(fact),
        At::Wait | At::Passed(_) => None,
    }
}
