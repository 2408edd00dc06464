//! The promises, checked over what a world has left.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use windlass_engine::core::{
    CallId, EffectKey, Fact, History, Item, ObservationStatus, PROGRAM_TOOL, RecordedFact,
    Retained, SessionId, decide, replay,
};
use windlass_engine::ports::codec;
use windlass_testkit::laws::{
    Begun, law_02_every_prefix_settles, law_04_no_key_starts_twice, law_05_one_observation_a_call,
    law_08_no_sample_without_reason, law_09_limits_hold, law_10_prompts_extend,
    law_11_finishing_order_does_not_matter, law_15_denied_calls_never_start,
    law_16_effectful_starts_once,
};

use windlass_testkit::world::Transitions;

use crate::programs;
use crate::world::{Time, World, limits};

/// The longest log of which each prefix is looked at: what that costs grows with the square of it.
const SHORT: usize = 80;

/// What happened in all worlds together, to show that it did.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    facts: u64,
    acknowledged: u64,
    settled: u64,
    interrupted: u64,
    steered: u64,
    blocked: u64,
    hooked: u64,
    approved: u64,
    cut: u64,
    observed: BTreeMap<ObservationStatus, u64>,
    crashes: u64,
    supersessions: u64,
    watched: u64,
    lags: u64,
    moments: u64,
    panics: u64,
    parted: u64,
    /// Programs that ended.
    programs: u64,
    /// What programs called.
    called: u64,
    /// Calls that a program made beside another one.
    beside: u64,
    /// Programs that ended in another process than they had begun in.
    replayed: u64,
}

impl Tally {
    /// What happened too seldom, so that these worlds show little; empty when enough of each did.
    pub(crate) fn lacking(&self, time: Time) -> Vec<String> {
        let observed = |status| self.observed.get(&status).copied().unwrap_or(0);
        let virtual_only = |least| if time == Time::Virtual { least } else { 0 };
        let least = [
            ("acknowledged", self.acknowledged, 101),
            ("crashes", self.crashes, 21),
            ("settled", self.settled, 101),
            ("watched", self.watched, 101),
            ("parted", self.parted, 21),
            ("interrupted", self.interrupted, 11),
            ("cut", self.cut, 11),
            ("blocked", self.blocked, 11),
            ("hooked", self.hooked, 101),
            ("approved", self.approved, 51),
            ("programs", self.programs, 31),
            ("called", self.called, 101),
            ("beside", self.beside, 31),
            ("replayed", self.replayed, 3),
            ("done", observed(ObservationStatus::Done), 6),
            ("unknown", observed(ObservationStatus::Unknown), 6),
            ("moments", self.moments, virtual_only(201)),
            ("lags", self.lags, virtual_only(6)),
            ("steered", self.steered, virtual_only(11)),
        ];
        let lacking = least.iter().filter(|(_, count, least)| count < least);
        lacking.map(|(name, count, least)| format!("{name}: {count}, and not {least}")).collect()
    }

    fn count(&mut self, log: &[RecordedFact]) {
        self.facts += log.len() as u64;
        let (mut before, mut restarted) = (None, false);
        for recorded in log {
            match &recorded.fact {
                Fact::TurnSettled(_) => self.settled += 1,
                Fact::InterruptRequested(_) => self.interrupted += 1,
                Fact::SampleCut(fact) => {
                    self.cut += 1;
                    self.steered += u64::from(fact.retained == Retained::Text);
                }
                Fact::InputBlocked(_) => self.blocked += 1,
                Fact::HookDecided(_) => self.hooked += 1,
                Fact::ApprovalAnswered(_) => self.approved += 1,
                Fact::ProgramRun(_) => {
                    self.programs += 1;
                    self.replayed += u64::from(restarted);
                }
                Fact::ProgramCalled(fact) => {
                    self.called += 1;
                    self.beside += u64::from(before == Some(fact.program));
                }
                Fact::CallStarted(fact) if is_program(log, fact.call) && fact.attempt == 1 => {
                    restarted = false;
                }
                Fact::SessionResumed(_) => restarted = true,
                Fact::CallObserved(fact) => {
                    *self.observed.entry(fact.observation.status).or_default() += 1;
                }
                _ => {}
            }
            before = match &recorded.fact {
                Fact::ProgramCalled(fact) => Some(fact.program),
                _ => None,
            };
        }
    }
}

fn is_program(log: &[RecordedFact], call: CallId) -> bool {
    let at = usize::try_from(call.0).unwrap() - 1;
    let Fact::ItemAdded(added) = &log[at].fact else {
        return false;
    };
    matches!(&added.item, Item::Call(call) if call.name == PROGRAM_TOOL)
}

pub(crate) fn all(world: &World, tally: &mut Tally) {
    let broken = world.seen.broken.lock().unwrap();
    assert!(broken.is_empty(), "{broken:#?}");
    tally.crashes += world.seen.crashes.load(Ordering::SeqCst);
    tally.moments += world.seen.moments.load(Ordering::SeqCst);
    tally.parted += world.seen.parted.load(Ordering::SeqCst);
    tally.panics += world.seen.panics.load(Ordering::SeqCst);
    tally.supersessions += world.seen.supersessions.load(Ordering::SeqCst);
    for id in &world.sessions {
        let log = world.store.log(id);
        laws(world, id, &log);
        inputs(world, id, &log, tally);
        watched(world, id, &log, tally);
        programs::again(&log);
        tally.count(&log);
    }
}

