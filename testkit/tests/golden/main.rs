//! Golden logs: each has the digests that it had when it was added, and together they contain every
//! field and value of facts.

#![expect(clippy::unwrap_used, reason = "it is all test code, also what its tests share")]

mod bite;

use std::collections::BTreeSet;

use windlass_core::{Fact, RequestRecord, RequestRoute, evolve, evolve_first};
use windlass_ports::codec::{self, CodecError};
use windlass_testkit::golden::{self, AddError, Golden, ReadError};
use windlass_testkit::world::Transitions;

fn all() -> Vec<Golden> {
    golden::read(&golden::folder()).unwrap()
}

fn named(name: &str) -> Golden {
    let mut all = all().into_iter();
    all.find(|golden| golden.name == name).unwrap()
}

#[test]
fn each_comes_to_what_it_came_to() {
    for golden in all() {
        golden.check(&Transitions::CORE).unwrap();
    }
}

/// What facts may say, by the labels of [`golden::labels`]: all that the random worlds reach.
#[test]
fn together_they_hold_whatever_a_fact_may_say() {
    let mut held = BTreeSet::new();
    for golden in all() {
        held.extend(golden.check(&Transitions::CORE).unwrap().labels);
    }
    let wanted = include_str!("labels.txt").lines();
    let missing: Vec<&str> = wanted.filter(|label| !held.contains(*label)).collect();
    assert_eq!(missing, [""; 0], "add a log that holds it: cargo xtask golden --add NAME FILE");
}

/// The totals of a session, counted from its facts alone at each position.
#[test]
fn totals_are_the_sums_of_the_turns() {
    let mut settled = 0;
    for golden in all() {
        let (mut session, mut turns) = (None, 0);
        let (mut calls, mut tokens, mut cost, mut samples) = (0, 0, 0, 0);
        for fact in golden::facts(&golden.log).unwrap() {
            turns += u64::from(matches!(fact.fact, Fact::TurnOpened(_)));
            if let Fact::TurnSettled(end) = &fact.fact {
                settled += 1;
                calls += end.spent.calls;
                tokens += end.spent.usage.tokens() + end.spent.estimated_tokens;
                cost += end.spent.cost_micros;
                samples += end.spent.with_agents().samples;
            }
            let evolved = match session.take() {
                None => evolve_first(&fact).unwrap(),
                Some(before) => evolve(before, &fact).unwrap(),
            };
            let totals = evolved.totals;
            let spent = totals.spent;
            let told = spent.usage.tokens() + spent.estimated_tokens;
            let all = (spent.calls, told, spent.cost_micros, spent.with_agents().samples);
            let at = (&golden.name, fact.seq);
            assert_eq!((totals.turns, all), (turns, (calls, tokens, cost, samples)), "{at:?}");
            let open = evolved.turn().map(|turn| turn.spent).unwrap_or_default();
            assert_eq!(evolved.spent().calls, calls + open.calls, "{at:?}");
            session = Some(evolved);
        }
    }
    assert!(settled > 30, "{settled}");
}

