//! The engine over fakes: what a conversation promises, with every race decided by the test.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use serde_json::json;
use windlass_engine::core::{
    EffectClass, Fact, InterruptSource, Lineage, OpenSession, Scope, Seq, SessionId, StopTiming,
    Timestamp, TurnOutcome,
};
use windlass_engine::ports::{LogStore, NoApprover, NoBlobStore, NoHooks, Ports, ToolExecutor};
use windlass_engine::{Config, Engine, Event, NewInput, SessionHandle, Start};
use windlass_memory::MemoryStore;
use windlass_testkit::clock::ManualClock;
use windlass_testkit::provider::{ScriptedProvider, Step, call, calls, say, stall};
use windlass_testkit::tools::{CounterTool, ScriptedTool, ScriptedTools};

struct World {
    engine: Engine,
    provider: ScriptedProvider,
    store: Arc<dyn LogStore>,
    tools: Arc<dyn ToolExecutor>,
}

fn me() -> Scope {
    Scope::local("tester")
}

fn id() -> SessionId {
    SessionId::new("s1").unwrap()
}

impl World {
    fn new(script: Vec<Step>, tools: Vec<ScriptedTool>) -> Self {
        let store: Arc<dyn LogStore> = Arc::new(MemoryStore::new());
        Self::over(store, script, tools)
    }

    fn over(store: Arc<dyn LogStore>, script: Vec<Step>, tools: Vec<ScriptedTool>) -> Self {
        let provider = ScriptedProvider::new(script);
        let tools: Arc<dyn ToolExecutor> = Arc::new(ScriptedTools::new(tools));
        let ports = Ports {
            provider: Arc::new(provider.clone()),
            store: store.clone(),
            tools: tools.clone(),
            blobs: Arc::new(NoBlobStore),
            hooks: Arc::new(NoHooks),
            approver: Arc::new(NoApprover),
            clock: Arc::new(ManualClock::new(Timestamp(1_000), 7)),
            programs: windlass_engine::ports::ProgramRuntimes::none(),
        };
        Self { engine: Engine::new(ports, Config::default()), provider, store, tools }
    }

    fn opening(&self) -> Box<OpenSession> {
        Box::new(OpenSession {
            owner: me(),
            workspace: None,
            settings: windlass_testkit::settings().with(|it| {
                it.instructions = "Be brief.".into();
                it.tools = self.tools.tools();
            }),
            lineage: Lineage::Root,
        })
    }

    async fn open(&self) -> SessionHandle {
        let start = Start::Either(self.opening());
        self.engine.open(&id(), &me(), start).await.unwrap()
    }
}

fn send(text: &str) -> NewInput {
    NewInput::new(me(), text)
}

#[tokio::test]
async fn a_turn_with_two_tools_settles_and_the_log_tells_it() {
    let counter = CounterTool::new("count", EffectClass::Effectful);
    let script = vec![
        call("look", json!({})),
        calls([("count", json!({})), ("look", json!({}))]),
        say("done"),
    ];
    let look = ScriptedTool::new("look", EffectClass::ReadOnly).says("a file");
    let world = World::new(script, vec![look, counter.tool()]);
    let conversation = world.open().await;
    let input = conversation.send(send("go")).await.unwrap();
    let report = conversation.outcome(input).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    assert_eq!(report.answer, "done");
    assert_eq!(counter.total(), 1);
    assert_eq!(report.spent.samples, 3);
    assert!(world.provider.misses().is_empty());

    let log = world.store.read(&id(), Seq::ZERO, 1_000).await.unwrap();
    let kinds: Vec<&str> = log.iter().map(|fact| fact.fact.kind()).collect();
    assert_eq!(kinds.first(), Some(&"SessionOpened"));
    assert_eq!(kinds.last(), Some(&"TurnSettled"));
    let loaded = windlass_engine::load(world.store.as_ref(), &id(), 3).await.unwrap();
    assert_eq!(loaded.session, conversation.state().await.unwrap());
}

