//! Spans: each thing that a session does is in the span of its turn, and carries the ids of the log.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use serde_json::json;
use windlass_engine::core::{
    EffectClass, Lineage, OpenSession, PromptItem, Scope, Seq, SessionId, Timestamp,
};
use windlass_engine::ports::{
    NoApprover, NoBlobStore, NoHooks, Ports, ProgramRuntimes, ToolExecutor as _,
};
use windlass_engine::{Config, Engine, NewInput, Start};
use windlass_testkit::Spans;
use windlass_testkit::clock::ManualClock;
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::provider::{ScriptedProvider, call, say};
use windlass_testkit::tools::{CounterTool, ScriptedTools};

#[tokio::test]
async fn samples_calls_and_appends_are_in_the_span_of_their_turn() {
    let spans = Spans::record();
    let store = FaultyStore::new();
    let counter = CounterTool::new("count", EffectClass::Effectful);
    let tools = Arc::new(ScriptedTools::new([counter.tool()]));
    let provider = ScriptedProvider::responding(|request| {
        let result = |item: &PromptItem| matches!(item, PromptItem::Result { .. });
        match request.prompt.items.iter().any(result) {
            true => say("done"),
            false => call("count", json!({})),
        }
    });
    let settings = windlass_testkit::settings().with(|it| it.tools = tools.tools());
    let ports = Ports {
        provider: Arc::new(provider),
        store: Arc::new(store.clone()),
        tools,
        blobs: Arc::new(NoBlobStore),
        hooks: Arc::new(NoHooks),
        approver: Arc::new(NoApprover),
        clock: Arc::new(ManualClock::new(Timestamp(1), 1)),
        programs: ProgramRuntimes::none(),
    };
    let (id, me) = (SessionId::new("s").unwrap(), Scope::local("tester"));
    let opening =
        OpenSession { owner: me.clone(), workspace: None, settings, lineage: Lineage::Root };
    let engine = Engine::new(ports, Config::default());
    let session = engine.open(&id, &me, Start::New(Box::new(opening))).await.unwrap();
    for _ in 0..2 {
        let input = session.send(NewInput::new(me.clone(), "hello")).await.unwrap();
        session.outcome(input).await.unwrap();
    }
    session.close().await;

    let log = store.log(&id);
    let at = |kind: &str| -> Vec<Seq> {
        let facts = log.iter().filter(|fact| fact.fact.kind() == kind);
        facts.map(|fact| fact.seq).collect()
    };
    let field = |name: &str, of: &str| -> Vec<String> {
        spans.named(name).iter().map(|span| span.field(of).to_owned()).collect()
    };
    let texts = |positions: Vec<Seq>| -> Vec<String> {
        positions.iter().map(ToString::to_string).collect()
    };
    assert_eq!(field("session", "session"), ["s"]);
    assert_eq!(field("turn", "turn"), texts(at("TurnOpened")));
    assert_eq!(field("sample", "sample"), texts(at("SampleStarted")));
    assert_eq!(field("call", "run"), texts(at("CallStarted")));
    assert_eq!(field("call", "tool"), ["count"]);
    let turns: Vec<_> = log.iter().filter(|fact| fact.fact.kind() == "SampleStarted").collect();
    let turns: Vec<_> = turns.iter().map(|fact| fact.turn.unwrap().0.to_string()).collect();
    assert_eq!(field("sample", "turn"), turns);
    for name in ["sample", "call"] {
        for span in spans.named(name) {
            assert_eq!(span.parents, ["session", "turn"], "{span:?}");
            assert_eq!(span.field("session"), "s", "{span:?}");
        }
    }
    let appends = spans.named("append");
    let of_turns = appends.iter().filter(|span| !span.field("turn").is_empty());
    assert!(of_turns.clone().count() >= 6, "{appends:?}");
    for span in of_turns {
        assert_eq!(span.parents, ["session", "turn"], "{span:?}");
    }
    let facts: usize =
        appends.iter().map(|span| span.field("facts").parse::<usize>().unwrap()).sum();
    assert_eq!(facts, log.len(), "every fact is in the span of an append");
}
