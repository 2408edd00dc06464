//! A store that fails: the driver stops, acknowledges nothing more, and starts nothing that
//! changes anything.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use async_trait::async_trait;
use mockall::mock;
use serde_json::json;
use windlass_engine::core::{
    EffectClass, Epoch, Lineage, OpenSession, PromptItem, RecordedFact, Scope, Seq, SessionId,
    Settings, Timestamp,
};
use windlass_engine::ports::{
    Durability, Fencing, LogStore, LogVerification, NoApprover, NoBlobStore, NoHooks, Ports,
    SessionClaim, SessionFilter, SessionListing, StoreCapabilities, StoreError, StoreErrorKind,
    ToolExecutor as _,
};
use windlass_engine::{
    Config, DriverEnd, Engine, Event, NewInput, SendError, SessionHandle, Start, StartError,
};
use windlass_testkit::Gate;
use windlass_testkit::clock::ManualClock;
use windlass_testkit::faulty::{Fault, FaultyStore, Operation};
use windlass_testkit::provider::{ScriptedProvider, call, say};
use windlass_testkit::tools::{CounterTool, ScriptedTools};

mock! {
    Store {
        fn claim(&self) -> Result<SessionClaim, StoreError>;
        fn release(&self);
        fn append(&self, facts: &[Arc<RecordedFact>]) -> Result<(), StoreError>;
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
            tail_delay_ms: None,
            erase: false,
            retention_ms: None,
            max_checkpoint_bytes: None,
        }
    }

    async fn claim(&self, _: &SessionId) -> Result<SessionClaim, StoreError> {
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
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        Self::append(self, facts)
    }

    async fn read(&self, _: &SessionId, _: Seq, _: usize) -> Result<Vec<RecordedFact>, StoreError> {
        Err(StoreError::new(StoreErrorKind::Io, "not read here"))
    }

    async fn sessions(
        &self,
        _: &SessionFilter,
        _: Option<&SessionId>,
        _: usize,
    ) -> Result<Vec<SessionListing>, StoreError> {
        Err(StoreError::new(StoreErrorKind::Io, "not listed here"))
    }

    async fn verify(&self, _: &SessionId) -> Result<LogVerification, StoreError> {
        Err(StoreError::new(StoreErrorKind::Io, "not verified here"))
    }
}

/// A store that takes every append until one holds a fact of this kind.
fn failing_at(kind: &'static str, error: fn() -> StoreErrorKind) -> MockStore {
    let mut store = MockStore::new();
    store
        .expect_claim()
        .returning(|| Ok(SessionClaim { epoch: Epoch(1), last: Seq::ZERO, repaired: None }));
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
    conversation: SessionHandle,
    counter: CounterTool,
    /// The model answers only after this.
    answers: Gate,
}

