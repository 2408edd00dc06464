//! Law 1: the live state equals the fold of the log.
//!
//! The state and the history that a driver holds are those which a fresh process reads out of
//! the log. Feed it the log as it comes back from its text form, and it also shows that nothing
//! that matters is lost on disk.
//!
//! It kills: a change to the live state that no fact makes, for example a hold that is lifted
//! when a turn settles, or a field of a fact that is not written.

use windlass_core::{History, RecordedFact, Session, evolve, evolve_first};

use super::{Broken, Held, broken, hold};

/// Checks a live state and a live history against the log they come from.
///
/// # Errors
/// [`Broken`] when a fold of the log gives another state, another history, or an invalid fact.
pub fn check(log: &[RecordedFact], session: &Session, history: &History) -> Held {
    let (folded, remembered) = fold(log)?;
    hold(1, folded == *session, || {
        format!("the live state is {session:#?}\nthe log folds to {folded:#?}")
    })?;
    hold(1, remembered == *history, || {
        format!("the live history is {history:#?}\nthe log folds to {remembered:#?}")
    })
}

/// Folds a log, as a fresh process does.
///
/// # Errors
/// [`Broken`] when the log does not fold.
pub fn fold(log: &[RecordedFact]) -> Result<(Session, History), Broken> {
    let misfit = |misfit| broken(1, format!("the log does not fold: {misfit}"));
    let Some((first, rest)) = log.split_first() else {
        return Err(broken(1, "the log is empty"));
    };
    let mut session = evolve_first(first).map_err(misfit)?;
    let mut history = History::default();
    for recorded in rest {
        session = evolve(session, recorded).map_err(misfit)?;
        history.apply(recorded).map_err(misfit)?;
    }
    Ok((session, history))
}