/// The engine says nothing at the level of errors, but that an adapter panicked that did.
pub(crate) fn errors(world: &World, errors: &[String]) {
    let (panics, others): (Vec<_>, Vec<_>) =
        errors.iter().partition(|error| error.contains("an adapter panicked"));
    assert!(others.is_empty(), "{others:#?}");
    let meant = world.seen.panics.load(Ordering::SeqCst);
    assert!(panics.len() as u64 <= meant, "{meant} panics were meant: {panics:#?}");
}

fn laws(world: &World, id: &SessionId, log: &[RecordedFact]) {
    let begun = world.seen.begun.lock().unwrap();
    let ours = begun.iter().filter(|(session, _)| session == id);
    let begun: Vec<Begun> = ours.map(|(_, begun)| *begun).collect();
    for one in &begun {
        let EffectKey::Call { call, started } = one.key else {
            panic!("{one:?} is no call");
        };
        let at = log.get(usize::try_from(started.0).unwrap() - 1);
        let starts = |fact: &Fact| matches!(fact, Fact::CallStarted(fact) if fact.call == call);
        assert!(at.is_some_and(|at| starts(&at.fact)), "{one:?} is not in the log any more");
    }
    law_04_no_key_starts_twice::check(&begun, &[]).unwrap();
    law_05_one_observation_a_call::check(log).unwrap();
    law_08_no_sample_without_reason::check(log).unwrap();
    law_09_limits_hold::check(log, &limits(world.time)).unwrap();
    law_10_prompts_extend::check(History::apply, log).unwrap();
    law_15_denied_calls_never_start::check(log).unwrap();
    law_16_effectful_starts_once::check(log, &begun).unwrap();
    let told = replay(decide, log.iter().cloned()).unwrap();
    assert_eq!(told.divergences, [], "{id}");
    assert_eq!(told.request_divergences, [], "{id}");
    if log.len() <= SHORT {
        law_02_every_prefix_settles::check(Transitions::CORE, &limits(world.time), log).unwrap();
        law_11_finishing_order_does_not_matter::check(&Transitions::CORE, log).unwrap();
    }
    for (at, recorded) in (1..).zip(log) {
        assert_eq!(recorded.seq.0, at);
    }
    let opened = log.iter().filter(|one| matches!(one.fact, Fact::TurnOpened(_))).count();
    let settled = log.iter().filter(|one| matches!(one.fact, Fact::TurnSettled(_))).count();
    assert_eq!(opened, settled, "every turn of {id} ends once");
}

/// Every acknowledged input is in the log once, and every input in the log had its turn.
fn inputs(world: &World, id: &SessionId, log: &[RecordedFact], tally: &mut Tally) {
    let mut queued: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let mut heard = 0;
    for recorded in log {
        match &recorded.fact {
            Fact::InputQueued(fact) => queued.entry(&*fact.text).or_default().push(recorded.seq.0),
            Fact::InputAccepted(_) | Fact::InputBlocked(_) => heard += 1,
            _ => {}
        }
    }
    let inputs: usize = queued.values().map(Vec::len).sum();
    assert_eq!(inputs, heard, "every input of {id} had its turn");
    let sent = world.seen.sent.lock().unwrap();
    let ours: Vec<_> = sent.iter().filter(|sent| sent.session == *id).collect();
    for one in &ours {
        let at = queued.get(one.text.as_str()).map_or(&[][..], Vec::as_slice);
        assert!(at.len() <= 1, "{:?} is in {id} at {at:?}", one.text);
        if let Some(input) = one.acknowledged {
            tally.acknowledged += 1;
            assert_eq!(at, [input.0], "{:?} was acknowledged as {input} in {id}", one.text);
        }
    }
    for text in queued.keys() {
        assert!(ours.iter().any(|sent| sent.text == **text), "nobody sent {text:?}");
    }
}

/// Each subscriber saw each fact after its cursor once, in order, and what it saw is in the log.
fn watched(world: &World, id: &SessionId, log: &[RecordedFact], tally: &mut Tally) {
    let watched = world.seen.watched.lock().unwrap();
    for one in watched.iter().filter(|one| one.session == *id) {
        tally.watched += 1;
        tally.lags += one.lags.load(Ordering::SeqCst);
        let facts = one.facts.lock().unwrap();
        for (seq, fact) in (one.after.next().0..).zip(facts.iter()) {
            assert_eq!(fact.seq.0, seq, "a subscriber of {id} after {} skipped", one.after);
            let logged = log.get(usize::try_from(seq).unwrap() - 1);
            assert_eq!(logged, Some(&**fact), "what a subscriber of {id} saw is in the log");
        }
    }
}

/// The logs, for whoever has to find out.
pub(crate) fn tell(world: &World) -> String {
    let mut told = String::new();
    for id in &world.sessions {
        let _ = writeln!(told, "{id}:");
        for recorded in world.store.log(id) {
            let text = codec::encode(&recorded).unwrap();
            let text = String::from_utf8_lossy(&text);
            let short: String = text.chars().take(240).collect();
            let _ = writeln!(told, "  {short}");
        }
    }
    told
}
