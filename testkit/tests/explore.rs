//! The search through bounded worlds: a small one over all of the kit's, and what it must find.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "it is all test code, also what its tests share"
)]

use std::collections::BTreeSet;
use std::time::Instant;

use expect_test::expect_file;
use windlass_core::{
    DesiredEffect, Draft, Incoming, Input, InvalidFact, Limits, RecordedFact, Reject, Seq, Session,
    Timestamp, desired_effects,
};
use windlass_testkit::explore::{
    Bounded, Coverage, Covered, Difference, Extent, Failure, Row, Table, chart, explore,
};
use windlass_testkit::laws;
use windlass_testkit::world::{Script, Transitions, check_all, run};

/// A search that an ordinary test can afford.
const SMALL: Extent = Extent { states: 60, steps: usize::MAX, prefixes: true, audit: 50 };

#[test]
fn a_small_search_takes_only_what_was_reviewed() {
    let (started, mut all) = (Instant::now(), Covered::default());
    let mut coverage = Coverage::default();
    for world in Bounded::all().unwrap() {
        let covered = explore(Transitions::CORE, laws::SEARCHED, &world, SMALL, &mut coverage)
            .unwrap_or_else(|failure| panic!("world {}: {failure}", world.name));
        all.states += covered.states;
        all.transitions += covered.transitions;
    }
    println!(
        "{} states, {} transitions, {} ways in {:.1} s",
        all.states,
        all.transitions,
        coverage.edges().len(),
        started.elapsed().as_secs_f64()
    );
    let new = Table::reviewed().unwrap().new_in(&coverage);
    let told: Vec<String> = new.iter().map(ToString::to_string).collect();
    assert!(new.is_empty(), "{} ways are new: {}", new.len(), told.join("\n"));
}

#[test]
fn the_chart_shows_the_reviewed_table() {
    let drawn = chart(&Table::reviewed().unwrap());
    expect_file!["../../docs/state-chart.md"].assert_eq(&drawn);
}

#[test]
fn the_reviewed_table_reads_as_it_is_written() {
    let text = include_str!("../explore/reviewed.txt");
    let table: Table = text.parse().unwrap();
    assert_eq!(table.to_string(), text);
}

/// A world that is small enough to be gone through whole.
const TINY: &str = "world tiny\nopen samples=1 attempts=2 restarts=1 queue=0\nitems 1\n\
                    send hello\ninterrupt person\ntext hi\nend stop\nfail server soon\ndue\n\
                    crash\nlate 0";

/// A world in which a log lags, with a call that changes something.
const LAGGING: &str = "world lagging\nopen lazy samples=1 attempts=2 restarts=1 queue=0\nitems 1\n\
                       send hello\ninterrupt person\ncall write {}\nend stop\n\
                       fail server soon\ndone 0 ok\ndue\nsync\ncrash\ncrash lose=1000\n\
                       late 0\nnever 0";

fn search(transitions: Transitions, world: &str) -> Result<(Covered, Coverage), Box<Failure>> {
    let world = Bounded::read(world).unwrap().remove(0);
    let mut coverage = Coverage::default();
    let extent = Extent { audit: 1, ..Extent::default() };
    let covered = explore(transitions, laws::SEARCHED, &world, extent, &mut coverage)?;
    Ok((covered, coverage))
}

#[test]
fn a_world_that_is_small_is_gone_through_whole() {
    let (covered, _) = search(Transitions::CORE, TINY).unwrap();
    assert!(covered.whole, "{covered:?}");
    assert_eq!(covered.tried, covered.states);
    assert!(covered.states > 20 && covered.audits > 50, "{covered:?}");
}

#[test]
fn a_search_that_is_cut_says_so() {
    let world = Bounded::read(TINY).unwrap().remove(0);
    for extent in
        [Extent { states: 10, ..Extent::default() }, Extent { steps: 2, ..Extent::default() }]
    {
        let covered =
            explore(Transitions::CORE, laws::SEARCHED, &world, extent, &mut Coverage::default())
                .unwrap();
        assert!(!covered.whole, "{covered:?}");
    }
}

#[test]
fn each_way_has_a_script_that_takes_it_last() {
    let (_, coverage) = search(Transitions::CORE, TINY).unwrap();
    let mut shown = BTreeSet::new();
    for (edge, seen) in coverage.edges() {
        let mut before: Script = seen.script.to_string().parse().unwrap();
        assert_eq!(before, seen.script);
        let whole = run(Transitions::CORE, &before).unwrap();
        before.steps.pop();
        let before = run(Transitions::CORE, &before).unwrap();
        let last = &whole.taken()[before.taken().len()..];
        let here = last.iter().any(|one| (one.place, one.told) == (edge.place, edge.told));
        assert!(here, "{edge:?} is not taken last by\n{}", seen.script);
        shown.insert(edge.told);
    }
    assert!(shown.len() > 5, "{shown:?}");
}