impl World {
    /// Sends an input, lets the model answer once the input is durable, and waits for the end.
    async fn run(&self) -> Arc<DriverEnd> {
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

fn settings(counter: &CounterTool) -> (Arc<ScriptedTools>, Settings) {
    let tools = Arc::new(ScriptedTools::new([counter.tool()]));
    let settings = windlass_testkit::settings().with(|it| it.tools = tools.tools());
    (tools, settings)
}

/// Session `s` over a store, as a process that opens it finds it.
async fn open(
    store: Arc<dyn LogStore>,
    provider: ScriptedProvider,
    counter: &CounterTool,
) -> Result<SessionHandle, StartError> {
    let (tools, settings) = settings(counter);
    let ports = Ports {
        provider: Arc::new(provider),
        store,
        tools,
        blobs: Arc::new(NoBlobStore),
        hooks: Arc::new(NoHooks),
        approver: Arc::new(NoApprover),
        clock: Arc::new(ManualClock::new(Timestamp(1), 1)),
        programs: windlass_engine::ports::ProgramRuntimes::none(),
    };
    let engine = Engine::new(ports, Config::default());
    let start = Start::Either(Box::new(OpenSession {
        owner: me(),
        workspace: None,
        settings,
        lineage: Lineage::Root,
    }));
    let id = SessionId::new("s").unwrap();
    engine.open(&id, &me(), start).await
}

async fn world(store: MockStore) -> World {
    let counter = CounterTool::new("count", EffectClass::Effectful);
    let answers = Gate::new();
    let script = [call("count", json!({})).head_after(&answers), say("done")];
    let provider = ScriptedProvider::new(script);
    let conversation = open(Arc::new(store), provider, &counter).await.unwrap();
    World { conversation, counter, answers }
}

fn hello() -> NewInput {
    NewInput::new(me(), "hello")
}

#[tokio::test]
async fn an_input_that_is_not_durable_is_not_acknowledged() {
    let world = world(failing_at("InputQueued", || StoreErrorKind::Full)).await;
    let refused = world.conversation.send(hello()).await;
    let Err(SendError::Ended(ended)) = refused else { panic!("{refused:?}") };
    assert!(matches!(&*ended, DriverEnd::Store(error) if error.kind == StoreErrorKind::Full));
}

#[tokio::test]
async fn an_effect_whose_start_is_not_durable_does_not_start() {
    let world = world(failing_at("CallStarted", || StoreErrorKind::Io)).await;
    let ended = world.run().await;
    assert!(matches!(&*ended, DriverEnd::Store(_)), "{ended:?}");
    assert_eq!(world.counter.total(), 0);
}

#[tokio::test]
async fn an_observation_that_is_lost_does_not_start_the_call_again() {
    let world = world(failing_at("CallObserved", || StoreErrorKind::Io)).await;
    let ended = world.run().await;
    assert!(matches!(&*ended, DriverEnd::Store(_)), "{ended:?}");
    assert_eq!(world.counter.total(), 1);
}

#[tokio::test]
async fn a_conflict_means_that_another_writer_has_taken_over() {
    let conflict = || StoreErrorKind::Conflict { last: Seq(9) };
    let world = world(failing_at("TurnSettled", conflict)).await;
    let ended = world.run().await;
    assert!(matches!(&*ended, DriverEnd::Superseded(_)), "{ended:?}");
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
        blobs: Arc::new(NoBlobStore),
        hooks: Arc::new(NoHooks),
        approver: Arc::new(NoApprover),
        clock: Arc::new(ManualClock::new(Timestamp(1), 1)),
        programs: windlass_engine::ports::ProgramRuntimes::none(),
    };
    let engine = Engine::new(ports, Config::default());
    let id = SessionId::new("s").unwrap();
    let refused = engine.open(&id, &me(), Start::Existing).await;
    assert!(matches!(refused, Err(StartError::Locked(_))));
}

/// The server that keeps the logs goes away while a turn runs, and comes back.
#[tokio::test]
async fn a_store_that_is_away_ends_the_driver_and_the_turn_goes_on_once_it_is_back() {
    // Each append once fails before it is kept, once after.
    for at in 2..12 {
        for after in [false, true] {
            let away = FaultyStore::responding(move |operation, number| match operation {
                Operation::Append if number == at => vec![match after {
                    false => Fault::Fail(StoreErrorKind::Unavailable),
                    true => Fault::FailAfter(StoreErrorKind::Unavailable),
                }],
                Operation::Append
                | Operation::Claim
                | Operation::Release
                | Operation::Read
                | Operation::Probe => Vec::new(),
            });
            let counter = CounterTool::new("count", EffectClass::Effectful);
            let provider = ScriptedProvider::responding(|request| {
                let result = |item: &PromptItem| matches!(item, PromptItem::Result { .. });
                match request.prompt.items.iter().any(result) {
                    true => say("done"),
                    false => call("count", json!({})),
                }
            });
            let mut said = 0;
            let settled = loop {
                let store = away.reopen();
                let store = Arc::new(store);
                let conversation = open(store, provider.clone(), &counter).await.unwrap();
                let mut events = conversation.subscribe(Some(Seq::ZERO));
                if said == 0 {
                    let sent =
                        conversation.send(hello().with(|it| it.key = Some("once".into()))).await;
                    said = usize::from(sent.is_ok());
                }
                let ended = loop {
                    match events.next().await.unwrap() {
                        Event::Ended(ended) => break Some(ended),
                        Event::Fact(fact) if fact.fact.kind() == "TurnSettled" => break None,
                        Event::Fact(_)
                        | Event::Live(_)
                        | Event::Lagged { .. }
                        | Event::Store(_) => {}
                    }
                };
                match ended {
                    None => break away.log(&SessionId::new("s").unwrap()),
                    Some(ended) => {
                        let away = |error: &StoreError| error.kind == StoreErrorKind::Unavailable;
                        assert!(
                            matches!(&*ended, DriverEnd::Store(error) if away(error)),
                            "{ended:?}"
                        );
                    }
                }
            };
            let count = |kind| settled.iter().filter(|fact| fact.fact.kind() == kind).count();
            assert_eq!(count("TurnSettled"), 1, "append {at}, kept {after}");
            assert_eq!(count("CallObserved"), 1, "append {at}, kept {after}");
            assert!(counter.total() <= 1, "append {at}, kept {after}: it ran twice");
        }
    }
}
