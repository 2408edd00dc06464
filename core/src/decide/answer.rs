//! Answers: what the effects of a turn say.

use alloc::vec::Vec;

use super::Plan;
use crate::call::answer::running;
use crate::desired_effects::desired_effects;
use crate::effect::{Demand, DesiredEffect, EffectKey};
use crate::error::Reject;
use crate::fact::Fact;
use crate::stage::EffectReport;

/// Adds the facts that the answer to an effect of the turn leads to.
pub(super) fn report(plan: &mut Plan, key: EffectKey, report: EffectReport) -> Result<(), Reject> {
    let facts = facts(plan, key, report)?;
    facts.into_iter().try_for_each(|fact| plan.push(fact))
}

/// Only a run that is awaited may answer; its stage then says what the answer leads to.
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

/// Only what is to wind down can have never begun.
pub(super) fn on_never_began(plan: &mut Plan, key: EffectKey) -> Result<(), Reject> {
    let winds = |one: &DesiredEffect| one.key == key && one.demand == Demand::Cancel;
    if !desired_effects(&plan.session).iter().any(winds) {
        return Err(Reject::Stale(key));
    }
    report(plan, key, EffectReport::NeverStarted)
}
