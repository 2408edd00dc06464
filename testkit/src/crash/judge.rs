//! The judge: what must hold of a session whose processes have died, whoever ran it and whatever
//! kept its log. It believes nobody: the log is held against what others have seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;
use windlass_core::{
    CallId, EffectClass, Fact, FactGroup, InputId, Item, Observation, ObservationStatus,
    PROGRAM_TOOL, Reason, RecordedFact, RunFact, Seq, Settings, TurnFact, TurnId,
};

use super::requests;
use crate::laws::{law_05_one_observation_a_call, law_16_effectful_starts_once};

/// What is left of a session once its turn has settled, by five witnesses.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The log, as the store gives it back now.
    pub log: &'a [RecordedFact],
    /// The facts that any process has told its user, as `windlass run --json` prints them.
    pub acknowledged: &'a [RecordedFact],
    /// The runs of tools, as the tools themselves have noted them.
    pub effects: &'a [Effect],
    /// The bodies of the requests that the model got, in their order; Chat Completions or
    /// Responses.
    pub requests: &'a [Value],
    /// The bodies of the requests of a run that nothing disturbed.
    pub undisturbed: &'a [Value],
}

/// A run of a tool, as the tool has noted it: for example a line that it appended to a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Effect {
    /// The tool's name.
    pub tool: String,
    /// The idempotency key that it was given.
    pub key: String,
}

/// What must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    /// Nothing acknowledged is lost or changed, and the log has no gap.
    NothingLost,
    /// In a settled turn each call has exactly one result.
    OneResult,
    /// An effectful call takes effect at most once, no call that changes something before its start
    /// is in the log, and what is said to be done was done.
    AtMostOnce,
    /// Each turn has one terminal fact, and each input one turn.
    OneEnd,
    /// The model is asked what it is asked in an undisturbed run, as far as the calls ended in the
    /// same way.
    SameRequests,
}

/// An invariant that does not hold, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{invariant}: {what}")]
pub struct Violation {
    /// Which.
    pub invariant: Invariant,
    /// What breaks it.
    pub what: String,
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NothingLost => "nothing acknowledged is lost",
            Self::OneResult => "one result a call",
            Self::AtMostOnce => "an effectful call at most once",
            Self::OneEnd => "one terminal fact a turn",
            Self::SameRequests => "the same requests as undisturbed",
        })
    }
}

/// Judges what is left. An empty answer means that all holds.
///
/// It is strict in this: the session is one whose turns have all settled, and each effectful tool
/// notes each of its runs. Read-only tools may run any number of times, idempotent ones as often as
/// the log starts them.
#[must_use]
pub fn judge(scene: &Scene<'_>) -> Vec<Violation> {
    let mut found = Found::default();
    nothing_lost(scene, &mut found);
    one_result(scene, &mut found);
    at_most_once(scene, &mut found);
    one_end(scene, &mut found);
    let outputs = other_ends(scene.log);
    for what in requests::differences(scene.requests, scene.undisturbed, &outputs) {
        found.add(Invariant::SameRequests, what);
    }
    found.0
}

#[derive(Default)]
struct Found(Vec<Violation>);

impl Found {
    fn add(&mut self, invariant: Invariant, what: String) {
        self.0.push(Violation { invariant, what });
    }
}

fn nothing_lost(scene: &Scene<'_>, found: &mut Found) {
    let mut place = Seq::ZERO;
    for recorded in scene.log {
        place = place.next();
        if recorded.seq != place {
            let what = format!("position {} stands where {place} must", recorded.seq);
            found.add(Invariant::NothingLost, what);
            return;
        }
    }
    for told in scene.acknowledged {
        let what = match at(scene.log, told.seq) {
            Some(kept) if kept == told => continue,
            Some(kept) => format!(
                "{} at {} was acknowledged, and {} stands there",
                told.fact.kind(),
                told.seq,
                kept.fact.kind()
            ),
            None => format!(
                "{} at {} was acknowledged, and the log ends at {place}",
                told.fact.kind(),
                told.seq
            ),
        };
        found.add(Invariant::NothingLost, what);
    }
}

