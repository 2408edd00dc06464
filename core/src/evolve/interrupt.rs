//! Interrupts: asked to stop at once, or after the step.

use super::{misfit, turn_of};
use crate::error::Misfit;
use crate::fact::{InterruptRequested, StopWhen};
use crate::outcome::{Interrupter, LimitKind, Outcome};
use crate::record::Recorded;
use crate::session::{Session, Stop, Turn};
use crate::stage::executing::leave_if_done;

pub(crate) fn on_requested(
    session: &mut Session,
    recorded: &Recorded,
    fact: &InterruptRequested,
) -> Result<(), Misfit> {
    let turn = turn_of(session, recorded)?;
    let own = fact.by == Interrupter::Deadline;
    if turn.stop.is_some() && (own || turn.is_interrupted()) {
        return Err(misfit(recorded, "the turn was asked to stop already"));
    }
    let outcome = match fact.by {
        Interrupter::Person | Interrupter::Shutdown => Outcome::Interrupted {
            by: fact.by,
            reason: fact.reason.clone(),
        },
        Interrupter::Deadline => Outcome::Exhausted {
            limit: LimitKind::WallClock,
        },
    };
    match fact.when {
        // It stops already, for a limit or a hook: the word is kept for what comes after it.
        StopWhen::Now | StopWhen::AfterStep if turn.stop.is_some() => {
            turn.pause = Some(Stop {
                outcome,
                at: recorded.ts,
                seq: recorded.seq,
            });
        }
        StopWhen::Now => stop(turn, recorded, outcome),
        StopWhen::AfterStep if turn.pause.is_some() => {
            return Err(misfit(recorded, "the turn was asked to stop already"));
        }
        StopWhen::AfterStep => {
            turn.pause = Some(Stop {
                outcome,
                at: recorded.ts,
                seq: recorded.seq,
            });
        }
    }
    leave_if_done(session);
    Ok(())
}

/// The turn is to stop now. Hooks that are being asked are no longer waited for.
pub(crate) fn stop(turn: &mut Turn, recorded: &Recorded, outcome: Outcome) {
    turn.gates.open = None;
    turn.stop = Some(Stop {
        outcome,
        at: recorded.ts,
        seq: recorded.seq,
    });
}
