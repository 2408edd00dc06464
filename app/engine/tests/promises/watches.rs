//! Watches: a session's events whoever drives it, across drivers that come and go, other writers,
//! and an erasure.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use windlass_engine::core::{
    Delta, Fact, InputId, RecordedFact, Scope, Seq, StopReason, StreamEvent,
};
use windlass_engine::ports::{StoreErrorKind, codec};
use windlass_engine::{Event, EventStream, LiveKind, StartError};
use windlass_testkit::Gate;
use windlass_testkit::faulty::{Fault, FaultyStore, Operation};
use windlass_testkit::provider::{ScriptedProvider, Step, say};
use windlass_testkit::tools::ScriptedTools;

use crate::world::{World, hello, id, me, soon, until};

fn answering(store: FaultyStore) -> World {
    let provider = Arc::new(ScriptedProvider::responding(|_| say("there")));
    World::over(store, provider, Arc::new(ScriptedTools::new([])))
}

/// Runs a turn of session `s` in an engine, and lets the session go.
async fn turn(world: &World) -> InputId {
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    soon(conversation.outcome(input)).await.unwrap();
    conversation.close().await;
    input
}

/// What a watch says until it has said the fact at a position.
async fn up_to(watch: &mut EventStream, last: u64) -> (Vec<RecordedFact>, String, u64) {
    let (mut facts, mut text, mut lags) = (Vec::new(), String::new(), 0);
    while facts.last().is_none_or(|fact: &RecordedFact| fact.seq.0 < last) {
        match soon(watch.next()).await.unwrap() {
            Event::Fact(fact) => facts.push((**fact).clone()),
            Event::Live(all) => {
                for live in all.iter() {
                    if let LiveKind::Delta { delta: Delta::Text { text: more, .. }, .. } =
                        &live.kind
                    {
                        text.push_str(more);
                    }
                }
            }
            Event::Lagged { .. } => lags += 1,
            Event::Store(_) => {}
            Event::Ended(_) => panic!("a watch does not end"),
        }
    }
    (facts, text, lags)
}

fn last(world: &World) -> u64 {
    world.store.log(&id("s")).len() as u64
}

#[tokio::test(start_paused = true)]
async fn a_watch_sees_each_fact_once_across_drivers_that_come_and_go() {
    let world = answering(FaultyStore::new());
    turn(&world).await;
    let mut watch = world.engine.subscribe(&id("s"), &me(), Some(Seq(2)));
    let watching = tokio::spawn(async move {
        let mut seen = up_to(&mut watch, 1).await;
        loop {
            let settled = seen.0.iter().filter(|one| one.fact.kind() == "TurnSettled");
            if settled.count() == 4 {
                return seen;
            }
            let more = up_to(&mut watch, 1).await;
            seen.0.extend(more.0);
            seen.1.push_str(&more.1);
            seen.2 += more.2;
        }
    });
    for _ in 0..3 {
        // Each of them has a driver of its own.
        until(|| !world.store.claimed(&id("s"))).await;
        turn(&world).await;
    }
    let (facts, text, lags) = soon(watching).await.unwrap();
    assert_eq!(facts, world.log()[2..]);
    assert_eq!((text.as_str(), lags), ("theretherethere", 0));
}

#[tokio::test(start_paused = true)]
async fn a_watch_hears_a_driver_from_its_first_word_on() {
    let world = answering(FaultyStore::new());
    turn(&world).await;
    until(|| !world.store.claimed(&id("s"))).await;
    let before = last(&world);
    // It does not even look until the turn is over.
    let mut watch = world.engine.subscribe(&id("s"), &me(), Some(Seq(before)));
    turn(&world).await;
    until(|| !world.store.claimed(&id("s"))).await;
    let (facts, text, lags) = up_to(&mut watch, last(&world)).await;
    assert_eq!(facts, world.log()[usize::try_from(before).unwrap()..]);
    // Its ring has eight places: what did not fit is told.
    assert!(text == "there" || lags > 0, "{text:?} and {lags} lags");
}

