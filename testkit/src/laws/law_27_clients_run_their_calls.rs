//! Law 27: a call of a client's tool waits for its client.
//!
//! By the log, its `CallStarted` says so, which is the only one of the call, and no tool is asked
//! what became of it. Its `CallObserved` carries the result that a client returned, or comes once its
//! time is over or its turn was asked to stop; a restart is no reason. No other call has a result of
//! a client, and no process begins a client's call.
//!
//! It kills: a recovery that gives up a call because a process ended, a wait that ends too early, a
//! process that runs what its client runs.

use std::collections::BTreeMap;

use windlass_core::{CallId, EffectKey, EffectStart, Fact, HookVerdict, RecordedFact, Timestamp};

use super::{Begun, Held, hold, reading};

/// Checks a log and the effects that were begun while it was written.
///
/// # Errors
/// [`Broken`](super::Broken) with the first call that does not wait for its client.
pub fn check(log: &[RecordedFact], begun: &[Begun]) -> Held {
    let mut waiting = BTreeMap::<CallId, Timestamp>::new();
    let mut stopped = false;
    for recorded in log {
        stopped &= !matches!(recorded.fact, Fact::TurnOpened(_));
        stopped |= stops(&recorded.fact);
        if let Fact::CallObserved(fact) = &recorded.fact {
            let deadline = waiting.remove(&fact.call);
            hold(27, fact.by.is_none() || deadline.is_some(), || {
                format!("{} has a client's result that nobody waits for", recorded.seq)
            })?;
            let over = fact.by.is_some() || stopped;
            hold(27, over || deadline.is_none_or(|deadline| recorded.ts >= deadline), || {
                format!("{} ends call {} before its client does", recorded.seq, fact.call)
            })?;
        }
        on_start(log, recorded, &mut waiting)?;
    }
    for one in begun {
        let EffectKey::Call { started, .. } = one.key else {
            continue;
        };
        let fact = reading::at(log, started).map(|recorded| &recorded.fact);
        let client = matches!(fact, Some(Fact::CallStarted(fact)) if fact.client);
        hold(27, !client, || format!("{one:?} began, and a client runs it"))?;
    }
    Ok(())
}

fn stops(fact: &Fact) -> bool {
    if let Fact::HookDecided(fact) = fact {
        return matches!(fact.verdict, HookVerdict::Halt | HookVerdict::Overrun);
    }
    matches!(fact, Fact::InterruptRequested(_))
}

/// Notes the start of a client's call, which no other start follows.
fn on_start(
    log: &[RecordedFact],
    recorded: &RecordedFact,
    waiting: &mut BTreeMap<CallId, Timestamp>,
) -> Held {
    let (call, client, timeout_ms) = match recorded.fact.start() {
        Some(EffectStart::Call(fact)) => {
            (fact.call, !fact.plan && client(log, fact.call), fact.timeout_ms)
        }
        Some(EffectStart::Reconcile(fact)) => (fact.call, false, 0),
        Some(
            EffectStart::Sample(_)
            | EffectStart::Hook(_)
            | EffectStart::Approval(_)
            | EffectStart::Compact(_),
        )
        | None => return Ok(()),
    };
    hold(27, !waiting.contains_key(&call), || {
        format!("{} starts call {call}, which waits for its client", recorded.seq)
    })?;
    if let Fact::CallStarted(fact) = &recorded.fact {
        hold(27, fact.client == client, || {
            format!("{} says of call {call} that a client runs it: {}", recorded.seq, fact.client)
        })?;
    }
    if client {
        waiting.insert(call, recorded.ts.plus_ms(timeout_ms));
    }
    Ok(())
}

fn client(log: &[RecordedFact], call: CallId) -> bool {
    reading::tool(log, call).is_some_and(|(_, _, tool)| tool.client)
}
