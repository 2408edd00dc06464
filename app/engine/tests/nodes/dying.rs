//! Nodes that die, stand still or are moved away from while words are under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use windlass_engine::core::{Delta, EffectClass, Fact, InputId, Seq, TurnOutcome};
use windlass_engine::{DriverEnd, Event, EventStream, LiveKind, StartError};
use windlass_testkit::Gate;
use windlass_testkit::faulty::{Fault, FaultyStore, Operation};
use windlass_testkit::nodes::{InboxFault, InboxOperation, Nodes};
use windlass_testkit::provider::{ScriptedProvider, call, say, stall};
use windlass_testkit::tools::ScriptedTool;

use crate::fleet::{Fleet, TAKEN_OVER, id, me, said, soon, until};

#[tokio::test(start_paused = true)]
async fn what_was_appended_before_the_driver_died_is_done_once_and_told_as_done() {
    let dies = Gate::new();
    let at = dies.clone();
    let fleet = Fleet::new([say("one"), say("one")]);
    let fleet = fleet.failing(move |operation, number| match (operation, number) {
        (InboxOperation::Reply, 1) => vec![InboxFault::Wait(at.clone())],
        _ => Vec::new(),
    });
    let (one, other) = (fleet.member(), fleet.member());
    let _conversation = fleet.drives(&one).await;
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    let sending = tokio::spawn(async move { reached.send(said("hello")).await });
    dies.reached().await;
    one.node.cut();
    assert_eq!(fleet.texts(), ["hello"], "it is durable");
    let began = Instant::now();
    let input = soon(sending).await.unwrap().unwrap();
    assert!(began.elapsed() <= TAKEN_OVER);
    assert_eq!((fleet.texts().len(), input), (1, queued(&fleet)));
    until(|| fleet.place.waiting(&id("s")) == 0).await;
    assert_eq!(fleet.texts(), ["hello"]);
}

fn queued(fleet: &Fleet) -> InputId {
    let log = fleet.log();
    let queued = log.iter().find(|one| matches!(one.fact, Fact::InputQueued(_)));
    InputId(queued.unwrap().seq.0)
}

