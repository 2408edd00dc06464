//! Law 16: an effectful call starts at most once.
//!
//! By the log it has one `CallStarted`. In the world it begins once, and only when this fact is
//! durable, so that no crash can make the log forget it; the same holds for the durability of
//! idempotent calls. Of a call that changes something and did begin, nobody ever says that it
//! did not start. The runs of a call are counted on and carry one idempotency key, which no
//! other call has. A call that was suspended starts once more for each suspension. A tool is asked what became of a run only if there was one. What is only planned
//! changes nothing.
//!
//! It kills: a recovery that runs everything again, `desired_effects` that lets effects run ahead of the
//! log, an observation that is a comfortable lie.

use std::collections::BTreeMap;

use windlass_core::{
    CallId, EffectClass, EffectKey, EffectStart, Fact, ObservationStatus, RecordedFact,
};

use super::reading;
use super::{Begun, Held, hold};

/// Checks a log and the effects that were begun while it was written.
///
/// # Errors
/// [`Broken`](super::Broken) with the first call that starts, or begins, once too often or too
/// early.
pub fn check(log: &[RecordedFact], begun: &[Begun]) -> Held {
    let mut runs = BTreeMap::<CallId, u32>::new();
    let mut keys = BTreeMap::<&str, CallId>::new();
    let mut suspended = BTreeMap::<CallId, Suspensions>::new();
    for recorded in log {
        if let Fact::CallSuspended(fact) = &recorded.fact {
            let call = suspended.entry(fact.call).or_default();
            call.count += 1;
            call.open = true;
            call.repeatable = fact.suspension.repeatable;
        }
        if let Some(EffectStart::Reconcile(fact)) = recorded.fact.start() {
            let key = keys.get(fact.idempotency_key.as_str());
            hold(16, key == Some(&fact.call), || {
                format!("{} asks after a run that never was", recorded.seq)
            })?;
        }
        let Fact::CallStarted(fact) = &recorded.fact else {
            continue;
        };
        let run = runs.entry(fact.call).or_default();
        *run += 1;
        hold(16, *run == fact.attempt, || {
            format!("{} is run {run} of call {} and says {}", recorded.seq, fact.call, fact.attempt)
        })?;
        let goes_on = suspended.get_mut(&fact.call).is_some_and(Suspensions::goes_on);
        let again = *run > 1 && !fact.plan && !goes_on;
        hold(16, !again || !effectful(log, fact.call), || {
            format!("{} starts the effectful call {} again", recorded.seq, fact.call)
        })?;
        let owner = *keys.entry(&fact.idempotency_key).or_insert(fact.call);
        hold(16, owner == fact.call, || {
            format!("{} uses the idempotency key of call {owner}", recorded.seq)
        })?;
        hold(16, keys.values().filter(|call| **call == fact.call).count() == 1, || {
            format!("{} gives call {} another idempotency key", recorded.seq, fact.call)
        })?;
    }
    let mut in_the_world = BTreeMap::<CallId, u32>::new();
    for one in begun {
        let EffectKey::Call { call, started } = one.key else {
            continue;
        };
        if one.class == EffectClass::ReadOnly {
            continue;
        }
        hold(16, one.durable >= started, || format!("{one:?} began before its start was durable"))?;
        let times = in_the_world.entry(call).or_default();
        *times += 1;
        let suspended = suspended.get(&call);
        let most = 1 + suspended.map_or(0, |suspended| suspended.count);
        let repeats = suspended.is_some_and(|suspended| suspended.repeatable);
        let again = one.class == EffectClass::Effectful && *times > most && !repeats;
        hold(16, !again, || format!("{one:?} is effectful and began {times} times"))?;
    }
    for recorded in log {
        let Fact::CallObserved(fact) = &recorded.fact else {
            continue;
        };
        let denies = fact.observation.status == ObservationStatus::NotStarted;
        let lies = denies && in_the_world.contains_key(&fact.call);
        hold(16, !lies, || {
            format!("{} says that call {} never started, and it did", recorded.seq, fact.call)
        })?;
    }
    Ok(())
}

/// Suspensions of a call.
#[derive(Default)]
struct Suspensions {
    count: u32,
    /// True if no run has started since the latest one.
    open: bool,
    /// True if the run after the latest one may be repeated.
    repeatable: bool,
}

impl Suspensions {
    /// Returns true if a run may start.
    fn goes_on(&mut self) -> bool {
        std::mem::take(&mut self.open) || self.repeatable
    }
}

fn effectful(log: &[RecordedFact], call: CallId) -> bool {
    reading::tool(log, call).is_some_and(|(_, _, tool)| tool.effect == EffectClass::Effectful)
}
