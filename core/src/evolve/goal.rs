//! Goals: set, ended.

use super::misfit;
use crate::error::Misfit;
use crate::fact::{GoalEnded, GoalSet};
use crate::goal::{GoalEnd, GoalState, Standing};
use crate::outcome::{LimitKind, Outcome};
use crate::record::Recorded;
use crate::session::Session;

pub(super) fn on_set(session: &mut Session, recorded: &Recorded, fact: &GoalSet) {
    session.goal = fact.goal.as_ref().map(|goal| GoalState {
        goal: goal.clone(),
        set: recorded.seq,
        scope: fact.by.clone(),
        turns: 0,
        standing: Standing::Waiting,
    });
}

pub(super) fn on_ended(
    session: &mut Session,
    recorded: &Recorded,
    fact: &GoalEnded,
) -> Result<(), Misfit> {
    let goal = session.goal.take();
    let goal = goal.ok_or_else(|| misfit(recorded, "there is no goal"))?;
    let so = match (&goal.standing, &fact.end) {
        (Standing::Met { call }, GoalEnd::Met { call: by }) => call == by,
        (Standing::Due, GoalEnd::Exhausted) => goal.turns >= goal.goal.turns,
        (Standing::Over { reason }, GoalEnd::Stopped { reason: said }) => reason == said,
        (
            Standing::Waiting | Standing::Due | Standing::Met { .. } | Standing::Over { .. },
            GoalEnd::Met { .. } | GoalEnd::Exhausted | GoalEnd::Stopped { .. },
        ) => false,
    };
    if so {
        Ok(())
    } else {
        Err(misfit(recorded, "the goal does not end in this way"))
    }
}

/// What a turn that ended like this means for a goal.
pub(super) fn after(outcome: &Outcome) -> Standing {
    let over = |reason: &str| Standing::Over {
        reason: reason.into(),
    };
    match outcome {
        Outcome::Completed | Outcome::NoAnswer => Standing::Due,
        Outcome::Exhausted { limit } => match limit {
            LimitKind::Samples
            | LimitKind::CallsPerSample
            | LimitKind::Calls
            | LimitKind::OutputTokens
            | LimitKind::Continuations => Standing::Due,
            LimitKind::Tokens
            | LimitKind::Cost
            | LimitKind::WallClock
            | LimitKind::Compactions
            | LimitKind::Context => over("a turn for it used up what it may use"),
        },
        Outcome::Interrupted { .. } => Standing::Waiting,
        Outcome::Refused => over("the model refused"),
        Outcome::Blocked { .. } => over("a turn for it was blocked"),
        Outcome::Failed { .. } => over("a turn for it failed"),
    }
}
