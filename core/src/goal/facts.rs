//! Applies facts about goals.

use alloc::format;
use alloc::string::String;

use super::{GoalEnd, GoalState, Standing};
use crate::error::Misfit;
use crate::evolve::misfit;
use crate::fact::{GoalEnded, GoalFact, GoalSet};
use crate::outcome::{LimitKind, Outcome};
use crate::record::Recorded;
use crate::session::Session;

pub(crate) fn on_goal(
    session: &mut Session,
    recorded: &Recorded,
    fact: GoalFact<'_>,
) -> Result<(), Misfit> {
    match fact {
        GoalFact::GoalSet(fact) => {
            on_set(session, recorded, fact);
            Ok(())
        }
        GoalFact::GoalEnded(fact) => on_ended(session, recorded, fact),
    }
}

fn on_set(session: &mut Session, recorded: &Recorded, fact: &GoalSet) {
    session.goal = fact.goal.as_ref().map(|goal| GoalState {
        goal: goal.clone(),
        set: recorded.seq,
        scope: fact.by.clone(),
        turns: 0,
        standing: Standing::Waiting,
    });
}

fn on_ended(session: &mut Session, recorded: &Recorded, fact: &GoalEnded) -> Result<(), Misfit> {
    let goal = session.goal.take();
    let goal = goal.ok_or_else(|| misfit(recorded, "there is no goal"))?;
    let so = match (&goal.standing, &fact.end) {
        (Standing::Met { call }, GoalEnd::Met { call: by }) => call == by,
        (Standing::Due, GoalEnd::Exhausted) => goal.turns >= goal.goal.turns,
        (Standing::Over { reason }, GoalEnd::Stopped { reason: said }) => reason == said,
        // It was due when a turn of the user began that ends like this. In logs from before a goal
        // outlived the turn of the one whose place it took, it ended with that turn.
        (Standing::Due, GoalEnd::Stopped { .. }) => true,
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

/// Returns the status of a goal after a turn with this outcome.
pub(crate) fn after(outcome: &Outcome) -> Standing {
    if let Some(reason) = over(outcome, "a turn for it") {
        return Standing::Over { reason };
    }
    match outcome {
        Outcome::Interrupted { .. } => Standing::Waiting,
        Outcome::Completed
        | Outcome::NoAnswer
        | Outcome::Refused
        | Outcome::Misshapen { .. }
        | Outcome::Blocked { .. }
        | Outcome::Exhausted { .. }
        | Outcome::Failed { .. } => Standing::Due,
    }
}

/// Returns the reason why another turn would not help after this outcome, if there is one. `turn`
/// describes the turn.
pub(crate) fn over(outcome: &Outcome, turn: &str) -> Option<String> {
    let how = match outcome {
        Outcome::Completed
        | Outcome::NoAnswer
        | Outcome::Misshapen { .. }
        | Outcome::Interrupted { .. } => return None,
        Outcome::Exhausted { limit } => match limit {
            LimitKind::Samples
            | LimitKind::CallsPerSample
            | LimitKind::Calls
            | LimitKind::OutputTokens
            | LimitKind::Continuations => return None,
            LimitKind::Tokens
            | LimitKind::Cost
            | LimitKind::WallClock
            | LimitKind::Compactions
            | LimitKind::Context => "used up what it may use",
        },
        Outcome::Refused => return Some(String::from("the model refused")),
        Outcome::Blocked { .. } => "was blocked",
        Outcome::Failed { .. } => "failed",
    };
    Some(format!("{turn} {how}"))
}
