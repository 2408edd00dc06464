//! What is larger than a fact may be never reaches the store, and ends nothing.

use serde_json::json;
use windlass_engine::SendError;
use windlass_engine::core::{EffectClass, FailureKind, TurnOutcome, Widening};
use windlass_engine::ports::LogStore as _;
use windlass_testkit::provider::{call, say};
use windlass_testkit::tools::ScriptedTool;

use crate::world::{World, hello, me, soon};

#[tokio::test(start_paused = true)]
async fn an_input_is_refused_and_the_session_goes_on() {
    let world = World::new([say("there")], []);
    let max = world.store.capabilities().max_fact_bytes;
    let conversation = world.open("s").await;
    for text in ["x".repeat(max), "\u{1}".repeat(max / 5)] {
        let refused = conversation.send(hello().with(|it| it.text = text)).await;
        assert!(matches!(refused, Err(SendError::TooLarge(_))), "{refused:?}");
    }
    let fits = hello().with(|it| it.text = "x".repeat(max / 2));
    let input = conversation.send(fits).await.unwrap();
    assert_eq!(soon(conversation.outcome(input)).await.unwrap().answer, "there");
}

#[tokio::test(start_paused = true)]
async fn settings_are_refused_and_the_session_goes_on() {
    let world = World::new([say("there")], []);
    let max = world.store.capabilities().max_fact_bytes;
    let conversation = world.open("s").await;
    let mut settings = (*conversation.state().await.unwrap().settings).clone();
    settings.instructions = "x".repeat(max);
    let refused = conversation.configure(settings, me(), Widening::Forbidden);
    let refused = refused.await;
    assert!(matches!(refused, Err(SendError::Settings(_))), "{refused:?}");
    assert_eq!(world.turn().await.0.answer, "there");
}

#[tokio::test(start_paused = true)]
async fn an_output_keeps_its_head_and_its_tail() {
    let output = format!("head{}tail", "\u{1}".repeat(5_000_000));
    let tool = ScriptedTool::new("flood", EffectClass::Effectful).says(output.clone());
    let world = World::new([call("flood", json!({})), say("much")], [tool]);
    assert_eq!(world.turn().await.0.answer, "much");
    let (_, kept) = world.observation();
    assert!(kept.output.starts_with("head") && kept.output.ends_with("tail"));
    assert_eq!(kept.output_bytes, output.len() as u64);
    assert!(kept.omitted_bytes > 0);
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_a_failure_on_record() {
    let world = World::new([say("\u{1}".repeat(3_000_000))], []);
    let (report, _) = world.turn().await;
    let kind = FailureKind::TooLarge;
    assert!(matches!(report.outcome, TurnOutcome::Failed { failure, .. } if failure == kind));
}
