//! Law 5: in a settled turn every call has exactly one observation, and none comes after.
//!
//! The calls of a turn are those of answers that are whole; what a sample brought before it broke
//! off does not stand and is never observed. Until a turn has settled, a call has at most one
//! observation.
//!
//! It kills: a late answer that is recorded beside the one that stands, a stop that settles the
//! turn over calls that are out.

use std::collections::BTreeMap;

use windlass_core::{CallId, Fact, Item, Recorded, Seq, TurnId};

use super::{Held, hold};

/// Checks a log.
///
/// # Errors
/// [`Broken`](super::Broken) with the first call that has too many observations, or too few.
pub fn check(log: &[Recorded]) -> Held {
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
        match &recorded.fact {
            Fact::ItemAdded(fact) => {
                if let Item::Call(_) = &fact.item {
                    turn.brought.push((fact.started, CallId(recorded.seq.0)));
                }
            }
            Fact::SampleEnded(fact) => {
                let whole = turn.brought.iter().filter(|(run, _)| *run == fact.started);
                turn.observed.extend(whole.map(|(_, call)| (*call, 0)));
            }
            Fact::CallObserved(fact) => {
                let count = turn.observed.get_mut(&fact.call);
                hold(5, count.as_ref().is_some_and(|count| **count == 0), || {
                    format!(
                        "{} observes call {}, which does not wait for it",
                        recorded.seq, fact.call
                    )
                })?;
                if let Some(count) = count {
                    *count += 1;
                }
            }
            Fact::TurnSettled(_) => {
                turn.settled = true;
                let unseen = turn.observed.iter().find(|(_, count)| **count != 1);
                hold(5, unseen.is_none(), || {
                    format!(
                        "turn {id} settled at {}, and its call {unseen:?} has no observation",
                        recorded.seq
                    )
                })?;
            }
            Fact::SessionOpened(_)
            | Fact::SettingsChanged(_)
            | Fact::InputQueued(_)
            | Fact::TurnOpened(_)
            | Fact::InputAccepted(_)
            | Fact::SampleStarted(_)
            | Fact::SampleCut(_)
            | Fact::CallDecided(_)
            | Fact::CallStarted(_)
            | Fact::InterruptRequested(_) => {}
        }
    }
    Ok(())
}

/// The calls of one turn.
#[derive(Default)]
struct Calls {
    /// Each call with the run that brought it.
    brought: Vec<(Seq, CallId)>,
    /// How often each call of a whole answer was observed.
    observed: BTreeMap<CallId, u32>,
    settled: bool,
}
