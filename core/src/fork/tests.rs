//! Forks of hand-written logs: names, points, holds, and forks of forks.

use alloc::format;
use alloc::string::String;

use super::*;
use crate::compact::kit;
use crate::decide::{decide, decide_open};
use crate::desired_effects::desired_effects;
use crate::evolve::evolve_first;
use crate::goal::{Goal, GoalState};
use crate::id::CallId;
use crate::input::{Incoming, Input, OpenSession};
use crate::limits::Limits;
use crate::outcome::InterruptSource;
use crate::session::Delivery;

fn id(text: &str) -> SessionId {
    SessionId::new(text).unwrap()
}

fn stamped<T>(input: T) -> Incoming<T> {
    Incoming { at: Timestamp(5), entropy: 0, input }
}

fn send() -> Input {
    Input::Send {
        scope: Scope::local("ada"),
        text: String::from("hello"),
        delivery: Delivery::Turn,
        context: Vec::new(),
        images: Vec::new(),
        key: None,
        dry_run: false,
        turn: None,
    }
}

fn fold(log: &[RecordedFact]) -> Session {
    let mut session = evolve_first(&log[0]).unwrap();
    for recorded in &log[1..] {
        session.apply(recorded).unwrap();
    }
    session
}

fn decide_into(log: &mut Vec<RecordedFact>, input: Input) {
    let session = fold(log);
    for draft in decide(&session, &Limits::default(), stamped(input)).unwrap() {
        let seq = Seq(log.len() as u64 + 1);
        log.push(draft.number(&session.id, seq));
    }
}

/// Returns a session in which a turn was interrupted before the model answered: 1 opening, 2 input,
/// 3 turn, and so on. It is idle at the end.
fn original(lineage: Lineage) -> Vec<RecordedFact> {
    let first = decide_open(stamped(OpenSession {
        owner: Scope::local("ada"),
        workspace: Some(String::from("folder")),
        settings: kit::settings(),
        lineage,
    }));
    let mut log = alloc::vec![first.number(&id("original"), Seq(1))];
    decide_into(&mut log, send());
    decide_into(
        &mut log,
        Input::Interrupt {
            by: InterruptSource::Person,
            scope: Scope::local("ada"),
            reason: String::from("enough"),
            when: crate::fact::StopTiming::Now,
            turn: None,
        },
    );
    let key = desired_effects(&fold(&log))[0].key;
    decide_into(&mut log, Input::NeverStarted { key });
    assert_eq!(fold(&log).phase, Phase::Idle);
    log
}

fn forked(log: &[RecordedFact], at: u64, name: &str) -> Vec<RecordedFact> {
    let owner = Arc::new(Scope::local("bob"));
    let fork = Fork::new(&log[0], Seq(at), &id(name), owner, Timestamp(9)).unwrap();
    let facts: Vec<RecordedFact> = log.iter().map_while(|fact| fork.map_fact(fact)).collect();
    assert_eq!(facts.first(), Some(fork.first()));
    assert_eq!(facts.len() as u64, at);
    facts
}

fn lineage(log: &[RecordedFact]) -> Lineage {
    (*fold(log).lineage).clone()
}

fn fork(of: &str, at: u64) -> Ancestor {
    Ancestor::Fork { of: id(of), at: Seq(at) }
}

#[test]
fn a_fork_is_the_other_log_under_its_own_name_and_opening() {
    let log = original(Lineage::Root);
    let last = log.len() as u64;
    let copy = forked(&log, last, "copy");
    let (old, new) = (fold(&log), fold(&copy));
    assert_eq!((new.id.clone(), &*new.owner), (id("copy"), &Scope::local("bob")));
    assert_eq!((copy[0].ts, copy[1].ts), (Timestamp(9), log[1].ts));
    let but_for = Session {
        id: old.id.clone(),
        owner: old.owner.clone(),
        lineage: old.lineage.clone(),
        hold: old.hold,
        ..new.clone()
    };
    assert_eq!(but_for, old);
    assert_eq!(new.hold, Hold::Held);
    let from = Lineage::Fork { of: id("original"), at: Seq(last), ancestors: Vec::new() };
    assert_eq!(*new.lineage, from);
}

#[test]
fn another_sessions_fact_or_a_later_one_is_not_taken_over() {
    let log = original(Lineage::Root);
    let owner = Arc::new(Scope::local("bob"));
    let fork = Fork::new(&log[0], Seq(2), &id("copy"), owner.clone(), Timestamp(9)).unwrap();
    assert!(fork.map_fact(&log[1]).is_some());
    assert_eq!(fork.map_fact(&log[2]), None);
    let foreign = RecordedFact { session: id("other"), ..log[1].clone() };
    assert_eq!(fork.map_fact(&foreign), None);
    let wrong = Fork::new(&log[1], Seq(2), &id("copy"), owner, Timestamp(9));
    assert!(matches!(wrong, Err(InvalidFork::InvalidFact(_))), "{wrong:?}");
}

