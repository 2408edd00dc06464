//! Law 25: a rewind restores the conversation of its position, and nothing else.
//!
//! After a rewind the conversation, what the model knows of lasting context, what the provider
//! measured and what programs left are those of the log's prefix. What concerns the outside is that
//! of the moment: the queue, which is held, the awaited results, the settings, the goal, the
//! requested compaction, the keys. The position is one at which the prefix may be forked. No effect
//! is desired that was not, so nothing is done again. If a call or an agent may have changed
//! something after the position, or the result of one entered then, or a turn's changes of files were
//! undone then, the conversation ends with a notice that says so, and else with nothing more.
//!
//! It kills: a rewind that leaves a part of what followed, that forgets what was known, that takes
//! back the outside, or that does not say that effects remain.

use windlass_core::{
    CallId, CallValidity, EffectClass, EffectKey, Fact, History, Hold, InvalidFact, PromptItem,
    RecordedFact, Seq, Session, SessionRewound,
};

use super::{Held, broken, hold};
use crate::world::Transitions;

/// Checks the rewinds of a log.
///
/// # Errors
/// [`Broken`](super::Broken) with the first rewind that restores something else.
pub fn check(transitions: &Transitions, log: &[RecordedFact]) -> Held {
    let rewinds = |recorded: &&RecordedFact| matches!(recorded.fact, Fact::SessionRewound(_));
    let Some(last) = log.iter().rfind(rewinds) else {
        return Ok(());
    };
    let mut states: Vec<State> = Vec::new();
    for recorded in log.iter().take_while(|recorded| recorded.seq <= last.seq) {
        let state = match states.last() {
            None => State::open(recorded),
            Some(state) => state.step(transitions, recorded),
        };
        states.push(state.map_err(|misfit| broken(25, format!("it does not fold: {misfit}")))?);
        let (Fact::SessionRewound(fact), [.., before, after]) = (&recorded.fact, &*states) else {
            continue;
        };
        let index = usize::try_from(fact.to.0).unwrap_or(usize::MAX).saturating_sub(1);
        let then = states.get(index);
        let then =
            then.ok_or_else(|| broken(25, format!("{} returns to nowhere", recorded.seq)))?;
        restores(recorded.seq, fact, then, after)?;
        stays(recorded, before, after)?;
        begins_nothing(transitions, recorded.seq, before, after)?;
        let log = log.iter().take_while(|other| other.seq < recorded.seq);
        let effect = log.filter(|other| other.seq > fact.to).find(|other| {
            let state = usize::try_from(other.seq.0).ok().and_then(|at| states.get(at - 1));
            state.is_some_and(|state| changes(&state.session, other))
        });
        let awaits = !before.session.detached.is_empty();
        hold(25, fact.notice.is_some() == (effect.is_some() || awaits), || {
            let (at, effect) = (recorded.seq, effect.map(|effect| effect.seq));
            format!("{at} tells of effects {:?}, and the first is that of {effect:?}", fact.notice)
        })?;
    }
    Ok(())
}

#[derive(Clone)]
struct State {
    session: Session,
    history: History,
}

impl State {
    fn open(first: &RecordedFact) -> Result<Self, InvalidFact> {
        let session = windlass_core::evolve_first(first)?;
        Ok(Self { session, history: History::default() })
    }

    fn step(&self, transitions: &Transitions, fact: &RecordedFact) -> Result<Self, InvalidFact> {
        let mut history = self.history.clone();
        (transitions.remember)(&mut history, fact)?;
        Ok(Self { session: (transitions.evolve)(self.session.clone(), fact)?, history })
    }
}

/// The conversation is that of the position, and the notice follows it.
fn restores(at: Seq, fact: &SessionRewound, then: &State, now: &State) -> Held {
    hold(25, then.session.can_fork(), || {
        format!("{at} returns to {}, where something is under way", fact.to)
    })?;
    let shown: Vec<&PromptItem> = then.history.items().iter().collect();
    let mut items = now.history.items().iter();
    let same = shown.iter().all(|item| items.next() == Some(*item));
    let rest: Vec<&PromptItem> = items.collect();
    hold(25, same, || format!("{at} does not restore the conversation of {}", fact.to))?;
    let told = match (&fact.notice, &*rest) {
        (None, []) => true,
        (Some(notice), [PromptItem::Context { text }]) => {
            text.contains(&**notice) && notice.contains("after this point remain")
        }
        (_, _) => false,
    };
    hold(25, told, || format!("{at} ends the conversation with {rest:?}"))?;
    let known = |state: &State| {
        let (session, history) = (&state.session, &state.history);
        (session.known_context.clone(), session.measured, history.memory().clone())
    };
    hold(25, known(then) == known(now), || {
        format!("{at} leaves {:?}, and {} had {:?}", known(now), fact.to, known(then))
    })?;
    let due = (then.session.start, now.session.start);
    hold(25, due.0.is_none() || due.0 == due.1, || {
        format!("{at} leaves out the hooks on the start that were due at {}: {due:?}", fact.to)
    })
}

/// What concerns the outside is that of the moment.
fn stays(recorded: &RecordedFact, before: &State, after: &State) -> Held {
    let outside = |session: &Session| {
        (
            session.queue.clone(),
            session.detached.clone(),
            session.settings_at,
            session.goal.clone(),
            session.compaction.clone(),
            session.owner.clone(),
            session.latest_sample,
        )
    };
    let (old, new) = (&before.session, &after.session);
    hold(25, outside(old) == outside(new), || {
        format!("{} changes more than the conversation", recorded.seq)
    })?;
    hold(25, new.hold == Hold::Held, || format!("{} leaves the queue free", recorded.seq))?;
    let kept = old.keys.iter().rev().take(Session::MAX_KEYS - 2);
    let mut keys = kept.filter(|key| !new.keys.contains(key));
    hold(25, keys.next().is_none(), || format!("{} forgets a key", recorded.seq))
}

fn begins_nothing(transitions: &Transitions, at: Seq, before: &State, after: &State) -> Held {
    let keys = |state: &State| -> Vec<EffectKey> {
        (transitions.desired_effects)(&state.session).iter().map(|one| one.key).collect()
    };
    let (old, new) = (keys(before), keys(after));
    hold(25, new.iter().all(|key| old.contains(key)), || format!("{at} starts one of {new:?}"))
}

/// Whether a fact starts a call that may change something, in the state after it, or brings the
/// result of an agent.
fn changes(session: &Session, recorded: &RecordedFact) -> bool {
    if let Fact::InputQueued(fact) = &recorded.fact {
        return fact.result_of.is_some();
    }
    if let Fact::FilesRestored(_) = &recorded.fact {
        return true;
    }
    let Fact::CallStarted(fact) = &recorded.fact else {
        return false;
    };
    let is = |id: CallId| session.turn()?.calls().iter().find(|call| call.id == id);
    is(fact.call).is_some_and(|call| match &call.validity {
        CallValidity::Valid { effect, .. } => !fact.plan && *effect != EffectClass::ReadOnly,
        CallValidity::Goal
        | CallValidity::Program { .. }
        | CallValidity::Surplus
        | CallValidity::Invalid { .. } => false,
    })
}
