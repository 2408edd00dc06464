//! Processes that outlive their calls: they hold their session, and end before its claim does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use serde_json::json;
use tokio::sync::watch;
use windlass_engine::Toolbox;
use windlass_engine::core::{
    CallId, EffectClass, Observation, ObservationStatus, SessionId, ToolSpec,
};
use windlass_engine::ports::{
    ToolCall, ToolContext, ToolError, ToolExecutor, ToolProcess, ToolProcessState,
};
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::provider::{ScriptedProvider, call, say};

use crate::world::{Cast, World, id, ms, until};

/// A tool whose calls leave a process.
struct Starter {
    running: watch::Sender<Option<CallId>>,
    store: FaultyStore,
    /// How many processes were ended by a release of the claimed session.
    ended: AtomicU32,
}

#[async_trait]
impl ToolExecutor for Starter {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![ToolSpec::new("start", EffectClass::Effectful)]
    }

    async fn run(&self, _: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        self.running.send_replace(Some(context.call));
        Ok(Observation::new(ObservationStatus::Done, "it runs"))
    }

    fn processes(&self, _: &SessionId) -> Vec<ToolProcess> {
        let process = |id| ToolProcess {
            id,
            command: String::from("start"),
            state: ToolProcessState::Running,
            age_ms: 0,
            unread_bytes: 0,
        };
        self.running.borrow().map(process).into_iter().collect()
    }

    async fn wait_processes(&self, _: &SessionId) {
        let _ = self.running.subscribe().wait_for(Option::is_none).await;
    }

    async fn stop_process(&self, _: &SessionId, process: CallId) -> Result<bool, ToolError> {
        Ok(self.running.send_if_modified(|running| running.take_if(|id| *id == process).is_some()))
    }

    async fn release(&self, session: &SessionId) {
        let ended = self.running.send_replace(None).is_some() && self.store.claimed(session);
        self.ended.fetch_add(u32::from(ended), Ordering::SeqCst);
    }
}

/// A world whose turn has left a process, and whose session has no user.
async fn left() -> (World, Arc<Starter>) {
    let store = FaultyStore::new();
    let (running, ended) = (watch::Sender::new(None), AtomicU32::new(0));
    let starter = Arc::new(Starter { running, store: store.clone(), ended });
    let provider = ScriptedProvider::responding(|request| match request.prompt.items.len() {
        0..=2 => call("start", json!({})),
        _ => say("it runs"),
    });
    let cast = Cast {
        provider: Arc::new(provider),
        tools: Arc::new(Toolbox::new().with(starter.clone()).unwrap()),
        ..Cast::new([], [])
    };
    let world = World::of(store, cast);
    world.turn().await;
    tokio::time::sleep(ms(60_000)).await;
    assert!(world.store.claimed(&id("s")), "the process holds it");
    (world, starter)
}

#[tokio::test(start_paused = true)]
async fn a_process_holds_its_session_until_it_ends() {
    let (world, starter) = left().await;
    let listed = world.engine.processes(&id("s"));
    let process = listed[0].id;
    assert!(!world.engine.stop_process(&id("s"), CallId(process.0 + 1)).await.unwrap());
    assert!(world.engine.stop_process(&id("s"), process).await.unwrap());
    until(|| !world.store.claimed(&id("s"))).await;
    assert_eq!(starter.ended.load(Ordering::SeqCst), 0, "it had ended by itself");
}

#[tokio::test(start_paused = true)]
async fn a_process_ends_before_the_claim_at_a_shutdown() {
    let (world, starter) = left().await;
    assert_eq!(world.engine.shutdown("the test ends").await, []);
    assert_eq!(starter.ended.load(Ordering::SeqCst), 1);
    assert!(!world.store.claimed(&id("s")));
}

#[tokio::test(start_paused = true)]
async fn a_process_ends_with_a_hand_off_and_with_an_abandoned_driver() {
    let (world, starter) = left().await;
    assert_eq!(world.engine.hand_off_session(&id("s"), 0, "moves").await.at_rest, 1);
    assert_eq!(starter.ended.load(Ordering::SeqCst), 1);
    let (world, starter) = left().await;
    assert_eq!(world.engine.abandon(), [id("s")]);
    until(|| starter.running.borrow().is_none()).await;
}
