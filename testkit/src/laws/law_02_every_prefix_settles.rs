//! Law 2: every prefix of every log, resumed in a fair world, settles.
//!
//! A process may die after any fact. In a world where the provider answers, tools finish and
//! ticks come when the deadline says, the next process brings the session to rest: no turn is
//! open, and no input waits unless it is held for a user's word. This takes a bounded number of
//! steps.
//!
//! It kills: a deadline that forgets the end of a backoff, a stage from which a recovery knows
//! no way on.

use windlass_core::{History, Limits, Recorded};

use super::{Broken, Held, broken};
use crate::world::{Machine, World, fair};

/// Checks every prefix of a log.
///
/// # Errors
/// [`Broken`] with the first prefix that does not come to rest.
pub fn check(machine: Machine, ceiling: &Limits, log: &[Recorded]) -> Held {
    let Some((first, rest)) = log.split_first() else {
        return Ok(());
    };
    let misfit = |misfit| broken(2, format!("a prefix does not fold: {misfit}"));
    let mut session = windlass_core::opened(first).map_err(misfit)?;
    let mut history = History::default();
    let mut at = first.ts;
    for next in rest.iter().map(Some).chain([None]) {
        let mut world = World::resume(machine, *ceiling, session.clone(), history.clone(), at)
            .map_err(|broken| placed(broken, &session))?;
        fair::settle(&mut world).map_err(|broken| placed(broken, &session))?;
        let Some(next) = next else { break };
        session = (machine.evolve)(session, next).map_err(misfit)?;
        (machine.remember)(&mut history, next).map_err(misfit)?;
        at = at.max(next.ts);
    }
    Ok(())
}

fn placed(broken: Broken, session: &windlass_core::Session) -> Broken {
    let what = format!("resumed before position {}: {}", session.next, broken.what);
    Broken { what, ..broken }
}
