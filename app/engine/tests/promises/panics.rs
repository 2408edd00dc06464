//! An adapter that panics ends in an outcome on record, or in a plain word; never in silence.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use windlass_engine::core::{EffectClass, ObservationStatus, StreamEvent, TurnOutcome};
use windlass_engine::ports::{
    Provider, ProviderCapabilities, ProviderError, SampleRequest, SampleStream, StreamState,
};
use windlass_engine::{DriverEnd, SendError, StartError};
use windlass_testkit::faulty::{FaultyStore, Operation};
use windlass_testkit::provider::{ScriptedProvider, call, say};
use windlass_testkit::tools::{ScriptedTool, ScriptedTools};

use crate::world::{World, failure, hello, id, me, soon};

/// A provider that panics when it is asked, or while it streams.
struct Broken {
    streaming: bool,
}

#[async_trait]
impl Provider for Broken {
    fn name(&self) -> &str {
        "broken"
    }

    fn capabilities(&self) -> ProviderCapabilities {
        ProviderCapabilities::default().with_tools()
    }

    async fn sample(&self, _: SampleRequest) -> Result<Box<dyn SampleStream>, ProviderError> {
        assert!(self.streaming, "a panic on purpose");
        Ok(Box::new(Self { streaming: true }))
    }
}

#[async_trait]
impl SampleStream for Broken {
    async fn next(&mut self, _: &mut Vec<StreamEvent>) -> Result<StreamState, ProviderError> {
        panic!("a panic on purpose");
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_provider() {
    for streaming in [false, true] {
        let tools = Arc::new(ScriptedTools::new([]));
        let world = World::over(FaultyStore::new(), Arc::new(Broken { streaming }), tools);
        let (report, _) = world.turn().await;
        let said = failure(&report);
        assert!(said.starts_with("Protocol: the provider adapter panicked"), "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_tool() {
    for (effect, status) in [
        (EffectClass::ReadOnly, ObservationStatus::Failed),
        (EffectClass::Idempotent, ObservationStatus::Unknown),
        (EffectClass::Effectful, ObservationStatus::Unknown),
    ] {
        let tool = ScriptedTool::new("bad", effect).runs(|_, _| panic!("a panic on purpose"));
        let world = World::new([call("bad", json!({})), say("so be it")], [tool]);
        let (report, _) = world.turn().await;
        assert_eq!(report.outcome, TurnOutcome::Completed);
        assert_eq!(world.observation().1.status, status);
    }
}

fn over(broken: Operation, at: usize) -> World {
    let store = FaultyStore::responding(move |operation, number| {
        assert!((operation, number) != (broken, at), "a panic on purpose");
        Vec::new()
    });
    let provider = Arc::new(ScriptedProvider::new([say("there")]));
    World::over(store, provider, Arc::new(ScriptedTools::new([])))
}

#[tokio::test(start_paused = true)]
async fn of_a_store_that_appends() {
    let world = over(Operation::Append, 1);
    let conversation = world.open("s").await;
    let refused = soon(conversation.send(hello())).await;
    let Err(SendError::Ended(ended)) = refused else { panic!("{refused:?}") };
    assert!(matches!(&*ended, DriverEnd::Defect(_)), "{ended:?}");
    assert!(!world.store.claimed(&id("s")));
    // The engine goes on, and so does the session.
    let (report, _) = world.turn().await;
    assert_eq!(report.answer, "there");
}

#[tokio::test(start_paused = true)]
async fn of_a_store_that_claims_or_releases() {
    let world = over(Operation::Claim, 1);
    let refused = soon(world.engine.open(&id("s"), &me(), world.start())).await;
    assert!(matches!(refused, Err(StartError::Store(_))));
    assert_eq!(world.turn().await.0.answer, "there");

    let world = over(Operation::Release, 1);
    let conversation = world.open("s").await;
    soon(conversation.close()).await;
    assert_eq!(world.turn().await.0.answer, "there");
}
