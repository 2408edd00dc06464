//! A store that fails: the driver stops, acknowledges nothing more, and starts nothing that
//! changes anything.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use async_trait::async_trait;
use mockall::mock;
use serde_json::json;
use windlass::core::{
    EffectClass, Epoch, Limits, Lineage, Mode, OpenSession, Permissions, Recorded, RequestOptions,
    Scope, Seq, SessionId, Settings, Timestamp, Window,
};
use windlass::ports::{
    Claimed, Durability, Fencing, LogStore, NoBlobs, NoHooks, NobodyAsked, Ports, SessionFilter,
    SessionHead, StoreCapabilities, StoreError, StoreErrorKind, ToolExecutor as _, Verified,
};
use windlass::{Config, Conversation, Ended, Engine, Event, Send, SendError, Start, StartError};
use windlass_testkit::Gate;
use windlass_testkit::clock::ManualClock;
use windlass_testkit::provider::{ScriptedProvider, call, say};
use windlass_testkit::tools::{CounterTool, ScriptedTools};

mock! {
    Store {
        fn claim(&self) -> Result<Claimed, StoreError>;
        fn release(&self);
        fn append(&self, facts: &[Arc<Recorded>]) -> Result<(), StoreError>;
    }
}

/// The port over the mock. Reading is no part of what is shown here.
#[async_trait]
impl LogStore for MockStore {
    fn capabilities(&self) -> StoreCapabilities {
        StoreCapabilities {
            durability: Durability::Memory,
            max_fact_bytes: 1 << 20,
            fencing: Fencing::Object,
            tail: None,
            erase: false,
            snapshots: None,
        }
    }

    async fn claim(&self, _: &SessionId) -> Result<Claimed, StoreError> {
        Self::claim(self)
    }

    async fn release(&self, _: &SessionId, _: Epoch) -> Result<(), StoreError> {
        Self::release(self);
        Ok(())
    }

    async fn append(
        &self,
        _: &SessionId,
        _: Epoch,
        _: Seq,
        facts: &[Arc<Recorded>],
    ) -> Result<(), StoreError> {
        Self::append(self, facts)
    }

    async fn read(&self, _: &SessionId, _: Seq, _: usize) -> Result<Vec<Recorded>, StoreError> {
        Err(StoreError::new(StoreErrorKind::Io, "not read here"))
    }

    async fn sessions(
        &self,
        _: &SessionFilter,
        _: Option<&SessionId>,
        _: usize,
    ) -> Result<Vec<SessionHead>, StoreError> {
        Err(StoreError::new(StoreErrorKind::Io, "not listed here"))
    }

    async fn verify(&self, _: &SessionId) -> Result<Verified, StoreError> {
        Err(StoreError::new(StoreErrorKind::Io, "not verified here"))
    }
}

/// A store that takes every append until one holds a fact of this kind.
fn failing_at(kind: &'static str, error: fn() -> StoreErrorKind) -> MockStore {
    let mut store = MockStore::new();
    store.expect_claim().returning(|| {
        Ok(Claimed {
            epoch: Epoch(1),
            last: Seq::ZERO,
            repaired: None,
        })
    });
    // Whatever happens, the session is given back, once.
    store.expect_release().times(1).return_const(());
    store.expect_append().returning(move |facts| {
        if facts.iter().any(|fact| fact.fact.kind() == kind) {
            return Err(StoreError::new(error(), format!("no room for {kind}")));
        }
        Ok(())
    });
    store
}

struct World {
    conversation: Conversation,
    counter: CounterTool,
    /// The model answers only after this.
    answers: Gate,
}

impl World {
    /// Sends an input, lets the model answer once the input is durable, and waits for the end.
    async fn run(&self) -> Arc<Ended> {
        let mut events = self.conversation.subscribe(None);
        self.conversation.send(hello()).await.unwrap();
        self.answers.open();
        loop {
            if let Event::Ended(ended) = events.next().await.unwrap() {
                return ended;
            }
        }
    }
}

