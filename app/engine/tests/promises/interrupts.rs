//! An interruption is bounded: by the grace, whatever a tool does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use serde_json::json;
use windlass_engine::core::{
    EffectClass, InterruptSource, Observation, ObservationStatus, StopTiming, ToolSpec, TurnOutcome,
};
use windlass_engine::ports::{ToolCall, ToolContext, ToolError, ToolExecutor};
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::provider::{ScriptedProvider, call, say};
use windlass_testkit::tools::ScriptedTool;

use crate::world::{World, hello, me, ms, soon, until};

/// A tool that hears nothing and never ends.
pub(crate) struct Deaf {
    spec: ToolSpec,
    pub(crate) runs: AtomicU32,
    pub(crate) dropped: AtomicU32,
}

impl Deaf {
    pub(crate) fn new(effect: EffectClass) -> Arc<Self> {
        Arc::new(Self {
            spec: ScriptedTool::new("deaf", effect).spec().clone(),
            runs: AtomicU32::new(0),
            dropped: AtomicU32::new(0),
        })
    }

    pub(crate) fn world(self: &Arc<Self>) -> World {
        let provider = ScriptedProvider::responding(|request| match request.prompt.items.len() {
            1 => call("deaf", json!({})),
            _ => say("so be it"),
        });
        World::over(FaultyStore::new(), Arc::new(provider), self.clone())
    }
}

struct Dropped<'a>(&'a AtomicU32);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl ToolExecutor for Deaf {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![self.spec.clone()]
    }

    async fn run(&self, _: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        let _dropped = Dropped(&self.dropped);
        self.runs.fetch_add(1, Ordering::SeqCst);
        std::future::pending::<()>().await;
        let _ = context;
        Ok(Observation::new(ObservationStatus::Done, ""))
    }
}

async fn interrupted(effect: EffectClass) -> Observation {
    let deaf = Deaf::new(effect);
    let world = deaf.world();
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    until(|| deaf.runs.load(Ordering::SeqCst) == 1).await;
    let at = tokio::time::Instant::now();
    conversation.interrupt(InterruptSource::Person, me(), "enough", StopTiming::Now).await.unwrap();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(at.elapsed(), ms(700), "the grace, no less and no more");
    assert!(matches!(report.outcome, TurnOutcome::Interrupted { .. }));
    until(|| deaf.dropped.load(Ordering::SeqCst) == 1).await;
    world.observation().1
}

#[tokio::test(start_paused = true)]
async fn a_deaf_tool_that_changes_something_is_unknown_after_the_grace() {
    for effect in [EffectClass::Effectful, EffectClass::Idempotent] {
        assert_eq!(interrupted(effect).await.status, ObservationStatus::Unknown);
    }
}

#[tokio::test(start_paused = true)]
async fn a_deaf_tool_that_changes_nothing_is_aborted_after_the_grace() {
    let observation = interrupted(EffectClass::ReadOnly).await;
    assert_eq!(observation.status, ObservationStatus::Aborted);
}

#[tokio::test(start_paused = true)]
async fn a_deaf_tool_whose_time_is_up_is_given_up() {
    let deaf = Deaf::new(EffectClass::Effectful);
    let world = deaf.world();
    let (report, took) = world.turn().await;
    assert_eq!((report.outcome, took), (TurnOutcome::Completed, ms(5_700)));
    assert_eq!(world.observation().1.status, ObservationStatus::Unknown);
    assert_eq!(deaf.dropped.load(Ordering::SeqCst), 1);
}