#[test]
fn a_log_of_a_newer_engine_is_refused_by_name() {
    let golden = named("a_goal_is_met");
    for (from, to, kind, v) in [
        (r#"{"v":1,"#, r#"{"v":999,"#, "GoalSet", 999),
        (r#""kind":"GoalSet""#, r#""kind":"GoalMoved""#, "GoalMoved", 1),
    ] {
        let text = String::from_utf8(golden.log.clone()).unwrap();
        let lines: Vec<String> = text
            .split_inclusive('\n')
            .map(|line| match line.contains(r#""kind":"GoalSet""#) {
                true => line.replace(from, to),
                false => line.to_owned(),
            })
            .collect();
        let newer = lines.concat();
        assert_ne!(newer, text);
        let error = golden::make(newer.as_bytes(), "a newer engine").unwrap_err();
        let line = lines.iter().find(|line| line.contains(kind)).unwrap();
        match codec::decode(line.trim_end().as_bytes()) {
            Err(CodecError::Newer { format, kind: named }) => {
                assert_eq!((format.version, named.as_str()), (v, kind));
            }
            other => assert_eq!(format!("{other:?}"), "a refusal"),
        }
        assert!(error.contains(kind) && error.contains("newer engine"), "{error}");
    }
}

#[test]
fn a_log_is_added_once_and_never_rewritten() {
    let folder = tempfile::tempdir().unwrap();
    let log = named("a_goal_is_met").log;
    let added = golden::add(folder.path(), "a_log", &log, "a test").unwrap();
    assert_eq!(golden::read(folder.path()).unwrap(), std::slice::from_ref(&added));
    added.check(&Transitions::CORE).unwrap();

    let other = named("a_hook_halts_the_turn").log;
    let again = golden::add(folder.path(), "a_log", &other, "a test");
    assert!(matches!(again, Err(AddError::File { .. })), "{again:?}");
    assert_eq!(golden::read(folder.path()).unwrap(), [added]);

    for name in ["", "A", "../a", "1a", "a b"] {
        let named = golden::add(folder.path(), name, &log, "a test");
        assert!(matches!(named, Err(AddError::Name(_))), "{named:?}");
    }
    for broken in [&b""[..], b"{}\n", log.trim_ascii_end()] {
        let added = golden::add(folder.path(), "broken", broken, "a test");
        assert!(matches!(added, Err(AddError::Log(_))), "{added:?}");
    }
    // Its other half cannot be made: nothing is left behind, and what was there is left alone.
    let (alone, half) = ("alone.digest", folder.path().join("alone.jsonl"));
    std::fs::write(folder.path().join(alone), "").unwrap();
    let added = golden::add(folder.path(), "alone", &log, "a test");
    assert!(matches!(added, Err(AddError::File { .. })), "{added:?}");
    assert!(!half.exists() && folder.path().join(alone).exists());
    let read = golden::read(folder.path());
    assert!(matches!(read, Err(ReadError::Alone { .. })), "{read:?}");
}

#[test]
fn a_log_that_is_removed_or_exchanged_is_missed() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let log = named("a_goal_is_met").log;
    let other = named("a_hook_halts_the_turn").log;
    golden::add(folder.path(), "first", &log, "a test").unwrap();
    golden::add(folder.path(), "second", &log, "a test").unwrap();
    assert_eq!(golden::read(folder.path()).unwrap().len(), 2);
    let off = |part: &str| {
        let read = golden::read(folder.path());
        let told = match &read {
            Err(ReadError::List { what, .. }) => what.contains(part),
            _ => false,
        };
        assert!(told, "{part}: {read:?}");
    };

    for ending in ["jsonl", "digest"] {
        std::fs::remove_file(file(&format!("first.{ending}"))).unwrap();
    }
    off("first is gone");
    let again = golden::add(folder.path(), "first", &other, "a test");
    assert!(matches!(again, Err(AddError::List { .. })), "{again:?}");
    assert!(!file("first.jsonl").exists() && !file("first.digest").exists());

    // Made by hand, as no one should.
    let exchanged = golden::make(&other, "a test").unwrap();
    std::fs::write(file("first.jsonl"), &other).unwrap();
    std::fs::write(file("first.digest"), exchanged).unwrap();
    off("first has not the digest");

    let names = std::fs::read_to_string(file("names")).unwrap();
    let (first, second) = names.split_once('\n').unwrap();
    std::fs::write(file("names"), second).unwrap();
    off("first is not listed");
    std::fs::write(file("names"), format!("{first}\n{first}\n")).unwrap();
    off("listed twice");
    std::fs::write(file("names"), first).unwrap();
    off("within a line");
    std::fs::remove_file(file("names")).unwrap();
    off("is not listed");
}

/// Fields that only some logs have do not enlarge the others.
#[test]
fn a_request_that_went_over_http_is_written_as_before_there_was_another_way() {
    let mut asked = RequestRecord::default();
    let written = serde_json::to_value(&asked).unwrap();
    assert_eq!(written.get("route"), None);
    asked.route = RequestRoute::Socket;
    let written = serde_json::to_value(&asked).unwrap();
    assert_eq!(written.get("route"), Some(&"socket".into()));
}
