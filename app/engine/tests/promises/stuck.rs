//! A store that does not answer: nothing starts that changes anything, an interrupt is obeyed,
//! and a shutdown ends.

use std::sync::Arc;

use serde_json::json;
use tokio::time::Instant;
use windlass_engine::core::{
    EffectClass, Fact, InterruptSource, ObservationStatus, StopTiming, TurnOutcome,
};
use windlass_engine::{DriverEnd, Event};
use windlass_testkit::Gate;
use windlass_testkit::faulty::{Fault, FaultyStore, Operation};
use windlass_testkit::provider::{ScriptedProvider, call, say};
use windlass_testkit::tools::{CounterTool, RunEnded, ScriptedTool, ScriptedTools};

use crate::world::{World, hello, id, me, ms, soon, until};

/// A store whose appends wait at this gate from number `from` on.
fn stuck(from: usize, gate: &Gate) -> FaultyStore {
    let gate = gate.clone();
    FaultyStore::responding(move |operation, number| match operation {
        Operation::Append if number >= from => vec![Fault::Wait(gate.clone())],
        _ => Vec::new(),
    })
}

#[tokio::test(start_paused = true)]
async fn an_effect_waits_for_its_start_to_be_durable() {
    let (gate, answers) = (Gate::new(), Gate::new());
    let counter = CounterTool::new("pay", EffectClass::Effectful);
    let tools = Arc::new(ScriptedTools::new([counter.tool()]));
    let script = [call("pay", json!({})).head_after(&answers), say("paid")];
    // The opening, then the input; what the model asks for is the third.
    let store = stuck(3, &gate);
    let world = World::over(store, Arc::new(ScriptedProvider::new(script)), tools.clone());
    let conversation = world.open("s").await;
    conversation.flush().await.unwrap();
    let input = soon(conversation.send(hello())).await.unwrap();
    answers.open();
    soon(gate.reached()).await;
    tokio::time::sleep(ms(60_000)).await;
    assert_eq!(tools.runs(), [], "its start is not durable");
    gate.open();
    assert_eq!(soon(conversation.outcome(input)).await.unwrap().answer, "paid");
    assert_eq!(counter.total(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_is_obeyed_before_it_is_durable() {
    let gate = Gate::new();
    let tools =
        Arc::new(ScriptedTools::new([ScriptedTool::new("wait", EffectClass::Effectful).stalls()]));
    let provider = ScriptedProvider::new([call("wait", json!({}))]);
    // One append for the opening and the input, one for the call and its start.
    let waits = gate.clone();
    let watched = tools.clone();
    let store = FaultyStore::responding(move |operation, _| match operation {
        Operation::Append if watched.running() > 0 => vec![Fault::Wait(waits.clone())],
        _ => Vec::new(),
    });
    let world = World::over(store, Arc::new(provider), tools.clone());
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    tools.wait_runs(1).await;
    let asking = conversation.clone();
    let asked = tokio::spawn(async move {
        asking.interrupt(InterruptSource::Person, me(), "enough", StopTiming::Now).await
    });
    let ended = soon(tools.ended(0)).await;
    assert_eq!(ended, RunEnded::Observed(ObservationStatus::Aborted));
    tokio::time::sleep(ms(60_000)).await;
    assert!(!asked.is_finished(), "it is not durable, so it is not acknowledged");
    gate.open();
    soon(asked).await.unwrap().unwrap();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert!(matches!(report.outcome, TurnOutcome::Interrupted { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_and_names_what_did_not_come_to_rest() {
    let world = {
        let provider = Arc::new(ScriptedProvider::responding(|_| say("there")));
        let tools = Arc::new(ScriptedTools::new([]));
        World::over(stuck(3, &Gate::new()), provider, tools)
    };
    let conversation = world.open("s").await;
    let fine = world.open("fine").await;
    conversation.flush().await.unwrap();
    fine.flush().await.unwrap();
    let sending = conversation.clone();
    let sent = tokio::spawn(async move { sending.send(hello()).await });
    let mut events = conversation.subscribe(None);
    until(|| world.store.appends() == 3).await;
    let at = Instant::now();
    let left = soon(world.engine.shutdown("the end")).await;
    assert_eq!((left, at.elapsed()), (vec![id("s")], ms(30_000)));
    assert!(soon(sent).await.unwrap().is_err(), "nothing was acknowledged");
    let ended = loop {
        match soon(events.next()).await.unwrap() {
            Event::Ended(ended) => break ended,
            // The model may be asked before it is durable that it was; nothing else may happen.
            Event::Live(_) => {}
            other => panic!("{other:?} was published"),
        }
    };
    assert!(matches!(&*ended, DriverEnd::Abandoned), "{ended:?}");
    assert!(soon(Box::pin(conversation.state())).await.is_err());
    let facts = world.log();
    assert!(facts.iter().all(|one| !matches!(one.fact, Fact::InputQueued(_))));
}

#[tokio::test(start_paused = true)]
async fn callers_who_go_away_leave_nothing_behind() {
    let gate = Gate::new();
    let provider = Arc::new(ScriptedProvider::responding(|_| say("there")));
    let tools = Arc::new(ScriptedTools::new([]));
    let world = World::over(stuck(2, &gate), provider, tools);
    let conversation = world.open("s").await;
    let keyed = || hello().with(|it| it.key = Some("k".into()));
    conversation.flush().await.unwrap();
    for _ in 0..2_000 {
        let tried = tokio::time::timeout(ms(1), conversation.send(keyed())).await;
        assert!(tried.is_err(), "it cannot be acknowledged");
        let tried = tokio::time::timeout(ms(1), conversation.flush()).await;
        assert!(tried.is_err(), "nothing is durable");
    }
    gate.open();
    let input = soon(conversation.send(keyed())).await.unwrap();
    soon(conversation.outcome(input)).await.unwrap();
    let queued =
        |one: &&windlass_engine::core::RecordedFact| matches!(one.fact, Fact::InputQueued(_));
    assert_eq!(world.log().iter().filter(queued).count(), 1);
}