#[tokio::test(start_paused = true)]
async fn what_streams_is_heard_once_though_its_log_was_being_read_as_the_driver_came() {
    let (late, armed) = (Gate::new(), Arc::new(AtomicBool::new(false)));
    let (holds, arm) = (late.clone(), armed.clone());
    let store = FaultyStore::responding(move |operation, _| match operation {
        Operation::Read if arm.swap(false, Ordering::SeqCst) => vec![Fault::Wait(holds.clone())],
        _ => Vec::new(),
    });
    let ends = Gate::new();
    let text = |text: &str| StreamEvent::Text { slot: 0, text: text.to_owned() };
    let done = StreamEvent::Done { slot: 0, text: None, opaque: None };
    let reason = StopReason::Stop;
    let halves = Step::default().batch([text("the")]).then_gate(&ends);
    let halves = halves.batch([text("re"), done, StreamEvent::Finished { reason }]);
    let script = [say("there"), halves];
    let provider = Arc::new(ScriptedProvider::new(script));
    let world = World::over(store, provider, Arc::new(ScriptedTools::new([])));
    let world = world.configured(|config| config.read_page = 100);
    turn(&world).await;
    until(|| !world.store.claimed(&id("s"))).await;
    let mut watch = world.engine.subscribe(&id("s"), &me(), Some(Seq(last(&world))));
    let watching = tokio::spawn(async move {
        let mut seen = up_to(&mut watch, 1).await;
        while seen.0.iter().all(|one| one.fact.kind() != "TurnSettled") {
            let more = up_to(&mut watch, 1).await;
            seen.0.extend(more.0);
            seen.1.push_str(&more.1);
        }
        seen
    });
    // Itself, and the one that follows the log: that one reads it next.
    until(|| Handle::current().metrics().num_alive_tasks() == 2).await;
    armed.store(true, Ordering::SeqCst);
    soon(late.reached()).await;
    let conversation = world.open("s").await;
    conversation.send(hello()).await.unwrap();
    soon(ends.reached()).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    // What is read now has all been published by the driver, which has its text shown.
    late.open();
    tokio::time::sleep(Duration::from_millis(100)).await;
    ends.open();
    let (facts, text, _) = soon(watching).await.unwrap();
    assert_eq!(text, "there");
    let log = world.log();
    assert_eq!(facts, log[log.len() - facts.len()..]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_makes_no_driver_stay_and_holds_no_slot() {
    let world = answering(FaultyStore::new());
    let mut watch = world.engine.subscribe(&id("s"), &me(), None);
    let unknown = soon(watch.next()).await.unwrap_err();
    assert_eq!(unknown.kind, StoreErrorKind::Unknown);
    turn(&world).await;
    until(|| !world.store.claimed(&id("s"))).await;
    // It was there before the driver, and has heard all of it.
    up_to(&mut watch, last(&world)).await;
    let waiting = tokio::spawn(async move { watch.next().await.map(|_| ()) });
    let alive = || Handle::current().metrics().num_alive_tasks();
    // Itself, and the one that follows the log for all who watch.
    until(|| alive() == 2).await;
    waiting.abort();
    until(|| alive() == 0).await;
}

#[tokio::test(start_paused = true)]
async fn from_now_on_is_where_the_log_ends() {
    let world = answering(FaultyStore::new());
    turn(&world).await;
    until(|| !world.store.claimed(&id("s"))).await;
    let before = last(&world);
    let mut watch = world.engine.subscribe(&id("s"), &me(), None);
    assert_eq!(watch.cursor(), None);
    let waiting = tokio::spawn(async move {
        let first = watch.next().await.unwrap();
        (first, watch)
    });
    until(|| Handle::current().metrics().num_alive_tasks() == 2).await;
    turn(&world).await;
    let (first, mut watch) = soon(waiting).await.unwrap();
    let Event::Fact(first) = first else { panic!("{first:?} is no fact") };
    assert_eq!(first.seq, Seq(before + 1));
    assert_eq!(watch.cursor(), Some(Seq(before + 1)));
    up_to(&mut watch, last(&world)).await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_hears_what_another_engine_appends() {
    let world = answering(FaultyStore::new());
    turn(&world).await;
    until(|| !world.store.claimed(&id("s"))).await;
    let mut watch = world.engine.subscribe(&id("s"), &me(), Some(Seq::ZERO));
    up_to(&mut watch, last(&world)).await;
    // One here that is idle and held, and does not know yet that it was superseded.
    let held = world.open("s").await;
    held.flush().await.unwrap();
    let other = answering(world.store.clone());
    for _ in 0..3 {
        let before = last(&world);
        turn(&other).await;
        let (facts, _, _) = up_to(&mut watch, last(&world)).await;
        assert_eq!(facts, world.log()[usize::try_from(before).unwrap()..]);
    }
    assert!(held.send(hello()).await.is_err(), "it was superseded");
    let before = last(&world);
    turn(&world).await;
    let (facts, _, _) = up_to(&mut watch, last(&world)).await;
    assert_eq!(facts, world.log()[usize::try_from(before).unwrap()..]);
}

#[tokio::test(start_paused = true)]
async fn a_cursor_that_the_log_does_not_have_is_refused_and_stalls_nobody() {
    let world = answering(FaultyStore::new());
    turn(&world).await;
    until(|| !world.store.claimed(&id("s"))).await;
    let before = last(&world);
    let mut beyond = world.engine.subscribe(&id("s"), &me(), Some(Seq(before + 1)));
    for _ in 0..2 {
        let refused = soon(beyond.next()).await.unwrap_err();
        assert_eq!(refused.kind, StoreErrorKind::Invalid, "{refused}");
    }
    let mut watch = world.engine.subscribe(&id("s"), &me(), Some(Seq(before)));
    turn(&world).await;
    up_to(&mut watch, last(&world)).await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_another_tenant_sees_no_session() {
    let gate = Gate::new();
    let world = World::new([say("there"), say("again").head_after(&gate)], []);
    let conversation = world.open("s").await;
    let other = Scope::Principal {
        tenant: "other".to_owned(),
        principal: "tester".to_owned(),
        claims: std::collections::BTreeMap::new(),
    };
    // Before the first fact is durable, while a driver is here, and after it.
    let mut early = world.engine.subscribe(&id("s"), &other, Some(Seq::ZERO));
    conversation.flush().await.unwrap();
    let input = conversation.send(hello()).await.unwrap();
    soon(conversation.outcome(input)).await.unwrap();
    let mut watches = vec![soon(early.next()).await.unwrap_err()];
    conversation.send(hello()).await.unwrap();
    gate.reached().await;
    for after in [None, Some(Seq::ZERO), Some(Seq(2)), Some(Seq(9_999))] {
        let mut watch = world.engine.subscribe(&id("s"), &other, after);
        watches.push(soon(watch.begin()).await.unwrap_err());
        watches.push(soon(watch.next()).await.unwrap_err());
    }
    gate.open();
    let mut nobodys = world.engine.subscribe(&id("t"), &other, None);
    let unknown = soon(nobodys.next()).await.unwrap_err();
    for refused in watches {
        assert_eq!(refused.kind, StoreErrorKind::Unknown, "{refused}");
    }
    assert_eq!(unknown.kind, StoreErrorKind::Unknown);
    let mut own = world.engine.subscribe(&id("s"), &me(), Some(Seq::ZERO));
    assert!(matches!(soon(own.next()).await.unwrap(), Event::Fact(_)));
    let system = Scope::system("maintenance");
    let mut operators = world.engine.subscribe(&id("s"), &system, Some(Seq::ZERO));
    assert!(matches!(soon(operators.next()).await.unwrap(), Event::Fact(_)));
}

#[tokio::test(start_paused = true)]
async fn the_texts_of_a_watch_are_those_of_the_log_and_shared() {
    // The model says nothing meanwhile, so that nobody lags.
    let gate = Gate::new();
    let world = World::new([say("there").head_after(&gate)], []);
    let conversation = world.open("s").await;
    conversation.flush().await.unwrap();
    let (mut one, mut two) = (
        world.engine.subscribe(&id("s"), &me(), None),
        world.engine.subscribe(&id("s"), &me(), None),
    );
    let input = conversation.send(hello()).await.unwrap();
    let watching = async |watch: &mut EventStream| {
        loop {
            if let Event::Fact(fact) = soon(watch.next()).await.unwrap()
                && let Fact::InputQueued(_) = &fact.fact
            {
                return fact;
            }
        }
    };
    let (one, two) = (watching(&mut one).await, watching(&mut two).await);
    let (text, other) = (Event::Fact(one.clone()), Event::Fact(two));
    let (text, other) = (text.json().unwrap(), other.json().unwrap());
    assert_eq!(text, [codec::encode(&one).unwrap()]);
    assert_eq!(text[0].as_ptr(), other[0].as_ptr());
    gate.open();
    soon(conversation.outcome(input)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn whose_a_session_is_is_looked_up_from_its_first_fact_and_once() {
    let reads = Arc::new(std::sync::Mutex::new((0, 0)));
    let counts = reads.clone();
    let store = FaultyStore::responding(move |operation, number| {
        let mut counts = counts.lock().unwrap();
        match operation {
            Operation::Read => counts.0 = number,
            Operation::Claim => counts.1 = number,
            _ => {}
        }
        Vec::new()
    });
    let world = answering(store);
    let unknown = world.engine.lookup(&id("s"), &me()).await;
    assert!(matches!(unknown, Err(StartError::Unknown(_))), "{unknown:?}");
    turn(&world).await;
    let before = *reads.lock().unwrap();
    for _ in 0..3 {
        let looked = world.engine.lookup(&id("s"), &me()).await.unwrap();
        assert_eq!((*looked.owner).clone(), me());
        assert_eq!(*looked.first, world.log()[0]);
        assert!(looked.opened().is_some());
    }
    let other = Scope::Principal {
        tenant: "other".to_owned(),
        principal: "tester".to_owned(),
        claims: std::collections::BTreeMap::new(),
    };
    let unseen = world.engine.lookup(&id("s"), &other).await;
    assert!(matches!(unseen, Err(StartError::Unknown(_))), "{unseen:?}");
    assert_eq!(*reads.lock().unwrap(), (before.0 + 1, before.1), "read once");
    // After a minute, or once it was forgotten, it is read again.
    tokio::time::sleep(Duration::from_secs(61)).await;
    world.engine.lookup(&id("s"), &me()).await.unwrap();
    world.engine.forget(&id("s"));
    world.engine.lookup(&id("s"), &me()).await.unwrap();
    assert_eq!(*reads.lock().unwrap(), (before.0 + 3, before.1));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_begins_when_a_driver_has_left_receives_what_that_published() {
    let world = answering(FaultyStore::new());
    turn(&world).await;
    let before = last(&world);
    // Its follower begins here, and publishes nothing that a driver in this engine publishes.
    let mut first = world.engine.subscribe(&id("s"), &me(), Some(Seq(before)));
    let silent = tokio::time::timeout(Duration::from_millis(100), first.next()).await;
    assert!(silent.is_err(), "{silent:?}");
    turn(&world).await;
    up_to(&mut first, last(&world)).await;
    let mut second = world.engine.subscribe(&id("s"), &me(), Some(Seq(before)));
    let (facts, _, _) = up_to(&mut second, last(&world)).await;
    assert_eq!(facts.first().map(|fact| fact.seq), Some(Seq(before + 1)));
}
