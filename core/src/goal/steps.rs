//! Goals: when a turn is opened for one, and when one ends.

use super::{GoalEnd, Standing, over};
use crate::because::Because;
use crate::decide::Plan;
use crate::decide::turn::opened;
use crate::fact::{Fact, GoalEnded};
use crate::outcome::Outcome;

/// Opens a turn for a goal that is due.
pub(crate) fn open(plan: &Plan) -> Option<Fact> {
    let goal = plan.session.goal.as_ref()?;
    let because = Because::Goal { set: goal.set };
    let opened = || Fact::TurnOpened(opened(plan, because, goal.scope.clone()));
    (goal.standing == Standing::Due).then(opened)
}

/// Ends a goal that a call has said to be met.
pub(crate) fn met(plan: &Plan) -> Option<Fact> {
    match &plan.session.goal.as_ref()?.standing {
        Standing::Met { call } => Some(ended(GoalEnd::Met { call: *call })),
        Standing::Waiting | Standing::Due | Standing::Over { .. } => None,
    }
}

/// Ends a goal for which no further turn is opened.
pub(crate) fn finished(plan: &Plan) -> Option<Fact> {
    let goal = plan.session.goal.as_ref()?;
    match &goal.standing {
        Standing::Due if goal.turns >= goal.goal.turns => Some(ended(GoalEnd::Exhausted)),
        Standing::Over { reason } => Some(ended(GoalEnd::Stopped {
            reason: reason.clone(),
        })),
        Standing::Met { call } => Some(ended(GoalEnd::Met { call: *call })),
        Standing::Waiting | Standing::Due => None,
    }
}

/// A goal that was due when a turn of the user began ends with that turn as it would with its own:
/// where another turn would not mend it, none is opened.
pub(crate) fn left(plan: &Plan, outcome: &Outcome) -> Option<Fact> {
    let goal = plan.session.goal.as_ref()?;
    let reason = over(outcome, "a turn before it")?;
    (goal.standing == Standing::Due).then(|| ended(GoalEnd::Stopped { reason }))
}

fn ended(end: GoalEnd) -> Fact {
    Fact::GoalEnded(GoalEnded { end })
}
