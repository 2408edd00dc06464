//! Answers: the reports of a turn's effects.

use alloc::vec::Vec;

use super::Plan;
use crate::call::answer::running;
use crate::desired_effects::desired_effects;
use crate::effect::{Demand, DesiredEffect, EffectKey};
use crate::error::Reject;
use crate::fact::Fact;
use crate::stage::EffectReport;

/// Adds the facts that record an answer to an effect of the turn.
pub(super) fn report(plan: &mut Plan, key: EffectKey, report: EffectReport) -> Result<(), Reject> {
    let facts = facts(plan, key, report)?;
    facts.into_iter().try_for_each(|fact| plan.push(fact))
}

/// Returns the facts of an answer. Only an awaited run may answer; its stage decides what the
/// answer leads to.
fn facts(plan: &Plan, key: EffectKey, report: EffectReport) -> Result<Vec<Fact>, Reject> {
    let stale = Reject::Stale(key);
    let Some(turn) = plan.session.turn() else {
        return Err(stale);
    };
    let own = turn.stage.rules().desired_effect(&plan.session, turn);
    if own.is_some_and(|owed| owed.key == key) || running(turn, key) {
        turn.stage.rules().on_report(plan, turn, key, report)
    } else {
        Err(stale)
    }
}

/// Applies the report that an effect never started. Only a cancelled effect may report this.
pub(super) fn on_never_began(plan: &mut Plan, key: EffectKey) -> Result<(), Reject> {
    let winds = |one: &DesiredEffect| one.key == key && one.demand == Demand::Cancel;
    if !desired_effects(&plan.session).iter().any(winds) {
        return Err(Reject::Stale(key));
    }
    report(plan, key, EffectReport::NeverStarted)
}
