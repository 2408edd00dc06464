//! Law 21: a turn that ends the work towards a goal is its last.
//!
//! A turn ends the work where the model says in it that the goal is met, and where it ends in a way
//! that another turn would not mend: refused, blocked, failed, or out of what it may use. That holds
//! for a turn of the user too, whether the goal was due when it began or was set while it ran. A turn
//! that was opened for another goal, whose place this one took, says nothing of it, and neither does one
//! that only compacts. No turn opens for
//! a goal after its last.
//!
//! It kills: a goal that is due and goes on after a turn that failed, one that goes on though it is
//! met.

use std::collections::BTreeSet;

use windlass_core::{
    FactGroup, GOAL_TOOL, LimitKind, ObservationStatus, Reason, RecordedFact, RunFact, Seq,
    TurnFact, TurnOutcome,
};

use super::{Held, hold, reading};

/// Checks a log.
///
/// # Errors
/// [`Broken`](super::Broken) with the first turn that opens for a goal after its last.
pub fn check(log: &[RecordedFact]) -> Held {
    let mut goals = Goals::default();
    log.iter().try_for_each(|recorded| goals.take(log, recorded))
}

#[derive(Default)]
struct Goals {
    /// The goal that is set and whose end is not recorded.
    current: Option<Seq>,
    /// The goal that the open turn was opened for.
    turn: Option<Seq>,
    /// True if the open turn only compacts.
    compacts: bool,
    /// Goals whose last turn is known.
    over: BTreeSet<Seq>,
}

impl Goals {
    fn take(&mut self, log: &[RecordedFact], recorded: &RecordedFact) -> Held {
        match recorded.fact.group() {
            FactGroup::Goal(fact) => self.current = fact.goal().map(|_| recorded.seq),
            FactGroup::Turn(TurnFact::TurnOpened(fact)) => {
                self.turn = named(fact.reason);
                self.compacts = matches!(fact.reason, Reason::CompactionRequested { .. });
                let over = self.turn.filter(|goal| self.over.contains(goal));
                return hold(21, over.is_none(), || {
                    let goal = over.unwrap_or(Seq::ZERO);
                    format!("turn {} opens for the goal of {goal} after its last", recorded.seq)
                });
            }
            FactGroup::Turn(TurnFact::TurnSettled(fact)) => {
                let turn = self.turn.take();
                let other = |goal: &Seq| turn.is_some_and(|turn| turn != *goal);
                let goal = self.current.filter(|goal| !other(goal) && !self.compacts);
                self.over.extend(goal.filter(|_| is_final(&fact.outcome)));
            }
            FactGroup::Run(RunFact::CallObserved(fact)) => {
                let done = fact.observation.status == ObservationStatus::Done;
                let name = reading::call(log, fact.call).map(|(_, item)| item.name.as_str());
                let met = done && name == Some(GOAL_TOOL);
                self.over.extend(self.current.filter(|_| met));
            }
            FactGroup::Turn(TurnFact::InterruptRequested(_))
            | FactGroup::Run(_)
            | FactGroup::Session(_)
            | FactGroup::Recovery(_)
            | FactGroup::Input(_)
            | FactGroup::Hook(_)
            | FactGroup::Context(_)
            | FactGroup::Compaction(_)
            | FactGroup::Sample(_)
            | FactGroup::Permission(_)
            | FactGroup::Program(_) => {}
        }
        Ok(())
    }
}

/// The goal that a turn is opened for, if it is opened for one.
fn named(because: Reason) -> Option<Seq> {
    let Reason::Goal { set } = because else {
        return None;
    };
    Some(set)
}

/// Returns true if another turn would not mend what a turn ended with.
fn is_final(outcome: &TurnOutcome) -> bool {
    match outcome {
        TurnOutcome::Refused | TurnOutcome::Blocked { .. } | TurnOutcome::Failed { .. } => true,
        TurnOutcome::Exhausted { limit } => match limit {
            LimitKind::Tokens
            | LimitKind::Cost
            | LimitKind::WallClock
            | LimitKind::Compactions
            | LimitKind::Context
            | LimitKind::SessionBytes => true,
            LimitKind::Samples
            | LimitKind::CallsPerSample
            | LimitKind::Calls
            | LimitKind::OutputTokens
            | LimitKind::Continuations => false,
        },
        TurnOutcome::Completed
        | TurnOutcome::NoAnswer
        | TurnOutcome::InvalidOutput { .. }
        | TurnOutcome::Interrupted { .. } => false,
    }
}
