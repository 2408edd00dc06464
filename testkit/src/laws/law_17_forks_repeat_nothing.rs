//! Law 17: a fork folds to what the log that it was taken from folded to, and repeats nothing.
//!
//! At each position at which a session may be forked, every turn that was opened is settled and every
//! call that was started has its observation, which is read off the log alone. The fork's log folds to
//! the same session and history, but for its id, its owner, its lineage and its hold; so does that of a
//! fork of the fork. It begins nothing by itself: nothing is owed, and a new process opens no turn in
//! it. What it took over is decided in the name of the session that it is from: no idempotency key of
//! what follows is one of those.
//!
//! It kills: forks in the middle of a turn, forks that answer what waits in the other session, forks
//! that give out the keys of the other session once more.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_core::{
    CallId, Fact, Fork, History, Hold, Incoming, Input, InvalidFact, Limits, RecordedFact, Scope,
    Seq, Session, SessionId, Timestamp, TurnId,
};

use super::{Broken, Held, broken, hold};
use crate::world::Transitions;

/// Checks forks of a log at all positions at which it may be forked.
///
/// # Errors
/// [`Broken`] with the first fork that is not what it should be.
pub fn check(transitions: &Transitions, ceiling: &Limits, log: &[RecordedFact]) -> Held {
    let Some((first, rest)) = log.split_first() else {
        return Ok(());
    };
    let mut state = begin(first).map_err(misfit)?;
    let mut open = Open::default();
    for length in 1..=log.len() {
        if let Some(fact) = length.checked_sub(2).and_then(|nth| rest.get(nth)) {
            state = step(transitions, state, fact).map_err(misfit)?;
            open.apply(fact);
        }
        if state.0.can_fork() {
            let log = log.get(..length).unwrap_or(log);
            hold(17, open == Open::default(), || {
                format!("it may be forked at {length}, and {open:?} is open there")
            })?;
            let forked = fork(log, "forked")?;
            let taken = same(transitions, &state, log, &forked)?;
            begins_nothing(transitions, ceiling, &taken)?;
            same(transitions, &state, log, &fork(&forked, "forked-again")?)?;
        }
    }
    Ok(())
}

/// What is under way, by the log alone.
#[derive(Debug, Default, PartialEq, Eq)]
struct Open {
    turns: BTreeSet<TurnId>,
    calls: BTreeSet<CallId>,
}

impl Open {
    #[expect(clippy::wildcard_enum_match_arm, reason = "only what opens or ends counts here")]
    fn apply(&mut self, recorded: &RecordedFact) {
        match &recorded.fact {
            Fact::TurnOpened(_) => {
                self.turns.insert(TurnId(recorded.seq.0));
            }
            Fact::TurnSettled(_) => {
                self.turns.retain(|turn| recorded.turn != Some(*turn));
            }
            Fact::CallStarted(fact) => {
                self.calls.insert(fact.call);
            }
            Fact::CallObserved(fact) => {
                self.calls.remove(&fact.call);
            }
            _ => {}
        }
    }
}

type State = (Session, History);

fn begin(first: &RecordedFact) -> Result<State, InvalidFact> {
    Ok((windlass_core::evolve_first(first)?, History::default()))
}

fn step(
    transitions: &Transitions,
    state: State,
    fact: &RecordedFact,
) -> Result<State, InvalidFact> {
    let (session, mut history) = state;
    let session = (transitions.evolve)(session, fact)?;
    (transitions.remember)(&mut history, fact)?;
    Ok((session, history))
}

fn misfit(misfit: InvalidFact) -> Broken {
    broken(17, format!("it does not fold: {misfit}"))
}

/// The log of a fork at the end of this one.
fn fork(log: &[RecordedFact], name: &str) -> Result<Vec<RecordedFact>, Broken> {
    let (Some(first), Some(last)) = (log.first(), log.last()) else {
        return Err(broken(17, "there is nothing to fork"));
    };
    let wrong = |why: String| broken(17, format!("no fork at {}: {why}", last.seq));
    let id = SessionId::new(name).map_err(|error| wrong(error.to_string()))?;
    let owner = Arc::new(Scope::local("somebody else"));
    let fork = Fork::new(first, last.seq, &id, owner, Timestamp(u64::MAX))
        .map_err(|error| wrong(error.to_string()))?;
    let forked: Vec<RecordedFact> = log.iter().map_while(|fact| fork.map_fact(fact)).collect();
    hold(17, forked.len() == log.len(), || {
        format!("a fork at {} takes over {} facts", last.seq, forked.len())
    })?;
    Ok(forked)
}

/// Checks what a fork folds to, and in whose name, against what the log that it is from does.
fn same(
    transitions: &Transitions,
    whole: &State,
    log: &[RecordedFact],
    forked: &[RecordedFact],
) -> Result<Session, Broken> {
    let (Some(of), Some(first)) = (log.first(), forked.first()) else {
        return Err(broken(17, "there is nothing to fork"));
    };
    let mut original = begin(of).map_err(misfit)?;
    let mut state = begin(first).map_err(misfit)?;
    for (old, new) in log.iter().zip(forked).skip(1) {
        let (writer, wrote) = (state.0.author(), original.0.author());
        hold(17, writer == wrote, || {
            let seq = new.seq;
            format!("{seq} is taken over in the name of {writer}, and is from {wrote}")
        })?;
        original = step(transitions, original, old).map_err(misfit)?;
        state = step(transitions, state, new).map_err(misfit)?;
    }
    let (session, history) = &state;
    hold(17, *session.author() == session.id, || {
        let (id, writer) = (&session.id, session.author());
        format!("the fork {id} goes on in the name of {writer}")
    })?;
    let at = Seq(session.next.0.saturating_sub(1));
    hold(17, session.hold == Hold::Held, || format!("the fork at {at} is not held"))?;
    let but_for = Session {
        id: whole.0.id.clone(),
        owner: whole.0.owner.clone(),
        lineage: whole.0.lineage.clone(),
        hold: whole.0.hold,
        ..session.clone()
    };
    hold(17, but_for == whole.0 && *history == whole.1, || {
        format!("the fork at {at} folds to something else")
    })?;
    Ok(state.0)
}

/// Checks that a process that takes a fork up finds nothing to do.
fn begins_nothing(transitions: &Transitions, ceiling: &Limits, taken: &Session) -> Held {
    let at = taken.next.0.saturating_sub(1);
    let owed = (transitions.desired_effects)(taken);
    hold(17, owed.is_empty(), || format!("the fork at {at} owes {owed:?}"))?;
    for input in [Input::Recover, Input::Tick] {
        let stamped = Incoming { at: Timestamp(u64::MAX), entropy: 0, input };
        let drafts = (transitions.decide)(taken, ceiling, stamped).unwrap_or_default();
        let resumes = |fact: &Fact| matches!(fact, Fact::SessionResumed(_));
        let opens = drafts.iter().any(|draft| !resumes(&draft.fact));
        hold(17, !opens, || format!("the fork at {at} goes on by itself: {drafts:?}"))?;
    }
    Ok(())
}
