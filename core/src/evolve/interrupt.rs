//! Interrupts: requests to stop, at once or after the step.

use super::{invalid_fact, turn_of};
use crate::error::InvalidFact;
use crate::fact::{InterruptRequested, StopTiming};
use crate::outcome::{InterruptSource, LimitKind, TurnOutcome};
use crate::record::RecordedFact;
use crate::session::{Session, StopRequest, Turn};
use crate::stage::executing::leave_if_done;

pub(crate) fn on_interrupt_requested(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &InterruptRequested,
) -> Result<(), InvalidFact> {
    let turn = turn_of(session, recorded)?;
    let own = fact.by == InterruptSource::Deadline;
    if turn.stop.is_some() && (own || turn.is_interrupted()) {
        return Err(invalid_fact(recorded, "the turn was asked to stop already"));
    }
    let outcome = match fact.by {
        InterruptSource::Person | InterruptSource::Parent | InterruptSource::Shutdown => {
            TurnOutcome::Interrupted { by: fact.by, reason: fact.reason.clone() }
        }
        InterruptSource::Deadline => TurnOutcome::Exhausted { limit: LimitKind::WallClock },
    };
    match fact.when {
        // A limit or a hook already stops the turn. Record the request for what follows the turn.
        StopTiming::Now | StopTiming::AfterStep if turn.stop.is_some() => {
            turn.pause = Some(StopRequest { outcome, at: recorded.ts, seq: recorded.seq });
        }
        StopTiming::Now => stop(turn, recorded, outcome),
        StopTiming::AfterStep if turn.pause.is_some() => {
            return Err(invalid_fact(recorded, "the turn was asked to stop already"));
        }
        StopTiming::AfterStep => {
            turn.pause = Some(StopRequest { outcome, at: recorded.ts, seq: recorded.seq });
        }
    }
    leave_if_done(session);
    Ok(())
}

/// Stops the turn at once. Hooks that are being asked are no longer awaited.
pub(crate) fn stop(turn: &mut Turn, recorded: &RecordedFact, outcome: TurnOutcome) {
    turn.hook_rounds.open = None;
    turn.stop = Some(StopRequest { outcome, at: recorded.ts, seq: recorded.seq });
}