/// Checks that a search finds a mutant by this law, and that the script it prints shows it.
#[track_caller]
fn finds(law: u8, mutant: Transitions) {
    let failure = search(mutant, LAGGING).unwrap_err();
    let Failure::Law { broken, script } = &*failure else {
        panic!("{failure}");
    };
    assert_eq!(broken.law, law, "{failure}");
    let printed = failure.to_string();
    assert!(printed.contains(&format!("law {law} is broken")), "{printed}");
    assert!(printed.contains(&script.to_string()), "{printed}");
    let script: Script = script.to_string().parse().unwrap();
    check_all(Transitions::CORE, laws::ALL, &script).unwrap();
    assert_eq!(check_all(mutant, laws::ALL, &script).unwrap_err().law, law);
}

#[test]
fn a_driver_that_starts_a_call_before_its_fact_is_durable_is_found() {
    fn needs_nothing(session: &Session) -> Vec<DesiredEffect> {
        let owed = desired_effects(session).into_iter();
        owed.map(|one| DesiredEffect { requires_durable: Seq::ZERO, ..one }).collect()
    }
    let owed = needs_nothing;
    finds(16, Transitions { desired_effects: owed, ..Transitions::CORE });
}

#[test]
fn a_deadline_that_is_forgotten_is_found() {
    fn never(_: &Session) -> Option<Timestamp> {
        None
    }
    let deadline = never;
    finds(2, Transitions { deadline, ..Transitions::CORE });
}

#[test]
fn a_state_that_no_fact_explains_is_found() {
    fn forgets(session: Session, fact: &RecordedFact) -> Result<Session, InvalidFact> {
        let mut session = windlass_core::evolve(session, fact)?;
        session.hold = windlass_core::Hold::Free;
        Ok(session)
    }
    let evolve = forgets;
    finds(1, Transitions { evolve, ..Transitions::CORE });
}

/// A policy that no state explains: it looks at how long the log is.
#[test]
fn two_states_that_only_look_alike_are_found() {
    fn moody(
        session: &Session,
        limits: &Limits,
        input: Incoming<Input>,
    ) -> Result<Vec<Draft>, Reject> {
        if input.input == Input::Continue && session.next.0 > 12 {
            return Err(Reject::Idle);
        }
        windlass_core::decide(session, limits, input)
    }
    let decide = moody;
    let text = "world moody\nopen samples=1 attempts=1 queue=0\nitems 1\nsend hello\ntext hi\nend stop\n\
                continue";
    let world = Bounded::read(text).unwrap().remove(0);
    let extent = Extent { audit: 1, ..Extent::default() };
    explore(Transitions::CORE, laws::SEARCHED, &world, extent, &mut Coverage::default()).unwrap();
    let transitions = Transitions { decide, ..Transitions::CORE };
    let failure =
        explore(transitions, laws::SEARCHED, &world, extent, &mut Coverage::default()).unwrap_err();
    let Failure::Unlike { one, other, .. } = &*failure else {
        panic!("{failure}");
    };
    assert_eq!(one.steps.last(), other.steps.last());
    assert!(failure.to_string().contains("key.rs"));
}

/// The table of the tiny world without the lines that hold this.
fn table_without(coverage: &Coverage, what: &str) -> Table {
    let text = Table::of(coverage).to_string();
    let kept: Vec<&str> = text.lines().filter(|line| !line.contains(what)).collect();
    assert!(kept.len() < text.lines().count(), "{what} is not in {text}");
    kept.join("\n").parse().unwrap()
}

#[test]
fn a_way_that_was_not_reviewed_is_found() {
    let (_, coverage) = search(Transitions::CORE, TINY).unwrap();
    let table = Table::of(&coverage);
    assert_eq!((table.new_in(&coverage).len(), table.gone_from(&coverage).len()), (0, 0));
    let table = table_without(&coverage, "sampling | sampled failure | to backoff");
    let new = table.new_in(&coverage);
    let [Difference::New { row, fact: None, script }] = new.as_slice() else {
        panic!("{new:?}");
    };
    assert_eq!(row.then, "to backoff");
    assert!(script.to_string().ends_with("send hello\nfail server soon\n"), "{script:?}");
    assert!(new[0].to_string().contains("new and unreviewed: sampling"));
    assert!(table.gone_from(&coverage).is_empty());
}

#[test]
fn a_fact_that_was_not_reviewed_is_found() {
    let (_, coverage) = search(Transitions::CORE, TINY).unwrap();
    let text = Table::of(&coverage).to_string();
    let table: Table = text.replacen(" InputQueued", "", 1).parse().unwrap();
    let new = table.new_in(&coverage);
    let [Difference::New { fact: Some(fact), .. }] = new.as_slice() else {
        panic!("{new:?}");
    };
    assert_eq!(fact, "InputQueued");
}

#[test]
fn a_reviewed_way_that_is_never_taken_is_found() {
    let (_, coverage) = search(Transitions::CORE, TINY).unwrap();
    let extra = "idle | tick | to sampling | SampleStarted";
    let text = format!("{}\n{extra}\n", Table::of(&coverage));
    let table: Table = text.parse().unwrap();
    assert!(table.new_in(&coverage).is_empty());
    let row = Row {
        place: String::from("idle"),
        told: String::from("tick"),
        then: String::from("to sampling"),
    };
    assert_eq!(table.gone_from(&coverage), [Difference::Gone { row, fact: None }]);
}
