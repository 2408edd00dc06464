//! One turn of the engine, over what a recorded turn had.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_engine::core::{
    EffectClass, Fact, Lineage, Observation, ObservationStatus, OpenSession, Scope, Seq, SessionId,
    Timestamp, TurnOutcome, TurnSnapshot, TurnSnapshots,
};
use windlass_engine::ports::{
    LogStore, NoApprover, NoBlobStore, NoHooks, Ports, ProgramRuntimes, SampleRequest,
    ToolExecutor as _,
};
use windlass_engine::{Config, Engine, NewInput, Start};
use windlass_memory::MemoryStore;
use windlass_ptclisp::PtcLisp;
use windlass_testkit::clock::ManualClock;
use windlass_testkit::provider::{ScriptedProvider, Step};
use windlass_testkit::tools::{Run, ScriptedTool, ScriptedTools};

use crate::case::Case;

/// What a turn came to.
pub(crate) struct RunReport {
    pub(crate) outcome: TurnOutcome,
    /// What it answered: the value that was returned, or text.
    pub(crate) value: Option<Value>,
    pub(crate) cycles: Vec<TurnSnapshot>,
    pub(crate) requests: Vec<SampleRequest>,
    /// Runs of tools.
    pub(crate) runs: Vec<Run>,
    pub(crate) compacted: usize,
    /// The facts, as they are written.
    pub(crate) log: Vec<String>,
}

/// Runs a turn with these answers of its model.
pub(crate) async fn run(case: &Case, answers: &[Step], effect: EffectClass) -> RunReport {
    let provider = ScriptedProvider::new(answers.iter().cloned());
    let tools = case.tools().into_iter().map(|name| tool(name, effect));
    let tools = ScriptedTools::new(tools);
    let store: Arc<dyn LogStore> = Arc::new(MemoryStore::new());
    let engine = Engine::new(
        Ports {
            provider: Arc::new(provider.clone()),
            store: store.clone(),
            tools: Arc::new(tools.clone()),
            blobs: Arc::new(NoBlobStore),
            hooks: Arc::new(NoHooks),
            approver: Arc::new(NoApprover),
            clock: Arc::new(ManualClock::new(Timestamp(1_000), 7)),
            programs: ProgramRuntimes::none().with(Arc::new(PtcLisp)),
        },
        Config::default(),
    );
    let (session, me) = (SessionId::new("s").unwrap(), Scope::local("tester"));
    let start = Start::Either(Box::new(OpenSession {
        owner: me.clone(),
        workspace: None,
        settings: case.settings(tools.tools()),
        lineage: Lineage::Root,
    }));
    let conversation = engine.open(&session, &me, start).await.unwrap();
    let input = conversation.send(NewInput::new(me, "Do the task")).await;
    let report = conversation.outcome(input.unwrap()).await.unwrap();
    drop(conversation);
    assert!(engine.shutdown("the turn is over").await.is_empty());

    let log = store.read(&session, Seq::ZERO, 10_000).await.unwrap();
    let (mut fold, mut cycles, mut compacted) = (TurnSnapshots::default(), Vec::new(), 0);
    for fact in &log {
        cycles.extend(fold.apply(fact).unwrap());
        compacted += usize::from(matches!(fact.fact, Fact::Compacted(_)));
    }
    assert_eq!(fold.unfinished(), None, "{}", case.id);
    let value = match (&report.outcome, report.returned || case.has_contract()) {
        (TurnOutcome::Completed, true) => Some(serde_json::from_str(&report.answer).unwrap()),
        (TurnOutcome::Completed, false) => Some(Value::from(report.answer)),
        (_, _) => None,
    };
    RunReport {
        outcome: report.outcome,
        value,
        cycles,
        requests: provider.asked().into_iter().map(|asked| asked.request).collect(),
        runs: tools.runs(),
        compacted,
        log: log.iter().map(|fact| serde_json::to_string(fact).unwrap()).collect(),
    }
}

/// A tool of the recordings, by its name. It runs alone, so that calls end in the order in which they
/// were made.
fn tool(name: &str, effect: EffectClass) -> ScriptedTool {
    let named = name.to_owned();
    let tool = ScriptedTool::new(name, effect).exclusive();
    tool.runs(move |call, _| {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
        let (status, output) = match answer(&named, &arguments) {
            Ok(Value::String(text)) => (ObservationStatus::Done, text),
            Ok(data) => (ObservationStatus::Done, data.to_string()),
            Err(reason) => (ObservationStatus::Failed, reason),
        };
        Ok(Observation::new(status, output))
    })
}

fn answer(name: &str, arguments: &Value) -> Result<Value, String> {
    let number = |name: &str| arguments[name].as_i64().unwrap_or(0);
    match name {
        "echo" => Ok(arguments.clone()),
        "add" => Ok(json!(number("a") + number("b"))),
        "users" => Ok(json!([
            {"id": 1, "name": "Ann", "active": true},
            {"id": 2, "name": "Bob", "active": false},
        ])),
        "ok" => Ok(arguments.get("value").cloned().unwrap_or(json!(1))),
        "fail" => Err(arguments["reason"].as_str().unwrap_or("boom").to_owned()),
        "raise" => Err("kaboom".to_owned()),
        "nil" => Ok(Value::Null),
        other => panic!("the recordings have a tool {other}: say here what it answers"),
    }
}
