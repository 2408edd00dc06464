//! Law 28: a suspended call goes on once for each suspension, and not before its answer.
//!
//! By the log, a run that has started and not ended is suspended. If it asks, no run starts before
//! its `CallResumed`, which comes before its deadline and is the only one; its `CallObserved` comes
//! without an answer only once its time is over or its turn was asked to stop. A restart is no reason.
//! A second run starts for one suspension only if that may be repeated.
//!
//! It kills: a call that goes on without its answer, a question that a restart drops, an answer that
//! counts twice.

use std::collections::BTreeMap;

use windlass_core::{CallId, CallSuspended, Fact, HookVerdict, RecordedFact};

use super::{Held, hold};

/// Latest suspension of a call.
struct Suspended<'a> {
    fact: &'a CallSuspended,
    answered: bool,
    runs: u32,
}

/// Checks a log.
///
/// # Errors
/// [`Broken`](super::Broken) with the first call that does not wait, or goes on once too often.
pub fn check(log: &[RecordedFact]) -> Held {
    let mut running = BTreeMap::<CallId, bool>::new();
    let mut suspended = BTreeMap::<CallId, Suspended<'_>>::new();
    let mut stopped = false;
    for recorded in log {
        stopped &= !matches!(recorded.fact, Fact::TurnOpened(_));
        stopped |= stops(&recorded.fact);
        if let Fact::CallSuspended(fact) = &recorded.fact {
            let ran = running.insert(fact.call, false);
            hold(28, ran == Some(true), || {
                format!("{} suspends call {}, which does not run", recorded.seq, fact.call)
            })?;
            suspended.insert(fact.call, Suspended { fact, answered: false, runs: 0 });
        }
        if let Fact::CallResumed(fact) = &recorded.fact {
            let call = suspended.get_mut(&fact.call).filter(|call| !call.answered);
            let deadline = call.as_ref().and_then(|call| call.fact.deadline);
            let waits = deadline.is_some_and(|deadline| recorded.ts < deadline);
            hold(28, waits, || {
                format!("{} answers call {}, which asks nothing", recorded.seq, fact.call)
            })?;
            call.into_iter().for_each(|call| call.answered = true);
        }
        if let Fact::CallStarted(fact) = &recorded.fact {
            running.insert(fact.call, true);
            if let Some(call) = suspended.get_mut(&fact.call) {
                call.runs += 1;
                hold(28, call.answered || call.fact.deadline.is_none(), || {
                    format!("{} goes on with call {} without its answer", recorded.seq, fact.call)
                })?;
                hold(28, call.runs == 1 || may_repeat(log, call.fact), || {
                    format!("{} goes on with call {} again", recorded.seq, fact.call)
                })?;
            }
        }
        if let Fact::CallObserved(fact) = &recorded.fact {
            running.remove(&fact.call);
            let call = suspended.remove(&fact.call).filter(|call| !call.answered);
            let deadline = call.and_then(|call| call.fact.deadline);
            let over = stopped || deadline.is_none_or(|deadline| recorded.ts >= deadline);
            hold(28, over, || {
                format!("{} ends call {} before its answer", recorded.seq, fact.call)
            })?;
        }
    }
    Ok(())
}

/// Returns true if the run after a suspension may be repeated.
fn may_repeat(log: &[RecordedFact], fact: &CallSuspended) -> bool {
    let tool = super::reading::tool(log, fact.call).map(|(_, _, tool)| tool.effect);
    fact.suspension.repeatable || tool != Some(windlass_core::EffectClass::Effectful)
}

fn stops(fact: &Fact) -> bool {
    if let Fact::HookDecided(fact) = fact {
        return matches!(fact.verdict, HookVerdict::Halt | HookVerdict::Overrun);
    }
    matches!(fact, Fact::InterruptRequested(_))
}
