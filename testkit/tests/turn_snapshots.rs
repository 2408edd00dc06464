//! Turn snapshots: over random worlds and the golden logs, each call is in one of them, their numbers
//! count on, and together they hold what the model was shown.

#![expect(clippy::unwrap_used, reason = "it is all test code, also what its tests share")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestCaseResult, TestRunner};
use windlass_core::{
    CallId, Fact, Item, ObservationStatus, Prompt, PromptItem, RecordedFact, TurnId, TurnSnapshot,
    TurnSnapshots,
};
use windlass_testkit::golden;
use windlass_testkit::world::{self, Posture, Transitions, random};

/// The snapshots of a log, with that of the cycle which it leaves open.
fn snapshots(log: &[RecordedFact]) -> (Vec<TurnSnapshot>, Option<TurnSnapshot>) {
    let mut fold = TurnSnapshots::default();
    let made = log.iter().filter_map(|fact| fold.apply(fact).unwrap());
    (made.collect(), fold.unfinished())
}

/// Each call is in one snapshot, with what became of it.
fn hold_every_call(log: &[RecordedFact], all: &[&TurnSnapshot]) -> TestCaseResult {
    let (mut made, mut became) = (Vec::new(), BTreeMap::new());
    for recorded in log {
        let fact = &recorded.fact;
        let asked = matches!(fact, Fact::ItemAdded(fact) if matches!(fact.item, Item::Call(_)));
        if asked || matches!(fact, Fact::ProgramCalled(_)) {
            made.push(CallId(recorded.seq.0));
        }
        if let Fact::CallObserved(fact) = fact {
            became.insert(fact.call, fact.observation.status);
        }
    }
    let mut told: Vec<CallId> = all.iter().flat_map(|one| one.calls()).collect();
    told.sort();
    prop_assert_eq!(told, made);
    for call in all.iter().flat_map(|one| &one.cycle().tool_calls) {
        let status: Option<ObservationStatus> = became.get(&call.id).copied();
        prop_assert_eq!(call.status(), status, "of call {}", call.id);
    }
    Ok(())
}

/// Cycles are numbered on in each turn, and a turn that has settled has as many as it had samples.
fn count_on(log: &[RecordedFact], all: &[&TurnSnapshot]) -> TestCaseResult {
    let mut latest: BTreeMap<TurnId, u32> = BTreeMap::new();
    for cycle in all.iter().map(|one| one.cycle()) {
        let number = latest.entry(cycle.turn).or_default();
        prop_assert_eq!(cycle.number, *number + 1, "in turn {}", cycle.turn);
        *number = cycle.number;
        prop_assert!(cycle.attempts > 0);
    }
    for recorded in log {
        if let Fact::TurnSettled(fact) = &recorded.fact {
            let turn = recorded.turn.unwrap();
            let cycles = latest.get(&turn).copied().unwrap_or(0);
            prop_assert_eq!(cycles, fact.spent.samples, "in turn {}", turn);
        }
    }
    Ok(())
}

/// What is new in each is all that the model was shown: it has the digest of the sample.
fn tell_what_was_shown(log: &[RecordedFact], all: &[&TurnSnapshot]) -> TestCaseResult {
    let started = log.iter().filter_map(|recorded| {
        let Fact::SampleStarted(fact) = &recorded.fact else {
            return None;
        };
        (fact.attempt == 1).then_some(fact)
    });
    let settings = Arc::new(Posture::default().settings());
    let mut shown: Vec<PromptItem> = Vec::new();
    for (one, started) in all.iter().zip(started) {
        let messages = &one.cycle().messages;
        prop_assert!(messages.same() <= shown.len());
        shown.truncate(messages.same());
        shown.extend(messages.added().cloned());
        prop_assert_eq!(shown.len(), messages.count());
        let whole = messages.clone().complete();
        prop_assert!(whole.same() == 0 && whole.added().eq(&shown));
        let prompt = Prompt { settings: settings.clone(), items: shown.iter().cloned().collect() };
        prop_assert_eq!(prompt.digest(), started.digest);
    }
    Ok(())
}

fn check(log: &[RecordedFact]) -> TestCaseResult {
    let (made, open) = snapshots(log);
    let all: Vec<&TurnSnapshot> = made.iter().chain(&open).collect();
    hold_every_call(log, &all)?;
    count_on(log, &all)?;
    tell_what_was_shown(log, &all)?;
    // A reason and a failure are the same thing.
    for one in &all {
        prop_assert_eq!(one.is_success(), one.fault().is_none());
    }
    // Of each prefix come the first of them, and a cycle that is over is told once and for all.
    for end in 0..log.len() {
        let (first, open) = snapshots(log.get(..end).unwrap());
        prop_assert!(made.starts_with(&first), "up to {end}");
        let open = open.map(|open| (open.cycle().turn, open.cycle().number));
        let next = all.get(first.len()).map(|next| (next.cycle().turn, next.cycle().number));
        prop_assert!(open.is_none() || open == next, "up to {end}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hold_over_random_worlds(script in random::script(40)) {
        let world = world::run(Transitions::CORE, &script).unwrap();
        check(world.log())?;
    }
}

#[test]
fn hold_over_the_golden_logs() {
    let mut cycles = 0;
    for golden in golden::read(&golden::folder()).unwrap() {
        let log = golden::facts(&golden.log).unwrap();
        check(&log).map_err(|error| format!("{}: {error}", golden.name)).unwrap();
        cycles += snapshots(&log).0.len();
    }
    assert!(cycles > 50, "{cycles} cycles");
}

/// Random worlds are worth what they reach.
#[test]
fn random_worlds_reach_both_ends() {
    let mut runner = TestRunner::deterministic();
    let strategy = random::script(60);
    let mut reached = BTreeSet::new();
    for _ in 0..4_096 {
        let script = strategy.new_tree(&mut runner).unwrap().current();
        let world = world::run(Transitions::CORE, &script).unwrap();
        let (made, open) = snapshots(world.log());
        for one in made.iter().chain(&open) {
            reached.insert(one.fault().map_or("success", |why| &why.class).to_owned());
            reached.insert(format!("{:?}", one.cycle().kind));
            if one.cycle().attempts > 1 {
                reached.insert(String::from("again"));
            }
            if one.cycle().tool_calls.iter().any(|call| call.program.is_some()) {
                reached.insert(String::from("a call of a program"));
            }
            if one.cycle().memory.is_some() {
                reached.insert(String::from("memory"));
            }
        }
    }
    let wanted = [
        "success",
        "invalid_output",
        "unfinished",
        "restart",
        "steered",
        "length",
        "content_filter",
        "cancelled",
        "Normal",
        "MustReturn",
        "ReAsk",
        "again",
        "a call of a program",
        "memory",
        "fail",
        "simulated",
        "rejected",
    ];
    let missing: Vec<&str> =
        wanted.into_iter().filter(|wanted| !reached.contains(*wanted)).collect();
    assert!(missing.is_empty(), "{missing:?} is not among {reached:?}");
}
