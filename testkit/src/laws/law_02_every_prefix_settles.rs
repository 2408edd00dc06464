//! Law 2: every prefix of every log, resumed in a fair world, settles.
//!
//! A process may die after any fact. In a world where the provider answers, tools finish and
//! ticks come when the deadline says, the next process brings the session to rest: no turn is
//! open, and no input waits unless it is held for a user's word. This takes a bounded number of
//! steps. Of a fork's log these are the prefixes with all that it took over: no process drives it
//! before it is whole.
//!
//! The deadline is exact: a tick before it does nothing, and a tick at it does something.
//!
//! It kills: a deadline that forgets the end of a backoff or comes too late, a stage from which a recovery knows
//! no way on.

use windlass_core::{History, Incoming, Input, Limits, RecordedFact, Session, Timestamp};

use super::{Broken, Held, broken, hold};
use crate::world::{Transitions, World, fair};

/// Checks every prefix of a log.
///
/// # Errors
/// [`Broken`] with the first prefix that does not come to rest.
pub fn check(transitions: Transitions, ceiling: &Limits, log: &[RecordedFact]) -> Held {
    check_from(transitions, ceiling, log, 0)
}

/// Checks the prefixes of a log that are longer than `known` facts, and the log itself. A search
/// that has checked the shorter ones need not look at them again.
///
/// # Errors
/// As [`check`].
pub fn check_from(
    transitions: Transitions,
    ceiling: &Limits,
    log: &[RecordedFact],
    known: usize,
) -> Held {
    let Some((first, rest)) = log.split_first() else {
        return Ok(());
    };
    let misfit = |misfit| broken(2, format!("a prefix does not fold: {misfit}"));
    let mut session = windlass_core::evolve_first(first).map_err(misfit)?;
    let mut history = History::default();
    let mut at = first.ts;
    for (length, next) in (1..).zip(rest.iter().map(Some).chain([None])) {
        // A fork that is not whole is never driven.
        let looked_at = (length <= known && next.is_some()) || session.missing_up_to().is_some();
        let from = || (transitions, *ceiling, session.clone(), history.clone(), at);
        if !looked_at && let Err(broken) = settles(World::resume_untold, from()) {
            // Once more, and told this time.
            let told = settles(World::resume, from()).err();
            return Err(placed(told.unwrap_or(broken), &session));
        }
        let Some(next) = next else { break };
        session = (transitions.evolve)(session, next).map_err(misfit)?;
        (transitions.remember)(&mut history, next).map_err(misfit)?;
        at = at.max(next.ts);
    }
    Ok(())
}

/// Where a process takes a session over.
type Taken = (Transitions, Limits, Session, History, Timestamp);

/// How it does.
type TakeOver = fn(Transitions, Limits, Session, History, Timestamp) -> Result<World, Broken>;

fn settles(take_over: TakeOver, (transitions, ceiling, session, history, at): Taken) -> Held {
    let mut world = take_over(transitions, ceiling, session, history, at)?;
    fair::settle(&mut world).map(|_| ())
}

/// Checks that the deadline of a state, in which nothing is due, is the first moment at which a
/// tick does something; without a deadline, none ever does.
///
/// # Errors
/// [`Broken`] when a tick does something too early, or nothing at its time.
pub fn check_deadline(transitions: &Transitions, ceiling: &Limits, session: &Session) -> Held {
    let leads_on = |at: u64| {
        let tick = Incoming { at: Timestamp(at), entropy: 0, input: Input::Tick };
        (transitions.decide)(session, ceiling, tick).is_ok_and(|drafts| !drafts.is_empty())
    };
    let deadline = (transitions.deadline)(session);
    let before = deadline.map_or(u64::MAX, |at| at.0.saturating_sub(1));
    hold(2, !leads_on(before), || {
        format!("a tick at {before} does something, and the deadline is {deadline:?}")
    })?;
    hold(2, deadline.is_none_or(|at| leads_on(at.0)), || {
        format!("a tick at the deadline {deadline:?} does nothing")
    })
}

fn placed(broken: Broken, session: &Session) -> Broken {
    let what = format!("resumed before position {}: {}", session.next, broken.what);
    Broken { what, ..broken }
}
