//! Law 7: nothing the user said and was acknowledged is lost, and a turn never completes over
//! waiting input.
//!
//! Each input that was queued is accepted once, or blocked once by a hook that says so, or withdrawn
//! once by a user, or it still waits in the state that the log folds to, in the order that users have
//! given it. A turn that settles lists exactly the inputs that wait; one that the model has completed leaves none behind that was meant for it.
//!
//! It kills: a queue that a stop or a restart empties, one that keeps what was withdrawn, an input that is let in twice, a turn that
//! does not look at its queue before it completes.

use windlass_core::{
    DenialEffect, Fact, FactGroup, HookOccurrence, HookVerdict, InputBlocked, InputFact, InputId,
    Reason, RecordedFact, Session, TurnFact, TurnOutcome, TurnSettled,
};

use super::reading::{self, Queue};
use super::{Held, hold};

/// Checks a log, and the state that it folds to.
///
/// # Errors
/// [`Broken`](super::Broken) with the first input that is lost, or heard twice.
pub fn check(log: &[RecordedFact], session: &Session) -> Held {
    let mut waiting = Queue::default();
    let mut asks_model = true;
    for recorded in log {
        match recorded.fact.group() {
            FactGroup::Input(InputFact::InputBlocked(fact)) => blocked(log, recorded, fact)?,
            FactGroup::Turn(TurnFact::TurnOpened(fact)) => {
                asks_model = match fact.reason {
                    Reason::CompactionRequested { .. } => false,
                    Reason::Input { input } => !reading::is_queued_command(log, input),
                    Reason::ToolResults
                    | Reason::Retry
                    | Reason::Unfinished
                    | Reason::PendingInput { .. }
                    | Reason::HookContext { .. }
                    | Reason::Compacted
                    | Reason::InvalidOutput { .. }
                    | Reason::EmptyAnswer { .. }
                    | Reason::Goal { .. } => true,
                };
            }
            FactGroup::Turn(TurnFact::TurnSettled(fact)) => {
                settled(recorded, fact, &waiting, asks_model)?;
            }
            FactGroup::Input(
                InputFact::InputQueued(_)
                | InputFact::InputAccepted(_)
                | InputFact::InputEdited(_)
                | InputFact::InputMoved(_)
                | InputFact::InputWithdrawn(_),
            )
            | FactGroup::Turn(TurnFact::InterruptRequested(_))
            | FactGroup::Session(_)
            | FactGroup::Recovery(_)
            | FactGroup::Goal(_)
            | FactGroup::Hook(_)
            | FactGroup::Context(_)
            | FactGroup::Compaction(_)
            | FactGroup::Sample(_)
            | FactGroup::Permission(_)
            | FactGroup::Run(_)
            | FactGroup::Program(_) => {}
        }
        hold(7, waiting.apply(log, recorded), || {
            format!("{} speaks of an input that does not wait", recorded.seq)
        })?;
    }
    let queue: Vec<InputId> = session.queue.iter().map(|queued| queued.id).collect();
    hold(7, queue.iter().copied().eq(waiting.ids()), || {
        format!("by the log {waiting:?} wait, and the session holds {queue:?}")
    })
}

/// An input is blocked by a hook: one that was asked about it or about the beginning of the turn, or
/// one that ended the turn before it was let in.
fn blocked(log: &[RecordedFact], at: &RecordedFact, fact: &InputBlocked) -> Held {
    let asked = |place: HookOccurrence| {
        let other = place.input().is_some_and(|input| input != fact.input);
        !other && place.point().properties().denial == DenialEffect::BlocksInput
    };
    let denies = |recorded: &RecordedFact| {
        let Fact::HookDecided(decided) = &recorded.fact else {
            return false;
        };
        recorded.turn == at.turn
            && match reading::counts_as(&reading::hooks(log, recorded), decided) {
                HookVerdict::Halt | HookVerdict::Overrun => true,
                HookVerdict::Deny => reading::place(log, decided).is_some_and(asked),
                HookVerdict::Pass | HookVerdict::Allow | HookVerdict::Ask | HookVerdict::Failed => {
                    false
                }
            }
    };
    let mut before = log.iter().take_while(|recorded| recorded.seq < at.seq);
    // The process that received a command ended: law 29.
    let command = reading::is_queued_command(log, fact.input);
    hold(7, command || before.any(denies), || {
        format!("{} blocks input {}, and no hook says so", at.seq, fact.input)
    })
}

/// A turn that asks no model completes over anything: nothing was meant for it.
fn settled(recorded: &RecordedFact, fact: &TurnSettled, waiting: &Queue, asks_model: bool) -> Held {
    hold(7, fact.waiting.iter().copied().eq(waiting.ids()), || {
        format!("{} says that {:?} wait, and {waiting:?} do", recorded.seq, fact.waiting)
    })?;
    let completes = match fact.outcome {
        TurnOutcome::Completed | TurnOutcome::NoAnswer | TurnOutcome::Refused => true,
        TurnOutcome::InvalidOutput { .. }
        | TurnOutcome::Interrupted { .. }
        | TurnOutcome::Blocked { .. }
        | TurnOutcome::Exhausted { .. }
        | TurnOutcome::Failed { .. } => false,
    };
    let meant = waiting.user_steer().is_some();
    hold(7, !(completes && meant && asks_model), || {
        format!("{} completes over {waiting:?}", recorded.seq)
    })
}
