//! Deadline: when to look again though nothing has come in.

use crate::session::{Session, Stage};
use crate::time::Timestamp;

/// When the session wants a [`crate::Input::Tick`], if it does.
///
/// The end of a backoff, the turn's own deadline, or the end of the grace of what was told to
/// stop.
#[must_use]
pub fn deadline(session: &Session) -> Option<Timestamp> {
    let turn = session.turn()?;
    let limit = match (&turn.stop, turn.limits.turn_ms) {
        (None, 0) => None,
        (None, turn_ms) => Some(turn.opened_at.plus_ms(turn_ms)),
        (Some(stop), _) => Some(stop.at.plus_ms(turn.limits.grace_ms)),
    };
    let wait = match &turn.stage {
        Stage::Backoff(backoff) => Some(backoff.until),
        Stage::Opening { .. }
        | Stage::Ready(_)
        | Stage::Sampling(_)
        | Stage::Executing(_)
        | Stage::Concluding(_)
        | Stage::Ending(_) => None,
    };
    match (limit, wait) {
        (Some(limit), Some(wait)) => Some(limit.min(wait)),
        (limit, wait) => limit.or(wait),
    }
}