#[tokio::test(start_paused = true)]
async fn a_word_outlives_the_driver_that_never_took_it() {
    let fleet = Fleet::new([stall(), say("there")]);
    let (one, other) = (fleet.member(), fleet.member());
    let conversation = fleet.drives(&one).await;
    soon(conversation.send(said("hello"))).await.unwrap();
    until(|| fleet.provider.asked().len() == 1).await;
    one.node.cut();
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    let began = Instant::now();
    soon(reached.send(said("are you there?"))).await.unwrap();
    let took = began.elapsed();
    assert!(took >= Nodes::LEASE - Duration::from_secs(1), "{took:?}");
    assert!(took <= TAKEN_OVER, "{took:?}");
    assert_eq!(fleet.texts(), ["hello", "are you there?"]);
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_stood_still_says_no_word_and_stops() {
    let fleet = Fleet::new([stall(), say("there"), say("and there")]);
    let (one, other) = (fleet.member(), fleet.member());
    let conversation = fleet.drives(&one).await;
    let mut events = conversation.subscribe(None);
    soon(conversation.send(said("hello"))).await.unwrap();
    until(|| fleet.provider.asked().len() == 1).await;
    one.node.cut();
    tokio::time::sleep(Nodes::LEASE).await;
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    soon(reached.send(said("more"))).await.unwrap();
    // It wakes and is told of letters, of which it may take none.
    one.node.mend();
    one.engine.notify_driver(&id("s"));
    let ended = loop {
        if let Event::Ended(ended) = soon(events.next()).await.unwrap() {
            break ended;
        }
    };
    assert!(matches!(&*ended, DriverEnd::Superseded(_)), "{ended:?}");
    until(|| fleet.count(|fact| matches!(fact, Fact::TurnSettled(_))) == 2).await;
    assert_eq!(fleet.texts(), ["hello", "more"]);
}

/// What a watch is told that streams, until the turn settles.
async fn streamed(mut watch: EventStream) -> String {
    let mut streamed = String::new();
    loop {
        match soon(watch.next()).await.unwrap() {
            Event::Fact(fact) if matches!(fact.fact, Fact::TurnSettled(_)) => return streamed,
            Event::Fact(_) | Event::Lagged { .. } | Event::Store(_) => {}
            Event::Live(all) => {
                for live in all.iter() {
                    if let LiveKind::Delta { delta: Delta::Text { text, .. }, .. } = &live.kind {
                        streamed.push_str(text);
                    }
                }
            }
            Event::Ended(_) => panic!("a watch does not end"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_has_lost_a_session_shows_nothing_of_what_it_has_its_model_say() {
    let (gate, ends) = (Gate::new(), Gate::new());
    let count = ScriptedTool::new("count", EffectClass::Effectful).before(&gate);
    let (taken, script) = (ends.clone(), Arc::new(AtomicUsize::new(0)));
    let mut fleet = Fleet::with([], [count]);
    fleet.provider =
        ScriptedProvider::responding(move |_| match script.fetch_add(1, Ordering::SeqCst) {
            0 => call("count", json!({})),
            1 => say("there").end_after(&taken),
            _ => say("nowhere"),
        });
    let (one, other) = (fleet.member(), fleet.keeper());
    let conversation = fleet.drives(&one).await;
    let watch = one.engine.subscribe(&id("s"), &me(), Some(Seq::ZERO));
    let watching = tokio::spawn(streamed(watch));
    soon(conversation.send(said("hello"))).await.unwrap();
    until(|| fleet.tools.running() == 1).await;
    one.node.cut();
    until(|| fleet.provider.asked().len() == 2).await;
    assert!(other.engine.notify_driver(&id("s")), "it was taken over");
    one.node.mend();
    // What is in the log by now has been read for who watches, beside a driver that knows of nothing.
    tokio::time::sleep(Duration::from_secs(20)).await;
    one.node.cut();
    gate.open();
    // It has its call's result, and its model says something, where the log has another's run.
    until(|| fleet.provider.asked().len() == 3).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    one.node.mend();
    ends.open();
    let streamed = soon(watching).await.unwrap();
    assert_eq!(streamed, "", "no node tells others what streams here");
    assert_eq!(fleet.tools.runs().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_word_goes_to_whoever_goes_on_with_a_session_that_is_moved() {
    let gate = Gate::new();
    let held = gate.clone();
    let appends = Arc::new(AtomicBool::new(false));
    let holds = appends.clone();
    let logs = FaultyStore::responding(move |operation, _| match operation {
        Operation::Append if holds.swap(false, Ordering::SeqCst) => {
            vec![Fault::Wait(held.clone())]
        }
        _ => Vec::new(),
    });
    let fleet = Fleet::over(logs, [say("one"), say("two")], []);
    let (one, other) = (fleet.member(), fleet.member());
    let conversation = fleet.drives(&one).await;
    let reached = soon(one.engine.session(&id("s"), &me())).await.unwrap();
    drop(conversation);
    let moving = one.engine.clone();
    let parting = async move { moving.hand_off(5_000, "a new version").await };
    let parted = soon(parting).await;
    assert!(parted.dropped.is_empty());
    // The engine that was asked is shut by now: it is left for the others.
    let sending = tokio::spawn(async move { reached.send(said("hello")).await });
    until(|| fleet.place.waiting(&id("s")) == 1).await;
    appends.store(true, Ordering::SeqCst);
    let taking = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    gate.open();
    soon(sending).await.unwrap().unwrap();
    drop(taking);
    until(|| fleet.count(|fact| matches!(fact, Fact::TurnSettled(_))) == 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_is_superseded_while_it_takes_a_word_is_followed_by_another() {
    let stuck = Gate::new();
    let held = stuck.clone();
    let armed = Arc::new(AtomicBool::new(false));
    let arm = armed.clone();
    let logs = FaultyStore::responding(move |operation, _| match operation {
        Operation::Append if arm.swap(false, Ordering::SeqCst) => vec![Fault::Wait(held.clone())],
        _ => Vec::new(),
    });
    // A model may be asked while the facts before it are being synced.
    let fleet = Fleet::over(logs, [say("one"), say("one")], []);
    let (one, other) = (fleet.member(), fleet.member());
    let _conversation = fleet.drives(&one).await;
    let reached = soon(one.engine.session(&id("s"), &me())).await.unwrap();
    armed.store(true, Ordering::SeqCst);
    let sending = tokio::spawn(async move { reached.send(said("hello")).await });
    stuck.reached().await;
    one.node.cut();
    tokio::time::sleep(Nodes::LEASE).await;
    let next = fleet.drives(&other).await;
    one.node.mend();
    stuck.open();
    let input = soon(sending).await.unwrap().unwrap();
    assert_eq!((fleet.texts().len(), input), (1, queued(&fleet)));
    let report = soon(next.outcome(input)).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
}

#[tokio::test(start_paused = true)]
async fn nodes_that_take_up_sessions_hear_of_letters_for_those_that_they_drive() {
    let fleet = Fleet::new([stall(), say("there")]);
    let (one, other) = (fleet.keeper(), fleet.keeper());
    let conversation = fleet.drives(&one).await;
    soon(conversation.send(said("hello"))).await.unwrap();
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    let began = Instant::now();
    soon(reached.send(said("more"))).await.unwrap();
    assert!(began.elapsed() < Duration::from_millis(100), "it is told");
    // The caller goes, and so does the node: what was left is done by the other all the same.
    let waits = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    one.node.cut();
    let sending = tokio::spawn(async move { waits.send(said("last")).await });
    until(|| fleet.place.waiting(&id("s")) == 1).await;
    sending.abort();
    drop(reached);
    let began = Instant::now();
    until(|| fleet.texts().len() == 3).await;
    assert!(began.elapsed() <= TAKEN_OVER);
    assert_eq!(fleet.texts(), ["hello", "more", "last"]);
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_is_alone_is_told_that_another_writer_has_come() {
    let fleet = Fleet::new([]);
    let one = fleet.member();
    let _conversation = fleet.drives(&one).await;
    let alone = fleet.alone();
    let reached = soon(alone.session(&id("s"), &me())).await;
    assert!(matches!(reached.map(drop), Err(StartError::Locked(_))));
}
