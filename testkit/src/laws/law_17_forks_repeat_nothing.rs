//! Law 17: a fork folds to what the log that it was taken from folded to, and repeats nothing.
//!
//! At each position at which a session may be forked, every sample, call and compaction that was
//! begun has ended, which is read off the log alone. The fork's log folds to the same session and
//! history, but for its id, its owner, its lineage, its awaited results and its hold; so does that
//! of a fork of the fork.
//! Nothing is owed in it. A new process settles the turn that was open, as interrupted and with a
//! notice to the model, withdraws commands, and opens none: after that nothing follows by itself. What it took over is
//! decided in the name of the session that it is from: no idempotency key of what follows is one of
//! those.
//!
//! It kills: forks while something runs, forks that go on with a turn of the other session, forks
//! that answer what waits in the other session, forks that give out the keys of the other session
//! once more.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_core::{
    CallId, Fact, Fork, History, Hold, Incoming, Input, InvalidFact, Limits, RecordedFact, Scope,
    Seq, Session, SessionId, Timestamp, TurnOutcome, TurnSettled,
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
    samples: BTreeSet<Seq>,
    calls: BTreeSet<CallId>,
    compactions: BTreeSet<Seq>,
}

impl Open {
    #[expect(clippy::wildcard_enum_match_arm, reason = "only what opens or ends counts here")]
    fn apply(&mut self, recorded: &RecordedFact) {
        match &recorded.fact {
            Fact::TurnSettled(_) => *self = Self::default(),
            Fact::SampleStarted(_) => {
                self.samples.insert(recorded.seq);
            }
            Fact::SampleEnded(fact) => {
                self.samples.remove(&fact.started);
            }
            Fact::SampleCut(fact) => {
                self.samples.remove(&fact.started);
            }
            Fact::CallStarted(fact) => {
                self.calls.insert(fact.call);
            }
            Fact::CallObserved(fact) => {
                self.calls.remove(&fact.call);
            }
            Fact::CompactionStarted(_) => {
                self.compactions.insert(recorded.seq);
            }
            Fact::Compacted(_) | Fact::CompactionFailed(_) => self.compactions.clear(),
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
) -> Result<State, Broken> {
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
        detached: whole.0.detached.clone(),
        // Its first fact is younger than those that follow.
        changed_at: whole.0.changed_at,
        ..session.clone()
    };
    hold(17, but_for == whole.0 && *history == whole.1, || {
        format!("the fork at {at} folds to something else")
    })?;
    Ok(state)
}

/// Checks that a process that takes a fork up does nothing but settle the turn that was open.
fn begins_nothing(transitions: &Transitions, ceiling: &Limits, (taken, history): &State) -> Held {
    let at = taken.next.0.saturating_sub(1);
    let owed = (transitions.desired_effects)(taken);
    hold(17, owed.is_empty(), || format!("the fork at {at} owes {owed:?}"))?;
    let (mut session, mut history) = (taken.clone(), history.clone());
    for input in [Input::Recover, Input::Tick, Input::Recover] {
        let stamped = Incoming { at: Timestamp(u64::MAX), entropy: 0, input };
        let drafts = (transitions.decide)(&session, ceiling, stamped).unwrap_or_default();
        let mut open = session.turn().is_some();
        for draft in drafts {
            let ends = matches!(&draft.fact, Fact::TurnSettled(fact) if open && tells(fact));
            let quiet = matches!(&draft.fact, Fact::SessionResumed(_) | Fact::InputWithdrawn(_));
            hold(17, ends || quiet, || {
                format!("the fork at {at} goes on by itself: {:?}", draft.fact)
            })?;
            open &= !ends;
            let fact = draft.number(&session.id, session.next);
            (session, history) = step(transitions, (session, history), &fact).map_err(misfit)?;
        }
        hold(17, !open && session.hold == Hold::Held, || {
            format!("the fork at {at} does not come to rest")
        })?;
    }
    Ok(())
}

/// Returns true if the end of a turn says that it was interrupted by a fork, also to the model.
fn tells(fact: &TurnSettled) -> bool {
    let says = fact.notice.as_ref().is_some_and(|notice| notice.contains("was forked here"));
    says && matches!(fact.outcome, TurnOutcome::Interrupted { .. })
}
