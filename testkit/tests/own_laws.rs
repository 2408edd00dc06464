//! Laws of users: a wrong policy is found, a right one passes, and a law that never applied fails.

#![expect(clippy::unwrap_used, reason = "it is all test code, also what its tests share")]

use std::time::Instant;

use windlass_core::{
    ArgumentPattern, EffectClass, Incoming, Input, Limits, Reject, Rule, RuleVerdict, Session,
    decide,
};
use windlass_testkit::explore::{Bounded, Coverage, Extent, Failure, explore, explore_all};
use windlass_testkit::laws::{self, Law, LawId, Tally};
use windlass_testkit::sim::{Breach, Plan, simulate_all};
use windlass_testkit::world::{
    Posture, Script, Step, Transitions, Weights, WorldTool, Worlds, WorldsFailure, check_all,
};

/// Transfers of large amounts never start.
const SMALL_ONLY: Law = Law::new("small_only", "a large transfer never starts", |it| {
    let large = it.calls().filter(|call| call.name == "transfer" && call.arguments.contains("900"));
    let held = large.map(|call| match call.started {
        0 => Ok(1),
        runs => Err(format!("call {} was started {runs} times", call.id)),
    });
    held.sum()
});

/// As above, about a tool that nobody has.
const VACUOUS: Law = Law::new("vacuous", "a large transfr never starts", |it| {
    Ok(it.calls().filter(|call| call.name == "transfr").map(|call| u64::from(call.started)).sum())
});

const RIGHT: &str = "open rules=deny:transfer(cents=9*)";

/// It denies `transfer` with the number 9 alone.
const WRONG: &str = "open rules=deny:transfer(cents=9)";

