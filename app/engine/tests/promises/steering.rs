//! Steering: the user speaks while the model does; what it said stays, and the turn goes on.

use serde_json::json;
use windlass_engine::core::{
    Delivery, EffectClass, Fact, FailureKind, PromptItem, Retained, StopTiming, StreamEvent,
    TurnOutcome,
};
use windlass_engine::{Event, NewInput, SessionHandle};
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::provider::{ScriptedProvider, Step, say};
use windlass_testkit::tools::{CounterTool, ScriptedTools};
use windlass_testkit::{Answer, Gate};

use crate::world::{Cast, World, hello, me, soon, until};

fn over(provider: &ScriptedProvider, counter: &CounterTool) -> World {
    let cast = Cast {
        provider: std::sync::Arc::new(provider.clone()),
        tools: std::sync::Arc::new(ScriptedTools::new([counter.tool()])),
        ..Cast::new([], [])
    };
    World::of(FaultyStore::new(), cast)
}

fn counter() -> CounterTool {
    CounterTool::new("pay", EffectClass::Effectful)
}

/// An answer whose first words stream, and whose rest waits.
fn half(words: &str, gate: &Gate) -> Step {
    let text = words.to_owned();
    Step::default().batch([StreamEvent::Text { slot: 0, text }]).then_gate(gate)
}

async fn heard(conversation: &SessionHandle, gate: &Gate) {
    soon(gate.reached()).await;
    conversation.flush().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn words_that_stream_give_way_and_stay() {
    let gate = Gate::new();
    let provider = ScriptedProvider::new([half("I was about to", &gate), say("as you wish")]);
    let world = over(&provider, &counter());
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    heard(&conversation, &gate).await;
    let steer = conversation.steer(NewInput::new(me(), "stop that")).await.unwrap();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!((report.outcome, &*report.answer), (TurnOutcome::Completed, "as you wish"));
    assert!(!gate.is_open(), "it did not wait for the model");

    let cut = world.picked(|fact| match fact {
        Fact::SampleCut(cut) => Some(cut.clone()),
        _ => None,
    });
    let [cut] = &*cut else { panic!("{cut:?}") };
    assert_eq!((cut.retained, cut.failure.kind), (Retained::Text, FailureKind::Steered));
    assert_eq!(cut.partial, "I was about to");
    let prompts = provider.prompts();
    let items: Vec<&PromptItem> = prompts[1].items.iter().collect();
    let [.., PromptItem::Text { text, .. }, PromptItem::User { text: said }] = &*items else {
        panic!("{items:?}")
    };
    assert!(text.starts_with("I was about to"), "{text}");
    assert_eq!(&**said, "stop that");

    // The same turn heard both, and both are told so.
    let other = soon(conversation.outcome(steer)).await.unwrap();
    assert_eq!(other.turn, report.turn);
    assert_eq!(other.answer, "as you wish");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_calls_runs_to_its_end_first() {
    let gate = Gate::new();
    let mut events = Answer::new().call("pay", json!({})).events();
    let end = events.split_off(events.len() - 2);
    let calling = Step::default().batch(events).then_gate(&gate).batch(end);
    let provider = ScriptedProvider::new([calling, say("as you wish")]);
    let counter = counter();
    let world = over(&provider, &counter);
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    heard(&conversation, &gate).await;
    conversation.steer(NewInput::new(me(), "and more")).await.unwrap();
    tokio::time::sleep(crate::world::ms(50)).await;
    assert_eq!(provider.asked().len(), 1, "it waits for the call");
    gate.open();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    assert_eq!(counter.total(), 1);
    let kinds = world.kinds();
    assert!(!kinds.contains(&"SampleCut"), "{kinds:?}");
    let last = provider.prompts()[1].items.last().cloned();
    let said = "and more".into();
    assert_eq!(last, Some(PromptItem::User { text: said }));
}

#[tokio::test(start_paused = true)]
async fn a_steer_that_comes_before_the_model_answers_asks_it_anew() {
    let gate = Gate::new();
    let script = [say("never").head_after(&gate), say("as you wish")];
    let provider = ScriptedProvider::new(script);
    let world = over(&provider, &counter());
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    heard(&conversation, &gate).await;
    conversation.steer(NewInput::new(me(), "wait")).await.unwrap();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.answer, "as you wish");
    assert_eq!(provider.prompts()[1].items.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_follow_up_comes_before_those_that_wait() {
    let gate = Gate::new();
    let script = [say("one").end_after(&gate), say("two"), say("three")];
    let provider = ScriptedProvider::new(script);
    let world = over(&provider, &counter());
    let conversation = world.open("s").await;
    conversation.send(hello()).await.unwrap();
    heard(&conversation, &gate).await;
    let waits = conversation.send(NewInput::new(me(), "later")).await.unwrap();
    let next =
        conversation.send(NewInput::new(me(), "next").with(|it| it.delivery = Delivery::FollowUp));
    let next = next.await.unwrap();
    gate.open();
    let (next, waits) = (
        soon(conversation.outcome(next)).await.unwrap(),
        soon(conversation.outcome(waits)).await.unwrap(),
    );
    assert_eq!((&*next.answer, &*waits.answer), ("two", "three"));
}

#[tokio::test(start_paused = true)]
async fn a_drain_lets_each_turn_end_its_step() {
    let gate = Gate::new();
    let step = Step::from(Answer::new().call("pay", json!({}))).end_after(&gate);
    let provider = ScriptedProvider::new([step]);
    let counter = counter();
    let world = over(&provider, &counter);
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    heard(&conversation, &gate).await;
    let engine = world.engine.clone();
    let draining = tokio::spawn(async move { engine.drain(60_000, "a new version").await });
    until(|| world.kinds().contains(&"InterruptRequested")).await;
    gate.open();
    assert_eq!(soon(draining).await.unwrap(), []);
    assert_eq!(counter.total(), 1, "the step was done");
    let report = soon(conversation.outcome(input)).await.unwrap();
    let TurnOutcome::Interrupted { reason, .. } = &report.outcome else { panic!("{report:?}") };
    assert_eq!(reason, "a new version");
    assert_eq!(provider.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_takes_too_long_is_a_shutdown() {
    let gate = Gate::new();
    let provider = ScriptedProvider::new([half("for ever", &gate)]);
    let world = over(&provider, &counter());
    let conversation = world.open("s").await;
    conversation.send(hello()).await.unwrap();
    heard(&conversation, &gate).await;
    let at = tokio::time::Instant::now();
    let left = soon(world.engine.drain(900, "a new version")).await;
    assert_eq!((left, at.elapsed()), (Vec::new(), crate::world::ms(900)));
    let whens = world.picked(|fact| match fact {
        Fact::InterruptRequested(fact) => Some(fact.when),
        _ => None,
    });
    assert_eq!(whens, [StopTiming::AfterStep, StopTiming::Now]);
    // The conversation sees its end.
    let mut events = conversation.subscribe(None);
    assert!(matches!(soon(events.next()).await.unwrap(), Event::Ended(_)));
}
