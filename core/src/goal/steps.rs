//! Goals: opens turns for a goal, and ends it.

use super::{GoalEnd, GoalStatus, stop_reason};
use crate::decide::Plan;
use crate::decide::turn::opened;
use crate::fact::{Fact, GoalEnded};
use crate::outcome::TurnOutcome;
use crate::reason::Reason;

/// Opens a turn for a goal that is due.
pub(crate) fn open(plan: &Plan) -> Option<Fact> {
    let goal = plan.session.goal.as_ref()?;
    let because = Reason::Goal { set: goal.set };
    let opened = || Fact::TurnOpened(opened(plan, because, goal.scope.clone()));
    (goal.status == GoalStatus::Due).then(opened)
}

/// Ends a goal that a call reported as met.
pub(crate) fn end_if_met(plan: &Plan) -> Option<Fact> {
    match &plan.session.goal.as_ref()?.status {
        GoalStatus::Met { call } => Some(ended(GoalEnd::Met { call: *call })),
        GoalStatus::Waiting | GoalStatus::Due | GoalStatus::Stopped { .. } => None,
    }
}

/// Ends a goal for which no further turn is opened.
pub(crate) fn end_if_finished(plan: &Plan) -> Option<Fact> {
    let goal = plan.session.goal.as_ref()?;
    match &goal.status {
        GoalStatus::Due if goal.turns >= goal.goal.turns => Some(ended(GoalEnd::Exhausted)),
        GoalStatus::Stopped { reason } => Some(ended(GoalEnd::Stopped { reason: reason.clone() })),
        GoalStatus::Met { call } => Some(ended(GoalEnd::Met { call: *call })),
        GoalStatus::Waiting | GoalStatus::Due => None,
    }
}

/// Ends a due goal with a user's turn, if another turn would not fix that outcome. Then no further
/// turn opens.
pub(crate) fn end_with_turn(plan: &Plan, outcome: &TurnOutcome) -> Option<Fact> {
    let goal = plan.session.goal.as_ref()?;
    let reason = stop_reason(outcome, "a turn before it")?;
    (goal.status == GoalStatus::Due).then(|| ended(GoalEnd::Stopped { reason }))
}

fn ended(end: GoalEnd) -> Fact {
    Fact::GoalEnded(GoalEnded { end })
}
