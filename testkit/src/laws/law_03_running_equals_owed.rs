//! Law 3: what runs is what is owed.
//!
//! By the log, a sample is out from its `SampleStarted` to its `SampleEnded` or `SampleCut`, and
//! a call from its latest `CallStarted` to its `CallObserved`; both are to run, or to wind down
//! once the turn was asked to stop. `owed` says exactly this. A driver runs all of it but what
//! still waits for the log to be durable, and nothing else; and no sample runs ahead of a log in
//! which the sample before it is not durable.
//!
//! It kills: an `owed` that forgets a call, that never winds down, or that asks for too little
//! durability.

use std::collections::BTreeMap;

use windlass_core::{Demand, EffectKey, Fact, Owed, Recorded, Seq};

use super::{Held, hold};

/// Checks what is owed and what runs, after a driver has reconciled them.
///
/// # Errors
/// [`Broken`](super::Broken) when something is owed, or runs, that should not, or is not and should.
pub fn check(
    log: &[Recorded],
    durable: Seq,
    owed: &[Owed],
    running: &BTreeMap<EffectKey, Demand>,
) -> Held {
    let (expected, before) = expected(log);
    let said: BTreeMap<EffectKey, Demand> = owed.iter().map(|o| (o.key, o.demand)).collect();
    hold(3, said == expected && said.len() == owed.len(), || {
        format!("by the log {expected:?} is owed, and owed says {owed:?}")
    })?;
    for (key, demand) in running {
        hold(3, said.get(key) == Some(demand), || {
            format!(
                "{key:?} runs as {demand:?} and is owed as {:?}",
                said.get(key)
            )
        })?;
    }
    for one in owed {
        let waits = one.demand == Demand::Run && one.needs > durable;
        hold(3, waits || running.contains_key(&one.key), || {
            format!("{one:?} does not run, though the log is durable up to {durable}")
        })?;
        let ahead = matches!(one.key, EffectKey::Sample { .. }) && one.needs < before;
        hold(3, !ahead, || {
            format!("{one:?} may start before the sample at {before} is durable")
        })?;
    }
    Ok(())
}

/// What is owed by the log alone, and the sample before the latest one, in whichever turn.
fn expected(log: &[Recorded]) -> (BTreeMap<EffectKey, Demand>, Seq) {
    let mut sample = None;
    let (mut latest, mut before) = (Seq::ZERO, Seq::ZERO);
    let mut calls = BTreeMap::new();
    let mut demand = Demand::Run;
    for recorded in log {
        match &recorded.fact {
            Fact::TurnOpened(_) | Fact::TurnSettled(_) => {
                (sample, calls, demand) = (None, BTreeMap::new(), Demand::Run);
            }
            Fact::SampleStarted(_) => {
                sample = Some(recorded.seq);
                (before, latest) = (latest, recorded.seq);
            }
            Fact::SampleEnded(_) | Fact::SampleCut(_) => sample = None,
            Fact::CallStarted(fact) => {
                calls.insert(fact.call, recorded.seq);
            }
            Fact::CallObserved(fact) => {
                calls.remove(&fact.call);
            }
            Fact::InterruptRequested(_) => demand = Demand::Wind,
            Fact::SessionOpened(_)
            | Fact::SettingsChanged(_)
            | Fact::InputQueued(_)
            | Fact::InputAccepted(_)
            | Fact::ItemAdded(_)
            | Fact::CallDecided(_) => {}
        }
    }
    let samples = sample.map(|started| (EffectKey::Sample { started }, demand));
    let calls = calls
        .into_iter()
        .map(|(call, started)| (EffectKey::Call { call, started }, demand));
    (samples.into_iter().chain(calls).collect(), before)
}
