//! Cases of the check: what is a gap, what repeats text, and what is neither.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::{SessionId, Timestamp, TurnId};
use windlass_ports::codec;

use super::*;

fn live(started: u64, deltas: &[(u32, &str)]) -> Event {
    let one = |(slot, text): &(u32, &str)| LiveEvent {
        session: SessionId::new("s").unwrap(),
        turn: TurnId(2),
        ts: Timestamp(7),
        kind: LiveKind::Delta {
            started: Seq(started),
            delta: Delta::Text { slot: *slot, text: (*text).to_owned() },
        },
    };
    Event::Live(deltas.iter().map(one).collect::<Vec<_>>().into())
}

/// A fact as its text, in which the kind precedes the body.
fn fact(seq: u64, kind: &str, body: &Value) -> Event {
    let envelope = format!(
        r#"{{"v":1,"session":"s","seq":{seq},"turn":2,"ts":7,"kind":"{kind}","body":{body}}}"#
    );
    Event::Fact(Arc::new(codec::decode(envelope.as_bytes()).unwrap()).into())
}

fn item(seq: u64, text: &str) -> Event {
    let item = json!({"type": "text", "text": text});
    fact(seq, "ItemAdded", &json!({"started": 4, "item": item}))
}

fn cut(seq: u64, partial: &str) -> Event {
    let failure = json!({"kind": "server", "message": "away", "retry": "never"});
    let body = json!({"started": 4, "failure": failure, "partial": partial,
                      "retained": {"kind": "nothing"}});
    fact(seq, "SampleCut", &body)
}

/// Applies events to one check; `None` is another source.
fn lags(events: &[Option<Event>]) -> Vec<bool> {
    let mut check = LiveCheck::default();
    let all = events.iter().map(|event| match event {
        Some(event) => check.apply(event),
        None => {
            check.restart();
            false
        }
    });
    all.collect()
}

#[test]
fn what_adds_up_is_no_lag() {
    let told = lags(&[
        Some(live(4, &[(0, "on"), (1, "two")])),
        Some(live(4, &[(0, "e")])),
        Some(item(5, "one")),
        None,
        Some(live(9, &[(0, "another run")])),
        Some(item(10, "one of no run that was heard")),
    ]);
    assert_eq!(told, [false; 6]);
}

#[test]
fn another_source_repeats_what_was_heard() {
    let told = lags(&[
        Some(live(4, &[(0, "on"), (1, "two")])),
        None,
        Some(live(4, &[(0, "one")])),
        Some(live(4, &[(1, "two")])),
        Some(live(4, &[(0, "!")])),
        Some(item(5, "one!")),
        Some(item(6, "two")),
    ]);
    assert_eq!(told, [false, false, true, false, false, false, false]);
}

#[test]
fn an_item_and_a_broken_answer_show_what_is_missing() {
    assert_eq!(lags(&[Some(live(4, &[(0, "on")])), Some(item(5, "one"))]), [false, true]);
    assert_eq!(lags(&[Some(live(4, &[(0, "on")])), Some(cut(5, "one"))]), [false, true]);
    assert_eq!(lags(&[Some(live(4, &[(0, "one")])), Some(cut(5, "one"))]), [false, false]);
    // Nothing of it was heard, or the provider's last word differs from what it streamed.
    assert_eq!(lags(&[Some(live(9, &[(0, "on")])), Some(item(10, "one"))]), [false, false]);
    assert_eq!(lags(&[Some(live(4, &[(0, "on")])), Some(item(5, "two"))]), [false, false]);
}

#[test]
fn after_a_lag_nothing_was_heard() {
    let lagged = || Some(Event::Lagged { missed: 3 });
    let told = lags(&[Some(live(4, &[(0, "on")])), lagged(), Some(item(5, "one"))]);
    assert_eq!(told, [false; 3]);
    let told = lags(&[Some(live(4, &[(0, "on")])), lagged(), None, Some(live(4, &[(0, "one")]))]);
    assert_eq!(told, [false; 4]);
}

#[test]
fn a_call_is_its_name_and_its_arguments() {
    let call = |slot, name: &str| LiveKind::Delta {
        started: Seq(4),
        delta: Delta::Call { slot, name: name.to_owned() },
    };
    let live = |kind| {
        let session = SessionId::new("s").unwrap();
        Event::Live(vec![LiveEvent { session, turn: TurnId(2), ts: Timestamp(7), kind }].into())
    };
    let arguments = |text: &str| LiveKind::Delta {
        started: Seq(4),
        delta: Delta::Arguments { slot: 0, text: text.to_owned() },
    };
    let item = |arguments: &str| {
        let item = json!({"type": "call", "provider_id": "c", "name": "t", "arguments": arguments});
        Some(fact(5, "ItemAdded", &json!({"started": 4, "item": item})))
    };
    let name = || Some(live(call(0, "t")));
    let begun = || Some(live(arguments("{\"a\"")));
    assert_eq!(lags(&[name(), item("{}")]), [false, false]);
    assert_eq!(lags(&[name(), item("{\"a\":1}")]), [false, true]);
    assert_eq!(lags(&[name(), begun(), item("{\"a\":1}")]), [false, false, true]);
    assert_eq!(lags(&[name(), begun(), item("{\"a\"")]), [false; 3]);
}