#[test]
fn what_was_taken_over_is_of_the_session_that_it_is_from() {
    let log = original(Lineage::Root);
    let first = forked(&log, log.len() as u64, "first");
    let second = forked(&first, 2, "second");
    let third = forked(&second, 2, "third");
    let names = |log: &[RecordedFact]| -> Vec<String> {
        let states = (1..=log.len()).map(|length| fold(&log[..length]));
        states.map(|state| format!("{}", state.author())).collect()
    };
    // Each name is that of the next fact's author.
    assert_eq!(names(&second), ["original", "second"]);
    assert_eq!(names(&third), ["original", "third"]);
    assert_eq!(
        lineage(&third),
        Lineage::Fork {
            of: id("second"),
            at: Seq(2),
            ancestors: alloc::vec![fork("first", 2), fork("original", 2)],
        }
    );

    // A fork that continued before it was forked again decided that part itself.
    let mut first = forked(&log, 2, "first");
    let length = first.len();
    decide_into(&mut first, Input::Continue);
    assert!(first.len() > length);
    let state = fold(&first[..2]);
    assert_eq!((state.author(), state.missing_up_to()), (&id("first"), None));
    let second = forked(&first, 3, "second");
    assert_eq!(names(&second), ["original", "first", "second"]);
}

#[test]
fn a_fork_whose_log_ends_too_soon_is_not_whole() {
    let log = original(Lineage::Root);
    let copy = forked(&log, 4, "copy");
    let missing = |length: usize| fold(&copy[..length]).missing_up_to();
    assert_eq!(missing(1), Some(Seq(4)));
    assert_eq!(missing(3), Some(Seq(4)));
    assert_eq!(missing(4), None);
    assert_eq!(fold(&log[..2]).missing_up_to(), None);
}

#[test]
fn a_childs_turns_stay_a_childs_where_they_are_taken_over() {
    let child = Lineage::Child { of: id("parent"), call: CallId(7) };
    let log = original(child);
    assert!(fold(&log).is_child());
    let copy = forked(&log, 2, "copy");
    assert!(fold(&copy[..1]).is_child());
    assert!(!fold(&copy).is_child());
    let again = forked(&copy, 2, "again");
    assert!(fold(&again[..1]).is_child());
    assert!(!fold(&again).is_child());
    let behind = Ancestor::Child { of: id("parent"), call: CallId(7) };
    let Lineage::Fork { ancestors: before, .. } = lineage(&again) else {
        unreachable!("it is a fork")
    };
    assert_eq!(before, [fork("original", 2), behind]);
}

#[test]
fn a_fork_begins_nothing_until_a_user_speaks() {
    let log = original(Lineage::Root);
    // After the input, before its turn.
    let mut copy = forked(&log, 2, "copy");
    assert!(fold(&copy).can_fork());
    let still = decide(&fold(&copy), &Limits::default(), stamped(Input::Recover));
    assert_eq!(still, Ok(Vec::new()));
    assert_eq!(desired_effects(&fold(&copy)), []);
    decide_into(&mut copy, Input::Continue);
    assert_eq!(copy[2].fact.kind(), "TurnOpened");
}

#[test]
fn a_session_forks_where_nothing_runs_and_nothing_follows_by_itself() {
    let log = original(Lineage::Root);
    let last = log.len();
    let points: Vec<usize> = (1..=last).filter(|length| fold(&log[..*length]).can_fork()).collect();
    assert_eq!(points, [1, 2, last]);

    let mut session = fold(&log);
    let goal = |standing, turns| {
        Some(GoalState {
            goal: Arc::new(Goal { text: "win".into(), turns: 2 }),
            set: Seq(1),
            scope: Arc::new(Scope::local("ada")),
            turns,
            status: standing,
        })
    };
    for (standing, turns, forks) in [
        (GoalStatus::Waiting, 2, true),
        (GoalStatus::Due, 1, true),
        (GoalStatus::Due, 2, false),
        (GoalStatus::Met { call: CallId(1) }, 1, false),
        (GoalStatus::Stopped { reason: String::new() }, 1, false),
    ] {
        session.goal = goal(standing, turns);
        assert_eq!(session.can_fork(), forks, "{:?}", session.goal);
    }
    session.goal = None;
    session.hook_rounds.open = Some(crate::hook_rounds::HookRound {
        at: crate::hook::HookOccurrence::SessionEnd,
        pending: Vec::new(),
        answered: Vec::new(),
        verdict: crate::hook_rounds::CombinedVerdict::Pass,
        contexts: Vec::new(),
        all: false,
    });
    assert!(!session.can_fork(), "its end is being told");
}

#[test]
fn forks_of_forks_have_an_end() {
    let mut first = original(Lineage::Root).remove(0);
    for depth in 0..=Fork::MAX_ANCESTORS {
        let owner = Arc::new(Scope::local("bob"));
        let name = id(&format!("fork-{depth}"));
        let fork = Fork::new(&first, Seq(1), &name, owner, Timestamp(9)).unwrap();
        first = fork.first().clone();
    }
    let owner = Arc::new(Scope::local("bob"));
    let one_more = Fork::new(&first, Seq(1), &id("more"), owner, Timestamp(9));
    assert_eq!(one_more, Err(InvalidFork::TooDeep));
}