fn transfer() -> WorldTool {
    let amounts = [r#"{"cents":5}"#, r#"{"cents":900}"#];
    WorldTool::new("transfer", EffectClass::Effectful).arguments(amounts)
}

fn random(opening: &str, own: Law) -> Result<Tally, WorldsFailure> {
    let worlds = Worlds::new().opening(opening).unwrap().tool(transfer());
    worlds.check(Transitions::CORE, &[laws::ALL, &[own]].concat(), 40)
}

#[test]
fn a_right_policy_passes_random_worlds_and_its_law_is_counted() {
    let started = Instant::now();
    let tally = random(RIGHT, SMALL_ONLY).unwrap();
    let (worlds, times) = (tally.worlds("small_only"), tally.times("small_only"));
    println!("{times} times in {worlds} worlds, {:.1} s", started.elapsed().as_secs_f64());
    assert!(worlds >= 8 && times > worlds, "{tally:?}");
}

#[test]
fn a_wrong_policy_is_found_with_a_small_script() {
    let failure = random(WRONG, SMALL_ONLY).unwrap_err();
    let told = failure.to_string();
    assert!(told.contains("law small_only is broken"), "{told}");
    assert!(told.contains("it says: a large transfer never starts"), "{told}");
    let WorldsFailure::Broken { script, .. } = failure else { panic!("{told}") };
    assert!(script.steps.len() <= 4, "{script}");
    // It reads as it is written, with the tool of the user.
    let script: Script = script.to_string().parse().unwrap();
    let broken = check_all(Transitions::CORE, &[SMALL_ONLY], &script).unwrap_err();
    assert_eq!((broken.law, broken.number()), (LawId::Own("small_only"), None));
}

#[test]
fn a_law_that_never_applied_fails() {
    let told = random(RIGHT, VACUOUS).unwrap_err().to_string();
    assert!(told.contains("law vacuous never applied in 40 worlds"), "{told}");
}

/// A policy around the core: no user may interrupt.
fn patient(session: &Session, limits: &Limits, input: Incoming<Input>) -> Decided {
    if let Input::Interrupt { .. } = &input.input {
        return Err(Reject::Stopping);
    }
    decide(session, limits, input)
}

type Decided = Result<Vec<windlass_core::Draft>, Reject>;

const UNINTERRUPTED: Law = Law::new("uninterrupted", "no turn is interrupted", |it| {
    let kinds: Vec<&str> = it.log.iter().map(|recorded| recorded.fact.kind()).collect();
    match kinds.contains(&"InterruptRequested") {
        true => Err(String::from("a turn was interrupted")),
        false => Ok(u64::from(kinds.contains(&"TurnOpened"))),
    }
});

#[test]
fn a_search_counts_and_finds() {
    let world = Bounded::read(
        "world transfers\nopen samples=1 attempts=1 rules=deny:transfer(cents=9*) tools=transfer:effectful\n\
         items 1\nsend pay\ncall transfer {\"cents\":900}\ncall transfer {\"cents\":5}\nend stop\n\
         done 0 ok\ninterrupt person\ncrash",
    );
    let worlds = world.unwrap();
    let extent = Extent { states: 60, ..Extent::default() };
    let search = |transitions: Transitions, law: Law| {
        explore_all(transitions, &[law], &worlds, extent, &mut Coverage::default())
    };
    let covered = search(Transitions::CORE, SMALL_ONLY).unwrap();
    assert!(covered.applied.times("small_only") > 10, "{:?}", covered.applied);

    let failure = search(Transitions::CORE, VACUOUS).unwrap_err();
    assert!(matches!(*failure, Failure::NeverApplied(_)), "{failure}");
    assert!(failure.to_string().contains("law vacuous never applied in 1 worlds"), "{failure}");

    let failure = search(Transitions::CORE, UNINTERRUPTED).unwrap_err();
    assert!(failure.to_string().contains("a turn was interrupted"), "{failure}");
    let policy = Transitions { decide: patient, ..Transitions::CORE };
    search(policy, UNINTERRUPTED).unwrap();
    // One world alone may lack what a law is about.
    let one = explore(policy, &[VACUOUS], &worlds[0], extent, &mut Coverage::default()).unwrap();
    assert_eq!(one.applied, Tally::default());
}

fn plan(pattern: &str) -> Plan {
    let pattern = ArgumentPattern { name: String::from("cents"), pattern: pattern.to_owned() };
    let tool = String::from("transfer");
    let rule = Rule { verdict: RuleVerdict::Deny, tool, argument: Some(pattern) };
    let posture = Posture { rules: vec![rule], ..Posture::default() };
    Plan { posture: Some(posture), tools: vec![transfer()], ..Plan::default() }
}

#[test]
fn a_simulation_counts_and_finds() {
    let (_, tally) = simulate_all(&plan("9*"), &[SMALL_ONLY], 0..12).unwrap();
    assert!(tally.times("small_only") > 10, "{tally:?}");

    let failure = simulate_all(&plan("9"), &[SMALL_ONLY], 0..12).unwrap_err();
    assert!(failure.to_string().contains("law small_only is broken"), "{failure}");

    let failure = simulate_all(&plan("9*"), &[VACUOUS], 0..3).unwrap_err();
    assert!(matches!(failure.breach, Breach::NeverApplied(_)), "{failure}");
    assert!(failure.to_string().starts_with("law vacuous never applied in 3 worlds"), "{failure}");
}

#[test]
fn weights_decide_what_happens() {
    let steps = |weights: Weights| {
        let worlds = Worlds::new().weights(weights).tool(transfer().weight(0));
        let strategy = worlds.script();
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let draw = |_| {
            use proptest::strategy::{Strategy as _, ValueTree as _};
            strategy.new_tree(&mut runner).unwrap().current().steps
        };
        (0..40).flat_map(draw).collect::<Vec<Step>>()
    };
    let crashes = |all: &[Step]| all.iter().any(|step| matches!(step, Step::Crash { .. }));
    assert!(crashes(&steps(Weights::default())));
    let calm = steps(Weights { process: 0, phrases: 0, ..Weights::default() });
    assert!(calm.len() > 200 && !crashes(&calm));
    let own = |step: &Step| matches!(step, Step::Call { tool, .. } if tool == "transfer");
    assert!(!calm.iter().any(own), "a weight of 0 is never");
    // Nothing but the first words.
    let none = Weights { user: 0, model: 0, answers: 0, process: 0, phrases: 0 };
    assert!(steps(none).iter().all(|step| matches!(step, Step::Send { .. })));
}