fn me() -> Scope {
    Scope::local("tester")
}

async fn world(store: MockStore) -> World {
    let counter = CounterTool::new("count", EffectClass::Effectful);
    let tools = Arc::new(ScriptedTools::new([counter.tool()]));
    let settings = Settings {
        provider: "scripted".into(),
        model: "m".into(),
        instructions: String::new(),
        mode: Mode::Build,
        permissions: Permissions::Auto,
        rules: Vec::new(),
        hooks: Vec::new(),
        window: Window::default(),
        price: None,
        tools: tools.tools(),
        limits: Limits::default(),
        max_output_tokens: None,
        effort: None,
        redaction: None,
        base_url: None,
        options: RequestOptions::default(),
    };
    let answers = Gate::new();
    let script = [call("count", json!({})).head_after(&answers), say("done")];
    let ports = Ports {
        provider: Arc::new(ScriptedProvider::new(script)),
        store: Arc::new(store),
        tools,
        blobs: Arc::new(NoBlobs),
        hooks: Arc::new(NoHooks),
        approver: Arc::new(NobodyAsked),
        clock: Arc::new(ManualClock::new(Timestamp(1), 1)),
    };
    let engine = Engine::new(ports, Config::default());
    let start = Start::New(Box::new(OpenSession {
        owner: me(),
        workspace: None,
        settings,
        lineage: Lineage::Root,
    }));
    let id = SessionId::new("s").unwrap();
    let conversation = engine.open(&id, &me(), start).await.unwrap();
    World {
        conversation,
        counter,
        answers,
    }
}

fn hello() -> Send {
    Send::new(me(), "hello")
}

#[tokio::test]
async fn an_input_that_is_not_durable_is_not_acknowledged() {
    let world = world(failing_at("InputQueued", || StoreErrorKind::Full)).await;
    let refused = world.conversation.send(hello()).await;
    let Err(SendError::Ended(ended)) = refused else {
        panic!("{refused:?}")
    };
    assert!(matches!(&*ended, Ended::Store(error) if error.kind == StoreErrorKind::Full));
}

#[tokio::test]
async fn an_effect_whose_start_is_not_durable_does_not_start() {
    let world = world(failing_at("CallStarted", || StoreErrorKind::Io)).await;
    let ended = world.run().await;
    assert!(matches!(&*ended, Ended::Store(_)), "{ended:?}");
    assert_eq!(world.counter.total(), 0);
}

#[tokio::test]
async fn an_observation_that_is_lost_does_not_start_the_call_again() {
    let world = world(failing_at("CallObserved", || StoreErrorKind::Io)).await;
    let ended = world.run().await;
    assert!(matches!(&*ended, Ended::Store(_)), "{ended:?}");
    assert_eq!(world.counter.total(), 1);
}

#[tokio::test]
async fn a_conflict_means_that_another_writer_has_taken_over() {
    let conflict = || StoreErrorKind::Conflict { last: Seq(9) };
    let world = world(failing_at("TurnSettled", conflict)).await;
    let ended = world.run().await;
    assert!(matches!(&*ended, Ended::Superseded(_)), "{ended:?}");
}

#[tokio::test]
async fn a_locked_session_is_told_apart() {
    let mut store = MockStore::new();
    let locked = || StoreError::new(StoreErrorKind::Locked, "another process has it");
    store.expect_claim().returning(move || Err(locked()));
    let ports = Ports {
        provider: Arc::new(ScriptedProvider::new([])),
        store: Arc::new(store),
        tools: Arc::new(ScriptedTools::new([])),
        blobs: Arc::new(NoBlobs),
        hooks: Arc::new(NoHooks),
        approver: Arc::new(NobodyAsked),
        clock: Arc::new(ManualClock::new(Timestamp(1), 1)),
    };
    let engine = Engine::new(ports, Config::default());
    let id = SessionId::new("s").unwrap();
    let refused = engine.open(&id, &me(), Start::Existing).await;
    assert!(matches!(refused, Err(StartError::Locked(_))));
}
