//! Replay: today's engine decides as each log says, and an engine that does not is told by the
//! position where it first decides otherwise.
//!
//! All transcripts of `tests/turns` are replayed where they are checked.

#![expect(clippy::unwrap_used, reason = "it is all test code, also what its tests share")]

mod bite;
mod forks;
mod tamper;

use proptest::prelude::*;
use windlass_core::{Decide, RecordedFact, ReplayReport, decide, replay};
use windlass_testkit::golden;
use windlass_testkit::world::{Script, Transitions, random, run};

fn told(decide: Decide, log: &[RecordedFact]) -> ReplayReport {
    replay(decide, log.iter().cloned()).unwrap()
}

fn log(script: &str) -> Vec<RecordedFact> {
    let script: Script = script.parse().unwrap();
    run(Transitions::CORE, &script).unwrap().log().to_vec()
}

#[test]
fn golden_logs_would_be_decided_as_they_were_but_where_it_is_meant() {
    let mut different = Vec::new();
    for golden in golden::read(&golden::folder()).unwrap() {
        let log = golden::facts(&golden.log).unwrap();
        let told = told(decide, &log);
        for one in &told.divergences {
            println!("{}: {one:?}", golden.name);
            different.push((golden.name.clone(), one.seq.0));
        }
        assert_eq!(told.request_divergences, [], "{}", golden.name);
        assert_eq!(told.facts, log.len() as u64, "{}", golden.name);
        if golden.name.starts_with("recorded") {
            assert_eq!(told.unverifiable_decisions, [], "{}", golden.name);
        }
    }
    let meant = golden::MEANT.iter().map(|(name, seq, _)| ((*name).to_owned(), *seq));
    assert_eq!(different, meant.collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 512,
        ..ProptestConfig::default()
    })]

    /// Also where the process dies anywhere in the log.
    #[test]
    fn random_worlds_would_be_decided_as_they_were(script in random::script(60), at in 0..200_usize) {
        let world = run(Transitions::CORE, &script).map_err(|broken| TestCaseError::fail(broken.to_string()))?;
        let log = world.log();
        for log in [log, &log[..at.min(log.len())]] {
            let told = told(decide, log);
            prop_assert_eq!(&told.divergences, &[]);
            prop_assert_eq!(&told.request_divergences, &[]);
            prop_assert_eq!(told.facts, log.len() as u64);
        }
    }
}

#[test]
fn replayed_decisions_are_counted() {
    let log = log("send hello\ncall write {}\nend stop\ndone 0 ok\ntext hi\nend stop");
    let told = told(decide, &log);
    assert_eq!(told.facts, log.len() as u64);
    assert_eq!((told.turns, told.requests), (1, 2));
    // The prompt, the call, the end, the observation, the text, the end.
    assert_eq!((told.same, told.different, told.unverifiable), (6, 0, 0));
    assert_eq!(told.cut_short, 0);
    assert!(told.is_same());
}

/// The rest of what was decided on `end stop` is lost with its process.
#[test]
fn a_decision_that_a_crash_cut_short_is_none_that_would_be_made_otherwise() {
    let log = log("open lazy\nsend hello\nsync\ncall write {}\ncrash lose=1\ncontinue");
    assert!(log.iter().any(|recorded| recorded.fact.kind() == "SampleCut"));
    let told = told(decide, &log);
    assert_eq!((told.different, told.unverifiable), (0, 0), "{told:?}");
    assert_eq!(told.cut_short, 1, "{told:?}");
}

#[test]
fn a_log_that_ends_within_a_decision_is_cut_short_there() {
    let whole = log("send hello\ntext hi\nend stop");
    for kept in 1..whole.len() {
        let told = told(decide, &whole[..kept]);
        assert_eq!((told.different, told.unverifiable), (0, 0));
        let within = [2, 3, 4, 7].contains(&kept);
        assert_eq!(told.cut_short, u64::from(within), "{kept}: {told:?}");
    }
}

/// A new process would have said the same and more: none came, so nothing is missing.
#[test]
fn a_decision_that_is_whole_is_not_held_for_a_longer_one_that_was_cut_short() {
    let log = log("open turn_ms=100\nsend hello\nwait 100");
    let last = log.last().unwrap();
    assert_eq!(last.fact.kind(), "InterruptRequested");
    let told = told(decide, &log);
    assert_eq!((told.same, told.unverifiable), (2, 0), "{told:?}");
}

/// The limits of a turn that opened in the same millisecond say nothing of the inputs before it.
#[test]
fn what_was_decided_before_the_limits_changed_is_not_held_to_the_new_ones() {
    let log = log(
        "send hello\nsend a\nsend b\nsend c\nconfigure meant queue=0 samples=0\ntext hi\nend stop",
    );
    let told = told(decide, &log);
    assert_eq!((told.different, told.unverifiable), (0, 0));
}
