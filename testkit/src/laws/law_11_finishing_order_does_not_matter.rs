//! Law 11: the order in which parallel tools finish does not change the history.
//!
//! Where two observations stand side by side in a log, the log with the two exchanged leads to
//! the same history and to the same digest of what the model is shown. That is so while the sample
//! still streams, too. A program and a call that it makes are no such pair: what is said of the program
//! may tell what became of the call, and comes after it. What hooks say of the calls of one answer comes after its results, in the
//! order of the calls, whichever of them spoke first.
//!
//! It kills: results, or the words of hooks, that are shown in the order in which they came.

use windlass_core::{
    CallId, ContextSource, Draft, Fact, History, HookOccurrence, InvalidFact, RecordedFact, Seq,
    Session,
};

use super::{Held, broken, hold, reading};
use crate::world::Transitions;

/// Checks a log, as `transitions` folds it.
///
/// # Errors
/// [`Broken`](super::Broken) with the first pair of observations whose order shows.
pub fn check(transitions: &Transitions, log: &[RecordedFact]) -> Held {
    let Some((first, rest)) = log.split_first() else {
        return Ok(());
    };
    let misfit = |misfit: InvalidFact| broken(11, format!("an order does not fold: {misfit}"));
    let mut session = windlass_core::evolve_first(first).map_err(misfit)?;
    let mut history = History::default();
    for pair in rest.windows(2) {
        let [one, other] = pair else { continue };
        if let (Fact::CallObserved(call), Fact::CallObserved(after)) = (&one.fact, &other.fact)
            && program(log, call.call) != Some(after.call)
        {
            let as_is = fold(transitions, &session, &history, pair).map_err(misfit)?;
            let exchanged = [exchange(one, other), exchange(other, one)];
            let turned = fold(transitions, &session, &history, &exchanged).map_err(misfit)?;
            hold(11, as_is == turned, || {
                format!("it shows whether {} or {} came first", one.seq, other.seq)
            })?;
        }
        session = (transitions.evolve)(session, one).map_err(misfit)?;
        (transitions.remember)(&mut history, one).map_err(misfit)?;
    }
    contexts_in_call_order(log)
}

/// The program that makes this call, if one does.
fn program(log: &[RecordedFact], call: CallId) -> Option<CallId> {
    let Fact::ProgramCalled(fact) = &reading::at(log, Seq(call.0))?.fact else {
        return None;
    };
    Some(fact.program)
}

/// Checks that between two samples the words of hooks about calls come in the order of the calls.
fn contexts_in_call_order(log: &[RecordedFact]) -> Held {
    let mut last: Option<CallId> = None;
    for recorded in log {
        if let Fact::SampleStarted(_) = &recorded.fact {
            last = None;
        }
        let Some(call) = about(log, recorded) else {
            continue;
        };
        hold(11, last.is_none_or(|last| last <= call), || {
            format!("{} speaks of call {call} after {last:?}", recorded.seq)
        })?;
        last = Some(call);
    }
    Ok(())
}

/// The call that a hook's context is about.
fn about(log: &[RecordedFact], recorded: &RecordedFact) -> Option<CallId> {
    let Fact::ContextInjected(fact) = &recorded.fact else {
        return None;
    };
    let ContextSource::Hook { decided } = &fact.from else {
        return None;
    };
    let Fact::HookDecided(decided) = &reading::at(log, *decided)?.fact else {
        return None;
    };
    reading::place(log, decided).as_ref().and_then(HookOccurrence::call)
}

fn fold(
    transitions: &Transitions,
    session: &Session,
    history: &History,
    facts: &[RecordedFact],
) -> Result<(Session, History), InvalidFact> {
    let (mut session, mut history) = (session.clone(), history.clone());
    for recorded in facts {
        session = (transitions.evolve)(session, recorded)?;
        (transitions.remember)(&mut history, recorded)?;
    }
    Ok((session, history))
}

/// The fact of `of` at the place of `at`.
fn exchange(at: &RecordedFact, of: &RecordedFact) -> RecordedFact {
    let draft = Draft { turn: of.turn, ts: at.ts, cause: None, fact: of.fact.clone() };
    draft.number(&at.session, at.seq)
}
