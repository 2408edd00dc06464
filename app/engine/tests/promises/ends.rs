//! How drivers end: when nobody needs them, at a shutdown, with their runtime; and what is left.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::json;
use tokio::runtime::{Builder, Handle};
use tokio::time::{Instant, timeout};
use windlass_engine::core::{EffectClass, Fact, InterruptSource, StopTiming, TurnOutcome};
use windlass_engine::ports::StoreErrorKind;
use windlass_engine::{DriverEnd, Event, SendError, StartError};
use windlass_testkit::Gate;
use windlass_testkit::faulty::{Fault, FaultyStore, Operation};
use windlass_testkit::provider::{ScriptedProvider, call, say};
use windlass_testkit::tools::{ScriptedTool, ScriptedTools};

use crate::interrupts::Deaf;
use crate::world::{World, hello, id, me, ms, soon, until};

fn answering(store: FaultyStore) -> World {
    let provider = Arc::new(ScriptedProvider::responding(|_| say("there")));
    World::over(store, provider, Arc::new(ScriptedTools::new([])))
}

#[tokio::test(start_paused = true)]
async fn a_thousand_idle_sessions_hold_no_task() {
    let world = answering(FaultyStore::new());
    let mut held = Vec::new();
    for n in 0..1_000 {
        let conversation = world.open(&format!("s{n}")).await;
        let input = conversation.send(hello()).await.unwrap();
        conversation.outcome(input).await.unwrap();
        held.push(conversation);
    }
    let alive = || Handle::current().metrics().num_alive_tasks();
    assert!(alive() >= 1_000, "each has its driver while it is held");
    drop(held);
    until(|| alive() == 0).await;
    for n in 0..1_000 {
        assert!(!world.store.claimed(&id(&format!("s{n}"))), "s{n} is let go");
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_goes_on_when_its_conversation_is_dropped() {
    let gate = Gate::new();
    let world = World::new([say("there").end_after(&gate)], []);
    let conversation = world.open("s").await;
    conversation.send(hello()).await.unwrap();
    drop(conversation);
    gate.reached().await;
    gate.open();
    until(|| !world.store.claimed(&id("s"))).await;
    let log = world.log();
    assert!(matches!(log.last().unwrap().fact, Fact::TurnSettled(_)));
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_a_driver_that_has_ended_is_told_so() {
    let world = answering(FaultyStore::new());
    let conversation = world.open("s").await;
    conversation.close().await;
    let closed = |ended: &DriverEnd| matches!(ended, DriverEnd::Closed);
    let state = soon(Box::pin(conversation.state())).await;
    assert!(matches!(state, Err(SendError::Ended(ended)) if closed(&ended)));
    assert!(closed(&soon(conversation.flush()).await.unwrap_err()));
    let refused = soon(conversation.send(hello())).await;
    assert!(matches!(refused, Err(SendError::Ended(ended)) if closed(&ended)));
    soon(conversation.close()).await;
}

#[tokio::test(start_paused = true)]
async fn users_of_a_driver_that_has_ended_do_not_hold_the_next() {
    let world = answering(FaultyStore::new());
    let old = world.open("s").await;
    let other = old.clone();
    old.close().await;
    let new = world.open("s").await;
    assert!(world.store.claimed(&id("s")));
    drop(new);
    until(|| !world.store.claimed(&id("s"))).await;
    drop((old, other));
    // And their leaving takes nothing from a driver after that.
    let next = world.open("s").await;
    assert!(next.flush().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn while_it_closes_a_session_takes_nothing_more_and_can_be_interrupted() {
    let world = World::new([say("late").head_after(&Gate::new())], []);
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    let closer = conversation.clone();
    let closing = tokio::spawn(async move { closer.close().await });
    tokio::task::yield_now().await;
    let attached = world.open("s").await;
    let refused = attached.send(hello()).await;
    assert!(matches!(refused, Err(SendError::Ended(_))), "{refused:?}");
    assert!(!closing.is_finished(), "a turn runs");
    attached.interrupt(InterruptSource::Person, me(), "enough", StopTiming::Now).await.unwrap();
    soon(closing).await.unwrap();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert!(matches!(report.outcome, TurnOutcome::Interrupted { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_asks_all_at_once_and_opens_nothing_more() {
    let deaf = Deaf::new(EffectClass::Effectful);
    let world = deaf.world();
    let mut inputs = Vec::new();
    for n in 0..50 {
        let conversation = world.open(&format!("s{n}")).await;
        let input = conversation.send(hello()).await.unwrap();
        inputs.push((conversation, input));
    }
    until(|| deaf.runs.load(Ordering::SeqCst) == 50).await;
    let at = Instant::now();
    let left = soon(world.engine.shutdown("the end")).await;
    assert_eq!(left, []);
    assert_eq!(at.elapsed(), ms(700), "one grace for all");
    for (conversation, input) in inputs {
        let report = soon(conversation.outcome(input)).await.unwrap();
        let by = InterruptSource::Shutdown;
        assert!(matches!(report.outcome, TurnOutcome::Interrupted { by: who, .. } if who == by));
        let refused = world.engine.open(conversation.id(), &me(), world.start()).await;
        assert!(matches!(refused, Err(StartError::ShutDown(_))));
    }
    assert_eq!(deaf.dropped.load(Ordering::SeqCst), 50, "nothing runs on");
}

#[test]
fn a_runtime_that_goes_away_leaves_nobody_waiting() {
    let theirs = Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
    let ours = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let (store, gate) = (FaultyStore::new(), Gate::new());
    let asked = gate.clone();
    let (conversation, input, mut events) = theirs.block_on(async {
        let gated = ScriptedProvider::responding(move |_| say("late").head_after(&asked));
        let world = World::over(store.clone(), Arc::new(gated), Arc::new(ScriptedTools::new([])));
        let conversation = world.open("s").await;
        let input = conversation.send(hello()).await.unwrap();
        // The turn goes on meanwhile, up to there and no further.
        gate.reached().await;
        conversation.flush().await.unwrap();
        let events = conversation.subscribe(None);
        (conversation, input, events)
    });
    theirs.shutdown_timeout(ms(60_000));
    ours.block_on(async {
        let Event::Ended(ended) = soon(events.next()).await.unwrap() else {
            panic!("something was published")
        };
        assert!(matches!(&*ended, DriverEnd::Abandoned), "{ended:?}");
        assert!(soon(conversation.send(hello())).await.is_err());
        soon(conversation.close()).await;
        // The session goes on elsewhere.
        let world = answering(store.reopen());
        let again = world.open("s").await;
        let report = soon(again.outcome(input)).await.unwrap();
        assert_eq!(report.answer, "there");
    });
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_goes_away_while_it_opens_leaves_no_claim() {
    let gate = Gate::new();
    let waits = gate.clone();
    let store = FaultyStore::responding(move |operation, number| match (operation, number) {
        (Operation::Claim, 1) => vec![Fault::WaitAfter(waits.clone())],
        _ => Vec::new(),
    });
    let world = answering(store);
    let tried = timeout(ms(5), world.engine.open(&id("s"), &me(), world.start())).await;
    assert!(tried.is_err() && world.store.claimed(&id("s")));
    gate.open();
    until(|| !world.store.claimed(&id("s"))).await;
    assert_eq!(world.turn().await.0.answer, "there");
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_leaves_takes_no_other_with_it() {
    let gate = Gate::new();
    let claims = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (waits, counts) = (gate.clone(), claims.clone());
    let store = FaultyStore::responding(move |operation, number| match (operation, number) {
        (Operation::Release, 1) => vec![Fault::Wait(waits.clone())],
        (Operation::Claim, number) => {
            counts.store(number, Ordering::SeqCst);
            let fails = number == 2;
            fails.then_some(Fault::Fail(StoreErrorKind::Io)).into_iter().collect()
        }
        _ => Vec::new(),
    });
    let world = Arc::new(answering(store));
    drop(world.open("s").await);
    gate.reached().await;
    // The first driver is on its way out, and two wait to open: the first of them fails, and its
    // slot is forgotten; the second takes a new one, before the driver has left the old one.
    let opening = |world: Arc<World>| {
        let opening = async move { world.engine.open(&id("s"), &me(), world.start()).await };
        tokio::spawn(opening)
    };
    let (first, second) = (opening(world.clone()), opening(world.clone()));
    tokio::time::sleep(ms(1)).await;
    gate.open();
    let failed = soon(first).await.unwrap();
    assert!(matches!(failed, Err(StartError::Store(_))));
    let conversation = soon(second).await.unwrap().unwrap();
    tokio::time::sleep(ms(1)).await;
    let same = world.open("s").await;
    assert_eq!(claims.load(Ordering::SeqCst), 3, "it is attached to, not claimed again");
    for one in [conversation, same] {
        assert!(one.flush().await.is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn what_runs_is_told_and_waited_for_before_the_session_is_let_go() {
    let (done, seen) = (Gate::new(), Gate::new());
    let tool = ScriptedTool::new("wait", EffectClass::Effectful).before(&seen);
    let tools = Arc::new(ScriptedTools::new([tool]));
    let runs = tools.clone();
    let store = FaultyStore::responding(move |operation, _| match operation {
        Operation::Append if runs.running() > 0 => vec![Fault::Fail(StoreErrorKind::Full)],
        Operation::Release if runs.running() > 0 => {
            panic!("the session is let go and a tool runs")
        }
        _ => Vec::new(),
    });
    let provider = ScriptedProvider::new([call("wait", json!({})).end_after(&done), say("x")]);
    let world = World::over(store, Arc::new(provider), tools.clone());
    let conversation = world.open("s").await;
    conversation.send(hello()).await.unwrap();
    done.open();
    tools.wait_runs(1).await;
    // The next append fails while the tool runs.
    let refused = soon(conversation.send(hello())).await;
    assert!(
        matches!(&refused, Err(SendError::Ended(ended)) if matches!(&**ended, DriverEnd::Store(_)))
    );
    until(|| !world.store.claimed(&id("s"))).await;
    assert_eq!(tools.running(), 0);
}
