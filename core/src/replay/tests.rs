//! Tests of replays.

use alloc::string::String;

use super::judge::UNLIMITED;
use super::*;
use crate::compact::kit;
use crate::decide::decide_open;
use crate::fact::{InputAccepted, InputQueued, Lineage};
use crate::id::{InputId, Seq, SessionId};
use crate::input::{OpenSession, SampleEvent};
use crate::item::{CallItem, Item};
use crate::scope::Scope;
use crate::session::Delivery;
use crate::time::Timestamp;

fn stamped<T>(input: T) -> Incoming<T> {
    Incoming { at: Timestamp(5), entropy: 0, input }
}

/// A session in which somebody has said hello, up to the first request.
fn log() -> Vec<RecordedFact> {
    let id = SessionId::new("s").unwrap();
    let first = decide_open(stamped(OpenSession {
        owner: Scope::local("somebody"),
        workspace: None,
        settings: kit::settings(),
        lineage: Lineage::Root,
    }));
    let mut log = alloc::vec![first.number(&id, Seq(1))];
    let session = evolve_first(&log[0]).unwrap();
    let send = stamped(Input::Send {
        scope: Scope::local("somebody"),
        text: String::from("hello"),
        delivery: Delivery::Turn,
        context: Vec::new(),
        images: Vec::new(),
        key: None,
        dry_run: false,
        turn: None,
    });
    let drafts = decide(&session, &UNLIMITED, send).unwrap();
    let numbered = (2..).zip(drafts);
    log.extend(numbered.map(|(seq, draft)| draft.number(&id, Seq(seq))));
    log
}

#[test]
fn a_request_that_renders_otherwise_is_told() {
    let log = log();
    let (first, rest) = log.split_first().unwrap();
    let mut replayed = Replay::new();
    replayed.push(first.clone()).unwrap();
    // A history in which somebody has said more than the session knows.
    let scope = alloc::sync::Arc::new(Scope::local("somebody"));
    let more = Fact::InputQueued(InputQueued {
        scope,
        text: "and more".into(),
        delivery: Delivery::Turn,
        context: Vec::new(),
        images: Vec::new(),
        key: None,
        dry_run: false,
        command_key: None,
        result_of: None,
        command: None,
    });
    let input = InputId(first.seq.0);
    let heard = Fact::InputAccepted(InputAccepted { input, call: None });
    for fact in [more, heard] {
        let (_, history) = replayed.state.as_mut().unwrap();
        let recorded = RecordedFact { fact, ..first.clone() };
        history.apply(&recorded).unwrap();
    }
    for recorded in rest {
        replayed.push(recorded.clone()).unwrap();
    }
    let told = replayed.finish().unwrap();
    assert_eq!((told.requests, told.different_requests), (1, 1));
    assert_eq!(told.request_divergences[0].seq, Seq(log.len() as u64));
    assert_eq!(told.divergences, []);
    assert!(!told.is_same());
}

#[test]
fn what_does_not_fit_is_no_log() {
    let mut log = log();
    log.remove(2);
    assert!(replay(decide, log).is_err());
    assert_eq!(replay(decide, []).unwrap(), ReplayReport::default());
}

#[test]
fn each_fact_and_each_decision_is_counted() {
    let log = log();
    let mut replayed = Replay::new();
    assert_eq!(replayed.session(), None);
    replayed.push(log[0].clone()).unwrap();
    let session = evolve_first(&log[0]).unwrap();
    assert_eq!(replayed.session(), Some(&session));
    let told = replay(decide, log.clone()).unwrap();
    assert_eq!(told.facts, log.len() as u64);
    assert_eq!((told.same, told.cut_short, told.turns), (1, 0, 0));
    assert_eq!((told.different, told.unverifiable), (0, 0));
}

#[test]
fn a_decision_whose_rest_was_lost_is_counted_as_one_cut_short() {
    let mut log = log();
    let fold = |log: &[RecordedFact]| {
        let mut session = evolve_first(&log[0]).unwrap();
        for recorded in &log[1..] {
            session.apply(recorded).unwrap();
        }
        session
    };
    let session = fold(&log);
    let effects = crate::desired_effects::desired_effects(&session);
    let call = CallItem {
        provider_id: String::from("call_0"),
        name: String::from("unknown"),
        arguments: String::from("{}"),
        fault: None,
        rules: Vec::new(),
        possible_rules: Vec::new(),
        outside_sandbox: false,
        sha256: None,
        opaque: None,
        inline: false,
    };
    let news = SampleEvent::Item(Item::Call(alloc::sync::Arc::new(call)));
    let key = effects[0].key;
    let sampled = stamped(Input::SampleEvent { key, event: news });
    let mut drafts = decide(&session, &UNLIMITED, sampled).unwrap();
    assert!(drafts.len() > 1, "{drafts:?}");
    // The process ends after the first of these.
    drafts.truncate(1);
    for input in [None, Some(Input::Recover)] {
        if let Some(input) = input {
            drafts = decide(&fold(&log), &UNLIMITED, stamped(input)).unwrap();
        }
        for draft in core::mem::take(&mut drafts) {
            let seq = Seq(log.len() as u64 + 1);
            log.push(draft.number(&session.id, seq));
        }
    }
    let told = replay(decide, log.clone()).unwrap();
    assert_eq!(told.facts, log.len() as u64);
    assert_eq!((told.same, told.cut_short), (3, 1));
    assert!(told.is_same());
}
