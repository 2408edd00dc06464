//! Applies facts about goals.

use alloc::format;
use alloc::string::String;

use super::{GoalEnd, GoalState, GoalStatus};
use crate::error::InvalidFact;
use crate::evolve::invalid_fact;
use crate::fact::{GoalEnded, GoalFact, GoalSet};
use crate::outcome::{LimitKind, TurnOutcome};
use crate::record::RecordedFact;
use crate::session::Session;

pub(crate) fn on_goal(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: GoalFact<'_>,
) -> Result<(), InvalidFact> {
    match fact {
        GoalFact::GoalSet(fact) => {
            on_set(session, recorded, fact);
            Ok(())
        }
        GoalFact::GoalEnded(fact) => on_ended(session, recorded, fact),
    }
}

fn on_set(session: &mut Session, recorded: &RecordedFact, fact: &GoalSet) {
    session.goal = fact.goal.as_ref().map(|goal| GoalState {
        goal: goal.clone(),
        set: recorded.seq,
        scope: fact.by.clone(),
        turns: 0,
        status: GoalStatus::Waiting,
    });
}

fn on_ended(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &GoalEnded,
) -> Result<(), InvalidFact> {
    let goal = session.goal.take();
    let goal = goal.ok_or_else(|| invalid_fact(recorded, "there is no goal"))?;
    let so = match (&goal.status, &fact.end) {
        (GoalStatus::Met { call }, GoalEnd::Met { call: by }) => call == by,
        (GoalStatus::Due, GoalEnd::Exhausted) => goal.turns >= goal.goal.turns,
        (GoalStatus::Stopped { reason }, GoalEnd::Stopped { reason: said }) => reason == said,
        // The goal was due when a user's turn began, and that turn ended like this. In older logs a
        // new goal also ended with the turn of the goal that it replaced.
        (GoalStatus::Due, GoalEnd::Stopped { .. }) => true,
        (
            GoalStatus::Waiting
            | GoalStatus::Due
            | GoalStatus::Met { .. }
            | GoalStatus::Stopped { .. },
            GoalEnd::Met { .. } | GoalEnd::Exhausted | GoalEnd::Stopped { .. },
        ) => false,
    };
    if so { Ok(()) } else { Err(invalid_fact(recorded, "the goal does not end in this way")) }
}

/// Returns the status of a goal after a turn with this outcome.
pub(crate) fn status_after(outcome: &TurnOutcome) -> GoalStatus {
    if let Some(reason) = stop_reason(outcome, "a turn for it") {
        return GoalStatus::Stopped { reason };
    }
    match outcome {
        TurnOutcome::Interrupted { .. } => GoalStatus::Waiting,
        TurnOutcome::Completed
        | TurnOutcome::NoAnswer
        | TurnOutcome::Refused
        | TurnOutcome::InvalidOutput { .. }
        | TurnOutcome::Blocked { .. }
        | TurnOutcome::Exhausted { .. }
        | TurnOutcome::Failed { .. } => GoalStatus::Due,
    }
}

/// Returns the reason why another turn would not help after this outcome, if there is one. `turn`
/// describes the turn.
pub(crate) fn stop_reason(outcome: &TurnOutcome, turn: &str) -> Option<String> {
    let how = match outcome {
        TurnOutcome::Completed
        | TurnOutcome::NoAnswer
        | TurnOutcome::InvalidOutput { .. }
        | TurnOutcome::Interrupted { .. } => return None,
        TurnOutcome::Exhausted { limit } => match limit {
            LimitKind::Samples
            | LimitKind::CallsPerSample
            | LimitKind::Calls
            | LimitKind::OutputTokens
            | LimitKind::Continuations => return None,
            LimitKind::Tokens
            | LimitKind::Cost
            | LimitKind::WallClock
            | LimitKind::Compactions
            | LimitKind::Context
            | LimitKind::SessionBytes => "used up what it may use",
        },
        TurnOutcome::Refused => return Some(String::from("the model refused")),
        TurnOutcome::Blocked { .. } => "was blocked",
        TurnOutcome::Failed { .. } => "failed",
    };
    Some(format!("{turn} {how}"))
}
