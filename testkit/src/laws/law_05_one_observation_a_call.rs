//! Law 5: in a settled turn every call has exactly one observation, and none comes after.
//!
//! The calls of a turn are those of answers that are whole, and of answers that broke off those up
//! to the last one that had started; what else such an answer brought does not stand, and nothing
//! more is said of it. A call that has started always stands. Until a turn has settled, a call has
//! at most one observation.
//!
//! It kills: a late answer that is recorded beside the one that stands, a stop that settles the
//! turn over calls that are out, a cut that forgets a call that runs.

use std::collections::BTreeMap;

use windlass_core::{
    CallId, FactGroup, InputFact, Item, ProgramFact, RecordedFact, Retained, RunFact, SampleCut,
    SampleFact, Seq, TurnFact, TurnId,
};

use super::{Held, hold};

/// Checks a log.
///
/// # Errors
/// [`Broken`](super::Broken) with the first call that has too many observations, or too few.
pub fn check(log: &[RecordedFact]) -> Held {
    let mut turns = BTreeMap::<TurnId, Calls>::new();
    for recorded in log {
        let Some(id) = recorded.turn else { continue };
        let turn = turns.entry(id).or_default();
        hold(5, !turn.settled, || {
            format!(
                "{} at {} is later than the settling of turn {id}",
                recorded.fact.kind(),
                recorded.seq
            )
        })?;
        turn.take(recorded)?;
    }
    Ok(())
}

/// The calls of one turn.
#[derive(Default)]
struct Calls {
    calls: BTreeMap<CallId, Call>,
    settled: bool,
}

/// One call of a turn.
struct Call {
    /// The run that brought it.
    run: Seq,
    fate: Fate,
    started: bool,
    observed: bool,
}

/// Retention of a call.
#[derive(PartialEq, Eq)]
enum Fate {
    /// Its answer is not whole yet.
    Open,
    Stands,
    Gone,
}

impl Calls {
    fn take(&mut self, recorded: &RecordedFact) -> Held {
        match recorded.fact.group() {
            FactGroup::Sample(SampleFact::ItemAdded(fact)) => {
                if let Item::Call(_) = &fact.item {
                    let call = Call {
                        run: fact.started,
                        fate: Fate::Open,
                        started: false,
                        observed: false,
                    };
                    self.calls.insert(CallId(recorded.seq.0), call);
                }
            }
            FactGroup::Input(InputFact::InputAccepted(fact)) if fact.call.is_some() => {
                let run = recorded.seq;
                let call = Call { run, fate: Fate::Stands, started: false, observed: false };
                self.calls.insert(CallId(recorded.seq.0), call);
            }
            FactGroup::Program(ProgramFact::ProgramCalled(fact)) => {
                let program = self.calls.get(&fact.program);
                let program = program.filter(|call| call.started && !call.observed);
                hold(5, program.is_some(), || {
                    let program = fact.program;
                    format!("{} is a call of {program}, which does not run", recorded.seq)
                })?;
                let run = program.map_or(Seq::ZERO, |call| call.run);
                let call = Call { run, fate: Fate::Stands, started: false, observed: false };
                self.calls.insert(CallId(recorded.seq.0), call);
            }
            FactGroup::Sample(SampleFact::SampleEnded(fact)) => {
                let calls = self.calls.values_mut();
                for call in calls.filter(|call| call.run == fact.started) {
                    call.fate = Fate::Stands;
                }
            }
            FactGroup::Sample(SampleFact::SampleCut(fact)) => self.cut(recorded, fact)?,
            FactGroup::Run(RunFact::CallStarted(fact)) => {
                let call = self.calls.get_mut(&fact.call);
                let call = call.filter(|call| call.fate != Fate::Gone && !call.observed);
                hold(5, call.is_some(), || {
                    format!("{} starts call {}, which is over", recorded.seq, fact.call)
                })?;
                call.into_iter().for_each(|call| call.started = true);
            }
            FactGroup::Run(RunFact::CallSuspended(_) | RunFact::CallResumed(_)) => {
                let call = recorded.fact.call().and_then(|id| self.calls.get(&id));
                let runs = call.is_some_and(|call| call.started && !call.observed);
                hold(5, runs, || format!("{} is about no call that runs", recorded.seq))?;
            }
            FactGroup::Run(RunFact::CallObserved(fact)) => {
                let call = self.calls.get_mut(&fact.call);
                let call = call.filter(|call| call.fate != Fate::Gone && !call.observed);
                hold(5, call.is_some(), || {
                    format!(
                        "{} observes call {}, which does not wait for it",
                        recorded.seq, fact.call
                    )
                })?;
                call.into_iter().for_each(|call| call.observed = true);
            }
            FactGroup::Turn(TurnFact::TurnSettled(_)) => {
                self.settled = true;
                let unseen = |call: &Call| call.fate != Fate::Gone && !call.observed;
                let unseen = self.calls.iter().find(|(_, call)| unseen(call));
                hold(5, unseen.is_none(), || {
                    let call = unseen.map(|(id, _)| *id);
                    format!(
                        "its turn settles at {}, and call {call:?} has no observation",
                        recorded.seq
                    )
                })?;
            }
            FactGroup::Program(ProgramFact::ProgramRun(_))
            | FactGroup::Turn(TurnFact::TurnOpened(_) | TurnFact::InterruptRequested(_))
            | FactGroup::Sample(SampleFact::SampleStarted(_))
            | FactGroup::Session(_)
            | FactGroup::Recovery(_)
            | FactGroup::Goal(_)
            | FactGroup::Input(_)
            | FactGroup::Hook(_)
            | FactGroup::Context(_)
            | FactGroup::Compaction(_)
            | FactGroup::Permission(_) => {}
        }
        Ok(())
    }

    /// What stands of an answer that broke off ends with a call that had started.
    fn cut(&mut self, recorded: &RecordedFact, fact: &SampleCut) -> Held {
        let last = match fact.retained {
            Retained::Nothing | Retained::Text => Seq::ZERO,
            Retained::Through { item } => item,
        };
        let mut reached = last == Seq::ZERO;
        for (id, call) in &mut self.calls {
            if call.run != fact.started {
                continue;
            }
            let stands = id.0 <= last.0;
            reached |= id.0 == last.0 && call.started;
            hold(5, stands || !call.started, || {
                format!("{} forgets call {id}, which has started", recorded.seq)
            })?;
            call.fate = if stands { Fate::Stands } else { Fate::Gone };
        }
        hold(5, reached, || {
            format!("{} stands through {last}, which is no call that started", recorded.seq)
        })
    }
}