fn one_result(scene: &Scene<'_>, found: &mut Found) {
    let mut results = BTreeMap::<CallId, Vec<Seq>>::new();
    for recorded in scene.log {
        if let Fact::CallObserved(observed) = &recorded.fact {
            results.entry(observed.call).or_default().push(recorded.seq);
        }
    }
    for (call, at) in results.iter().filter(|(_, at)| at.len() > 1) {
        let what = format!("call {call} has a result at each of {at:?}");
        found.add(Invariant::OneResult, what);
    }
    if let Err(broken) = law_05_one_observation_a_call::check(scene.log) {
        found.add(Invariant::OneResult, broken.to_string());
    }
}

fn at_most_once(scene: &Scene<'_>, found: &mut Found) {
    if let Err(broken) = law_16_effectful_starts_once::check(scene.log, &[]) {
        found.add(Invariant::AtMostOnce, broken.to_string());
    }
    let calls = calls(scene.log);
    let mut noted = BTreeMap::<(&str, &str), u32>::new();
    for effect in scene.effects {
        *noted.entry((&effect.tool, &effect.key)).or_default() += 1;
    }
    let keys: BTreeSet<(&str, &str)> = calls.values().map(|call| (call.tool, call.key)).collect();
    for (run, times) in &noted {
        if !keys.contains(run) && class(scene.log, run.0) != Some(EffectClass::ReadOnly) {
            let what = format!(
                "{} ran {times} times under {:?}, and no start of it is in the log",
                run.0, run.1
            );
            found.add(Invariant::AtMostOnce, what);
        }
    }
    for (id, call) in &calls {
        let times = noted.get(&(call.tool, call.key)).copied().unwrap_or(0);
        let most = match call.class {
            EffectClass::ReadOnly => u32::MAX,
            EffectClass::Idempotent => call.starts,
            EffectClass::Effectful => 1,
        };
        if times > most {
            let what = format!("call {id} of {} ran {times} times, at most {most}", call.tool);
            found.add(Invariant::AtMostOnce, what);
        }
        let done = call.ended == Some(ObservationStatus::Done);
        if call.class == EffectClass::Effectful && done && times == 0 {
            let what = format!("call {id} of {} is said to be done, and never ran", call.tool);
            found.add(Invariant::AtMostOnce, what);
        }
    }
}

fn one_end(scene: &Scene<'_>, found: &mut Found) {
    let mut ends = BTreeMap::<TurnId, u32>::new();
    let mut opened = BTreeMap::<InputId, TurnId>::new();
    for recorded in scene.log {
        match recorded.fact.group() {
            FactGroup::Turn(TurnFact::TurnOpened(fact)) => {
                let turn = TurnId(recorded.seq.0);
                ends.entry(turn).or_default();
                if let Reason::Input { input } = fact.reason
                    && let Some(other) = opened.insert(input, turn)
                {
                    let what = format!("turns {other} and {turn} are both of input {input}");
                    found.add(Invariant::OneEnd, what);
                }
            }
            FactGroup::Turn(TurnFact::TurnSettled(_)) => match recorded.turn {
                Some(turn) => *ends.entry(turn).or_default() += 1,
                None => {
                    let what = format!("{} settles no turn", recorded.seq);
                    found.add(Invariant::OneEnd, what);
                }
            },
            FactGroup::Turn(TurnFact::InterruptRequested(_))
            | FactGroup::Session(_)
            | FactGroup::Recovery(_)
            | FactGroup::Program(_)
            | FactGroup::Goal(_)
            | FactGroup::Input(_)
            | FactGroup::Hook(_)
            | FactGroup::Context(_)
            | FactGroup::Compaction(_)
            | FactGroup::Sample(_)
            | FactGroup::Permission(_)
            | FactGroup::Run(_) => {}
        }
    }
    for (turn, count) in ends.into_iter().filter(|(_, count)| *count != 1) {
        let what = format!("turn {turn} has {count} terminal facts");
        found.add(Invariant::OneEnd, what);
    }
    if opened.is_empty() {
        let what = "no input has opened a turn".to_owned();
        found.add(Invariant::OneEnd, what);
    }
}