#[tokio::test]
async fn an_interrupt_reaches_the_stream_and_the_next_turn_works() {
    let world = World::new(vec![stall(), say("second")], vec![]);
    let conversation = world.open().await;
    let input = conversation.send(send("first")).await.unwrap();
    conversation.interrupt(InterruptSource::Person, me(), "enough", StopTiming::Now).await.unwrap();
    let report = conversation.outcome(input).await.unwrap();
    let interrupted =
        TurnOutcome::Interrupted { by: InterruptSource::Person, reason: "enough".into() };
    assert_eq!(report.outcome, interrupted);
    let input = conversation.send(send("again")).await.unwrap();
    let report = conversation.outcome(input).await.unwrap();
    assert_eq!(report.answer, "second");
}

#[tokio::test]
async fn a_subscriber_from_any_cursor_sees_each_fact_once() {
    let world = World::new(vec![say("one"), say("two")], vec![]);
    let conversation = world.open().await;
    let input = conversation.send(send("a")).await.unwrap();
    conversation.outcome(input).await.unwrap();
    let mut late = conversation.subscribe(Some(Seq(2)));
    let input = conversation.send(send("b")).await.unwrap();
    let last = conversation.outcome(input).await.unwrap().settled.seq;
    let mut seen = Vec::new();
    while seen.last() != Some(&last.0) {
        if let Event::Fact(fact) = late.next().await.unwrap() {
            seen.push(fact.seq.0);
        }
    }
    assert_eq!(seen, (3..=last.0).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_session_reopened_after_close_goes_on_and_forgets_nothing() {
    let world = World::new(vec![say("one"), say("two")], vec![]);
    let conversation = world.open().await;
    let input = conversation.send(send("a")).await.unwrap();
    conversation.outcome(input).await.unwrap();
    conversation.close().await;
    assert!(conversation.send(send("lost")).await.is_err());
    let again = world.open().await;
    let input = again.send(send("b")).await.unwrap();
    assert_eq!(again.outcome(input).await.unwrap().answer, "two");
    let prompt = world.provider.prompts().pop().unwrap();
    assert_eq!(prompt.items.len(), 3);
}

#[tokio::test]
async fn the_same_key_is_one_input() {
    let world = World::new(vec![say("one")], vec![]);
    let conversation = world.open().await;
    let keyed = || send("a").with(|it| it.key = Some("k".into()));
    let first = conversation.send(keyed()).await.unwrap();
    let second = conversation.send(keyed()).await.unwrap();
    assert_eq!(first, second);
    conversation.outcome(first).await.unwrap();
    let log = conversation.history(Seq::ZERO, 100).await.unwrap();
    let queued =
        |fact: &&windlass_engine::core::RecordedFact| matches!(fact.fact, Fact::InputQueued(_));
    assert_eq!(log.iter().filter(queued).count(), 1);
}

#[tokio::test]
async fn another_tenants_session_does_not_exist() {
    let world = World::new(vec![], vec![]);
    let _mine = world.open().await;
    let other = Scope::Principal {
        tenant: "other".into(),
        principal: "x".into(),
        claims: std::collections::BTreeMap::new(),
    };
    let refused = world.engine.open(&id(), &other, Start::Existing).await;
    assert!(matches!(refused, Err(windlass_engine::StartError::Unknown(_))));
}

#[tokio::test]
async fn shutdown_settles_what_runs_and_lets_go() {
    let world = World::new(vec![stall()], vec![]);
    let conversation = world.open().await;
    conversation.send(send("a")).await.unwrap();
    world.engine.shutdown("the test is over").await;
    let log = world.store.read(&id(), Seq::ZERO, 100).await.unwrap();
    assert!(matches!(&log.last().unwrap().fact, Fact::TurnSettled(settled)
        if matches!(settled.outcome, TurnOutcome::Interrupted { by: InterruptSource::Shutdown, .. })));
}
