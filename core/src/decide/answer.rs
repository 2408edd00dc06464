//! Answers: what the effects of a turn say.

use alloc::vec::Vec;

use super::Plan;
use crate::call::answer::running;
use crate::effect::{Demand, EffectKey, Owed};
use crate::error::Reject;
use crate::fact::Fact;
use crate::owed::owed;
use crate::stage::Report;

/// Adds the facts that the answer to an effect of the turn leads to.
pub(super) fn report(plan: &mut Plan, key: EffectKey, report: Report) -> Result<(), Reject> {
    let facts = facts(plan, key, report)?;
    facts.into_iter().try_for_each(|fact| plan.push(fact))
}

/// Only a run that is awaited may answer; its stage then says what the answer leads to.
fn facts(plan: &Plan, key: EffectKey, report: Report) -> Result<Vec<Fact>, Reject> {
    let stale = Reject::Stale(key);
    let Some(turn) = plan.session.turn() else {
        return Err(stale);
    };
    let own = turn.stage.rules().owed(&plan.session, turn);
    if own.is_some_and(|owed| owed.key == key) || running(turn, key) {
        turn.stage.rules().on(plan, turn, key, report)
    } else {
        Err(stale)
    }
}

/// Only what is to wind down can have never begun.
pub(super) fn on_never_began(plan: &mut Plan, key: EffectKey) -> Result<(), Reject> {
    let winds = |one: &Owed| one.key == key && one.demand == Demand::Wind;
    if !owed(&plan.session).iter().any(winds) {
        return Err(Reject::Stale(key));
    }
    report(plan, key, Report::NeverBegan)
}