/// A call that has started.
struct Call<'a> {
    tool: &'a str,
    class: EffectClass,
    key: &'a str,
    starts: u32,
    ended: Option<ObservationStatus>,
}

fn calls(log: &[RecordedFact]) -> BTreeMap<CallId, Call<'_>> {
    let mut calls = BTreeMap::<CallId, Call<'_>>::new();
    for recorded in log {
        match recorded.fact.group() {
            FactGroup::Run(RunFact::CallStarted(fact)) => {
                let Some(tool) = tool(log, fact.call) else {
                    continue;
                };
                let call = calls.entry(fact.call).or_insert(Call {
                    tool,
                    // What the settings do not know is taken for the most that it can be.
                    class: class(log, tool).unwrap_or(EffectClass::Effectful),
                    key: &fact.idempotency_key,
                    starts: 0,
                    ended: None,
                });
                call.starts += 1;
            }
            FactGroup::Run(RunFact::CallObserved(fact)) => {
                if let Some(call) = calls.get_mut(&fact.call) {
                    call.ended = Some(fact.observation.status);
                }
            }
            FactGroup::Run(RunFact::CallSuspended(fact)) => {
                if let Some(call) = calls.get_mut(&fact.call) {
                    call.starts = 0;
                }
            }
            FactGroup::Run(RunFact::CallResumed(_))
            | FactGroup::Session(_)
            | FactGroup::Recovery(_)
            | FactGroup::Program(_)
            | FactGroup::Goal(_)
            | FactGroup::Input(_)
            | FactGroup::Turn(_)
            | FactGroup::Hook(_)
            | FactGroup::Context(_)
            | FactGroup::Compaction(_)
            | FactGroup::Sample(_)
            | FactGroup::Permission(_) => {}
        }
    }
    calls
}

/// The fact at a position.
fn at(log: &[RecordedFact], seq: Seq) -> Option<&RecordedFact> {
    let index = usize::try_from(seq.0.checked_sub(1)?).ok()?;
    log.get(index)
}

/// The tool that a call names, be it the model's or a program's.
fn tool(log: &[RecordedFact], call: CallId) -> Option<&str> {
    let fact = &at(log, Seq(call.0))?.fact;
    if let Fact::ProgramCalled(called) = fact {
        return Some(&called.item.name);
    }
    let Fact::ItemAdded(added) = fact else {
        return None;
    };
    let Item::Call(call) = &added.item else {
        return None;
    };
    Some(&call.name)
}

/// What running a tool does, as any settings of the session say: the most of what they say. A program
/// changes nothing by itself, and nobody but the engine runs it.
fn class(log: &[RecordedFact], name: &str) -> Option<EffectClass> {
    let settings = log.iter().filter_map(|recorded| recorded.fact.settings());
    let of = |settings: &Settings| match &settings.options.program {
        Some(_) if name == PROGRAM_TOOL => Some(EffectClass::ReadOnly),
        Some(_) | None => Some(settings.tool(name)?.effect),
    };
    settings.filter_map(|settings| of(settings)).max()
}

/// The outputs of the calls that did not end well, and of the programs that made such a call: there a
/// run may go another way.
fn other_ends(log: &[RecordedFact]) -> Vec<&str> {
    let observed = || {
        log.iter().filter_map(|recorded| {
            let Fact::CallObserved(fact) = &recorded.fact else {
                return None;
            };
            Some((fact.call, &*fact.observation))
        })
    };
    let other = |seen: &Observation| seen.status != ObservationStatus::Done;
    let programs: BTreeSet<CallId> = observed()
        .filter(|(_, seen)| other(seen))
        .filter_map(|(call, _)| program(log, call))
        .collect();
    observed()
        .filter(|(call, seen)| other(seen) || programs.contains(call))
        .map(|(_, seen)| seen.output.as_str())
        .collect()
}

/// The program that makes a call, if one does.
fn program(log: &[RecordedFact], call: CallId) -> Option<CallId> {
    let Fact::ProgramCalled(called) = &at(log, Seq(call.0))?.fact else {
        return None;
    };
    Some(called.program)
}
