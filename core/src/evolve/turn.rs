//! Turns: opened, let in, asked to stop, settled.

use super::{misfit, turn_of};
use crate::because::Because;
use crate::error::Misfit;
use crate::fact::{InputAccepted, InterruptRequested, TurnOpened, TurnSettled};
use crate::id::{Seq, TurnId};
use crate::outcome::{Interrupter, LimitKind, Outcome};
use crate::record::Recorded;
use crate::session::{Hold, Phase, Ready, Session, Spent, Stage, Stop, Turn};

pub(super) fn on_opened(
    session: &mut Session,
    recorded: &Recorded,
    fact: &TurnOpened,
) -> Result<(), Misfit> {
    if session.turn().is_some() {
        return Err(misfit(recorded, "a turn is open already"));
    }
    if recorded.turn != Some(TurnId(recorded.seq.0)) {
        return Err(misfit(
            recorded,
            "a turn is named by the position of its opening",
        ));
    }
    if fact.settings != session.settings_at {
        return Err(misfit(
            recorded,
            "its settings are not the session's latest",
        ));
    }
    let Because::Opened { input } = fact.because else {
        return Err(misfit(recorded, "a turn is opened by an input"));
    };
    match session.queue.front() {
        Some(next) if next.id == input => {
            if next.scope != fact.scope || next.dry_run != fact.dry_run {
                return Err(misfit(recorded, "it is not opened as its input asks"));
            }
        }
        Some(_) | None => {
            return Err(misfit(recorded, "its input is not the oldest that waits"));
        }
    }
    session.phase = Phase::Turning(Turn {
        id: TurnId(recorded.seq.0),
        scope: fact.scope.clone(),
        settings: session.settings.clone(),
        limits: fact.limits,
        dry_run: fact.dry_run,
        opened_at: recorded.ts,
        spent: Spent::default(),
        stop: None,
        stage: Stage::Opening { input },
    });
    Ok(())
}

pub(super) fn on_input_accepted(
    session: &mut Session,
    recorded: &Recorded,
    fact: &InputAccepted,
) -> Result<(), Misfit> {
    let turn = turn_of(session, recorded)?;
    let Stage::Opening { input } = turn.stage else {
        return Err(misfit(recorded, "the turn does not wait for an input"));
    };
    turn.stage = Stage::Ready(Ready {
        because: Because::Opened { input },
    });
    let queued = session.queue.pop_front();
    match queued {
        Some(queued) if queued.id == input && fact.input == input => {
            session.context = session.context.digest(queued.digest);
            Ok(())
        }
        Some(_) | None => Err(misfit(recorded, "it is not the turn's input")),
    }
}

pub(super) fn on_interrupt_requested(
    session: &mut Session,
    recorded: &Recorded,
    fact: &InterruptRequested,
) -> Result<(), Misfit> {
    let turn = turn_of(session, recorded)?;
    if turn.stop.is_some() {
        return Err(misfit(recorded, "the turn was asked to stop already"));
    }
    turn.stop = Some(Stop {
        by: fact.by,
        reason: fact.reason.clone(),
        at: recorded.ts,
        seq: recorded.seq,
    });
    Ok(())
}

/// An interrupted turn leaves a hold, unless a user has spoken since asking it to stop.
pub(super) fn on_settled(
    session: &mut Session,
    recorded: &Recorded,
    fact: &TurnSettled,
) -> Result<(), Misfit> {
    let turn = turn_of(session, recorded)?;
    match &turn.stage {
        Stage::Sampling(_) => return Err(misfit(recorded, "a sample is still out")),
        Stage::Executing(_) => return Err(misfit(recorded, "calls are still out")),
        Stage::Opening { .. } => return Err(misfit(recorded, "its input was not let in")),
        Stage::Ready(_) | Stage::Backoff(_) | Stage::Concluding(_) | Stage::Ending(_) => {}
    }
    if fact.spent != turn.spent {
        return Err(misfit(recorded, "it does not say what the turn took"));
    }
    if !ends_so(turn, &fact.outcome) {
        return Err(misfit(recorded, "the turn does not end in this way"));
    }
    let asked_at = turn.stop.as_ref().map_or(Seq::ZERO, |stop| stop.seq);
    let spoken_since = |last: &crate::session::Queued| last.id.0 > asked_at.0;
    session.hold = match &fact.outcome {
        Outcome::Interrupted { .. } if session.queue.back().is_some_and(spoken_since) => Hold::Free,
        Outcome::Interrupted { .. } => Hold::Held,
        Outcome::Completed
        | Outcome::NoAnswer
        | Outcome::Refused
        | Outcome::Blocked { .. }
        | Outcome::Exhausted { .. }
        | Outcome::Failed { .. } => Hold::Free,
    };
    session.phase = Phase::Idle;
    Ok(())
}

/// Whether a turn that stands here can end like this.
fn ends_so(turn: &Turn, outcome: &Outcome) -> bool {
    let asked = turn.stop.as_ref().map(|stop| stop.by);
    match outcome {
        Outcome::Interrupted { by, .. } => asked == Some(*by),
        Outcome::Exhausted {
            limit: LimitKind::WallClock,
        } => asked == Some(Interrupter::Deadline),
        Outcome::Exhausted {
            limit:
                LimitKind::Samples
                | LimitKind::CallsPerSample
                | LimitKind::Calls
                | LimitKind::Tokens
                | LimitKind::OutputTokens,
        }
        | Outcome::Completed
        | Outcome::NoAnswer
        | Outcome::Refused
        | Outcome::Blocked { .. }
        | Outcome::Failed { .. } => match &turn.stage {
            Stage::Ending(owed) => asked.is_none() && owed == outcome,
            Stage::Concluding(_) => asked.is_none(),
            Stage::Ready(_) => asked.is_none() && matches!(outcome, Outcome::Exhausted { .. }),
            Stage::Opening { .. }
            | Stage::Sampling(_)
            | Stage::Backoff(_)
            | Stage::Executing(_) => false,
        },
    }
}
