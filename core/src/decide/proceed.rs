//! Proceed: the facts that need no effect, phase by phase.

use super::{Plan, turn};
use crate::error::Reject;
use crate::fact::Fact;
use crate::goal::steps as goal;
use crate::hook::HookOccurrence;
use crate::hook_rounds::hooks::{self, HookStep};
use crate::hook_rounds::subject_name;
use crate::session::{Hold, Phase, Turn};
use crate::stage::{NextFact, Transition};

/// Adds facts until the session waits for an effect or an input.
///
/// It terminates: each fact moves a call or a turn forward. Each new turn consumes a queued input,
/// or one of the turns that its goal allows.
pub(super) fn proceed(plan: &mut Plan) -> Result<(), Reject> {
    while let Some(fact) = next(plan).fact() {
        plan.push(fact)?;
    }
    Ok(())
}

fn next(plan: &Plan) -> NextFact {
    match &plan.session.phase {
        Phase::Idle => at_rest(plan),
        Phase::InTurn(turn) => in_turn(plan, turn),
    }
}

/// Runs the phases of an idle session: it closes, or opens a turn for a requested compaction, a
/// waiting input or an open goal.
fn at_rest(plan: &Plan) -> NextFact {
    close(plan)
        .or(|| NextFact::from(goal::end_if_finished(plan)))
        .or(|| NextFact::from(compact(plan)))
        .or(|| hold(plan))
        .or(|| NextFact::from(turn::open_compaction(plan, None)))
        .or(|| NextFact::from(turn::open(plan)))
        .or(|| NextFact::from(goal::open(plan)))
}

/// Runs the phases of an open turn: those shared by all stages, then the stage's own. A turn that a
/// fork inherited has none but its end.
fn in_turn(plan: &Plan, turn: &Turn) -> NextFact {
    turn::end_inherited(plan, turn)
        .or(|| NextFact::from(goal::end_if_met(plan)))
        .or(|| NextFact::from(turn::overdue(plan, turn)))
        .or(|| NextFact::from(ask_next_hooks(plan, turn)))
        .or(|| turn::stop(plan, turn))
        .or(|| turn.stage.rules().next(plan, turn))
}

fn close(plan: &Plan) -> NextFact {
    match plan.session.hook_rounds.open {
        Some(_) => NextFact::or_wait(hooks::at_rest(&plan.session)),
        None => NextFact::Pass,
    }
}

/// Opens the turn of a compaction that was requested at rest, also while inputs are held.
fn compact(plan: &Plan) -> Option<Fact> {
    let request = plan.session.compaction.as_ref()?;
    if request.waits { None } else { turn::open_compaction(plan, None) }
}

fn hold(plan: &Plan) -> NextFact {
    match plan.session.hold {
        Hold::Held => NextFact::Wait,
        Hold::Free => NextFact::Pass,
    }
}

/// Asks the next hooks of the open occurrence. This precedes every other step: another step could
/// raise its own question, and would wait for this one for ever. A turn that ends asks no more hooks
/// about a steering input: the next turn does.
fn ask_next_hooks(plan: &Plan, turn: &Turn) -> Option<Fact> {
    let at = turn.hook_rounds.open.as_ref()?.at;
    let asks = at == HookOccurrence::Interrupt
        || turn.allows(&plan.session, Transition::AskHooks(at)).is_ok();
    if !asks {
        return None;
    }
    match hooks::at_turn(turn, at, subject_name(at)) {
        HookStep::Add(fact) => Some(fact),
        HookStep::Wait | HookStep::Finished(_) => None,
    }
}
