//! Law 11: the order in which parallel tools finish does not change the history.
//!
//! Where two observations stand side by side in a log, the log with the two exchanged leads to
//! the same history and to the same digest of what the model is shown.
//!
//! It kills: results that are shown in the order in which they came.

use windlass_core::{Draft, Fact, History, Misfit, Recorded, Session};

use super::{Held, broken, hold};
use crate::world::Machine;

/// Checks a log, as `machine` folds it.
///
/// # Errors
/// [`Broken`](super::Broken) with the first pair of observations whose order shows.
pub fn check(machine: &Machine, log: &[Recorded]) -> Held {
    let Some((first, rest)) = log.split_first() else {
        return Ok(());
    };
    let misfit = |misfit: Misfit| broken(11, format!("an order does not fold: {misfit}"));
    let mut session = windlass_core::opened(first).map_err(misfit)?;
    let mut history = History::default();
    for pair in rest.windows(2) {
        let [one, other] = pair else { continue };
        if let (Fact::CallObserved(_), Fact::CallObserved(_)) = (&one.fact, &other.fact) {
            let as_is = fold(machine, &session, &history, pair).map_err(misfit)?;
            let exchanged = [exchange(one, other), exchange(other, one)];
            let turned = fold(machine, &session, &history, &exchanged).map_err(misfit)?;
            hold(11, as_is == turned, || {
                format!("it shows whether {} or {} came first", one.seq, other.seq)
            })?;
        }
        session = (machine.evolve)(session, one).map_err(misfit)?;
        (machine.remember)(&mut history, one).map_err(misfit)?;
    }
    Ok(())
}

fn fold(
    machine: &Machine,
    session: &Session,
    history: &History,
    facts: &[Recorded],
) -> Result<(Session, History), Misfit> {
    let (mut session, mut history) = (session.clone(), history.clone());
    for recorded in facts {
        session = (machine.evolve)(session, recorded)?;
        (machine.remember)(&mut history, recorded)?;
    }
    Ok((session, history))
}

/// The fact of `of` at the place of `at`.
fn exchange(at: &Recorded, of: &Recorded) -> Recorded {
    let draft = Draft {
        turn: of.turn,
        ts: at.ts,
        fact: of.fact.clone(),
    };
    draft.number(&at.session, at.seq)
}
