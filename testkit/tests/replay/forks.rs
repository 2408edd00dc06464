//! Forks are decided as they were: what they took over in the name of the session that it is from, and
//! what they went on to in their own.

use std::sync::Arc;

use proptest::prelude::*;
use windlass_core::{
    Fact, Fork, Hold, Limits, Lineage, RecordedFact, Scope, Seq, Session, SessionId, Timestamp,
    decide,
};
use windlass_testkit::laws::{self, LawMoment};
use windlass_testkit::world::{Script, Transitions, World, random, run};

use super::told;

fn fork(log: &[RecordedFact], at: usize, name: &str) -> Vec<RecordedFact> {
    let id = SessionId::new(name).unwrap();
    let owner = Arc::new(Scope::local("somebody"));
    let at = Seq(at as u64);
    let fork = Fork::new(&log[0], at, &id, owner, Timestamp(7)).unwrap();
    log.iter().map_while(|fact| fork.map_fact(fact)).collect()
}

/// The positions at which a log may be forked.
fn points(log: &[RecordedFact]) -> Vec<usize> {
    let mut session = windlass_core::evolve_first(&log[0]).unwrap();
    let mut points = vec![1];
    for recorded in &log[1..] {
        session.apply(recorded).unwrap();
        if session.can_fork() {
            points.push(usize::try_from(recorded.seq.0).unwrap());
        }
    }
    points
}

fn folded(log: &[RecordedFact]) -> windlass_core::Checkpoint {
    let mut folded = windlass_core::Checkpoint::open(&log[0]).unwrap();
    for recorded in &log[1..] {
        folded.apply(recorded).unwrap();
    }
    folded
}

/// The log goes on as another script says, and the laws hold all the way.
fn go_on(log: Vec<RecordedFact>, ceiling: Limits, script: &Script) -> Vec<RecordedFact> {
    let mut world = World::follow(Transitions::CORE, ceiling, log).unwrap();
    for step in &script.steps {
        world.step(step).unwrap();
        world.check(laws::ALL, LawMoment::Step).unwrap();
    }
    world.check(laws::ALL, LawMoment::End).unwrap();
    world.log().to_vec()
}

fn keys(log: &[RecordedFact]) -> Vec<String> {
    let key = |recorded: &RecordedFact| {
        let Fact::CallStarted(fact) = &recorded.fact else {
            return None;
        };
        Some(fact.idempotency_key.clone())
    };
    log.iter().filter_map(key).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 128,
        ..ProptestConfig::default()
    })]

    #[test]
    fn forks_of_random_worlds_and_forks_of_these_would_be_decided_as_they_were(
        before in random::script(40),
        after in random::script(30),
        later in random::script(20),
        pick in any::<prop::sample::Index>(),
    ) {
        let broken = |broken: laws::Broken| TestCaseError::fail(broken.to_string());
        let world = run(Transitions::CORE, &before).map_err(broken)?;
        let (log, ceiling) = (world.log().to_vec(), before.opening.ceiling);
        let at = *pick.get(&points(&log));
        let first = fork(&log, at, "first");
        let told_of_first = told(decide, &first);
        prop_assert_eq!(&told_of_first.divergences, &[]);
        prop_assert_eq!(&told_of_first.unverifiable_decisions, &told(decide, &log).unverifiable_decisions.into_iter()
            .filter(|one| one.seq.0 <= at as u64).collect::<Vec<_>>());

        let first = go_on(first, ceiling, &after);
        let at = *pick.get(&points(&first));
        let second = go_on(fork(&first, at, "second"), ceiling, &later);
        for log in [first, second] {
            let told = told(decide, &log);
            prop_assert_eq!(&told.divergences, &[]);
            prop_assert_eq!(&told.request_divergences, &[]);
            prop_assert_eq!(told.facts, log.len() as u64);
        }
    }
}

const CALLS: &str = "send hello\ncall write {}\nend stop\ndone 0 ok\ntext hi\nend stop";

#[test]
fn each_call_of_a_fork_has_the_key_of_whoever_made_it() {
    let script: Script = CALLS.parse().unwrap();
    let log = run(Transitions::CORE, &script).unwrap().log().to_vec();
    let first = go_on(fork(&log, log.len(), "first"), Limits::default(), &script);
    let second = go_on(fork(&first, first.len(), "second"), Limits::default(), &script);
    let whose: Vec<String> =
        keys(&second).iter().map(|key| key.split('.').next().unwrap().to_owned()).collect();
    assert_eq!(whose, ["simulated", "first", "second"]);
    let told = told(decide, &second);
    assert_eq!((told.different, told.unverifiable), (0, 0));
}

/// The fork of a log whose opening was tampered with: the keys are not those of the session that it
/// says that it is from.
#[test]
fn a_fork_that_says_that_it_is_from_elsewhere_is_told() {
    let script: Script = CALLS.parse().unwrap();
    let log = run(Transitions::CORE, &script).unwrap().log().to_vec();
    let mut forged = fork(&log, log.len(), "forged");
    let Fact::SessionOpened(opened) = &mut forged[0].fact else {
        panic!("a log begins with SessionOpened")
    };
    let Lineage::Fork { of, .. } = &mut opened.lineage else { panic!("it is a fork") };
    *of = SessionId::new("elsewhere").unwrap();
    let told = told(decide, &forged);
    let kinds: Vec<&str> = told.divergences.iter().filter_map(|one| one.recorded).collect();
    assert_eq!(kinds, ["CallStarted"]);
}

#[test]
fn an_input_that_waits_is_heard_in_the_fork_once_somebody_says_so() {
    let script: Script = "send hello\nsend more\ntext hi\nend stop".parse().unwrap();
    let log = run(Transitions::CORE, &script).unwrap().log().to_vec();
    let settled = log.iter().position(|one| one.fact.kind() == "TurnSettled").unwrap() + 1;
    let held = fork(&log, settled, "held");
    let session: Session = folded(&held).session;
    assert_eq!((session.queue.len(), session.hold), (1, Hold::Held));
    let told_of_it = told(decide, &held);
    assert_eq!((told_of_it.different, told_of_it.unverifiable), (0, 0));
    let on: Script = "continue\ntext more\nend stop".parse().unwrap();
    let log = go_on(held, Limits::default(), &on);
    assert_eq!(folded(&log).session.queue.len(), 0);
    let told = told(decide, &log);
    assert_eq!((told.different, told.unverifiable), (0, 0));
}
