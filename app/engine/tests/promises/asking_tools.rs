//! Tools that are asked: what they would do in a dry run, and what became of a call whose process
//! ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use serde_json::json;
use windlass_engine::Toolbox;
use windlass_engine::core::{
    EffectClass, Fact, Observation, ObservationStatus, ToolSpec, TurnOutcome,
};
use windlass_engine::ports::{ToolCall, ToolContext, ToolError, ToolErrorKind, ToolExecutor};
use windlass_testkit::Gate;
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::provider::{ScriptedProvider, call, say};
use windlass_testkit::tools::ScriptedTool;

use crate::world::{Cast, World, hello, ms, soon, until};

/// How a tool answers when it is asked what became of a call.
#[derive(Clone, Copy)]
enum Knows {
    Done,
    Nothing,
    Fails,
    Panics,
    Stalls,
}

/// A tool whose run never ends, and that can be asked.
struct Payment {
    spec: ToolSpec,
    knows: Knows,
    runs: AtomicU32,
    asked: AtomicU32,
    began: Gate,
}

impl Payment {
    fn new(knows: Knows) -> Arc<Self> {
        let tool = ScriptedTool::new("pay", EffectClass::Effectful);
        let mut spec = tool.spec().clone();
        (spec.reconciles, spec.timeout_ms) = (true, Some(900));
        Arc::new(Self {
            spec,
            knows,
            runs: AtomicU32::new(0),
            asked: AtomicU32::new(0),
            began: Gate::new(),
        })
    }

    /// Behind a toolbox, which hands every question on.
    fn world(self: &Arc<Self>) -> World {
        let provider = ScriptedProvider::responding(|request| match request.prompt.items.len() {
            0..=2 => call("pay", json!({ "to": "somebody" })),
            _ => say("so be it"),
        });
        let cast = Cast {
            provider: Arc::new(provider),
            tools: Arc::new(Toolbox::new().with(self.clone()).unwrap()),
            ..Cast::new([], [])
        };
        World::of(FaultyStore::new(), cast)
    }
}

#[async_trait]
impl ToolExecutor for Payment {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![self.spec.clone()]
    }

    async fn run(&self, _: ToolCall, _: ToolContext) -> Result<Observation, ToolError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        self.began.pass().await;
        Ok(Observation::new(ObservationStatus::Done, "paid"))
    }

    async fn plan(&self, call: ToolCall, _: ToolContext) -> Result<Observation, ToolError> {
        let words = format!("would pay {}", call.arguments);
        Ok(Observation::new(ObservationStatus::NotStarted, words))
    }

    async fn reconcile(
        &self,
        _: ToolCall,
        context: ToolContext,
    ) -> Result<Option<Observation>, ToolError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        assert!(!context.idempotency_key.is_empty());
        match self.knows {
            Knows::Done => Ok(Some(Observation::new(ObservationStatus::Done, "it was paid"))),
            Knows::Nothing => Ok(None),
            Knows::Fails => Err(ToolError::new(ToolErrorKind::NotStarted, "the bank is closed")),
            Knows::Panics => panic!("a panic on purpose"),
            Knows::Stalls => std::future::pending().await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_says_what_became_of_a_call_whose_process_ended() {
    for (knows, status, words, took) in [
        (Knows::Done, ObservationStatus::Done, "it was paid", 0),
        (Knows::Nothing, ObservationStatus::Unknown, "Unknown", 0),
        (Knows::Fails, ObservationStatus::Unknown, "Unknown", 0),
        (Knows::Panics, ObservationStatus::Unknown, "Unknown", 0),
        (Knows::Stalls, ObservationStatus::Unknown, "Unknown", 900),
    ] {
        let payment = Payment::new(knows);
        let world = payment.world();
        let conversation = world.open("s").await;
        let input = conversation.send(hello()).await.unwrap();
        soon(payment.began.reached()).await;
        let next = world.next_process();
        let resumed = next.open("s").await;
        let at = tokio::time::Instant::now();
        let report = soon(resumed.outcome(input)).await.unwrap();
        assert_eq!(at.elapsed(), ms(took));
        assert_eq!(report.outcome, TurnOutcome::Completed);
        let (_, observation) = next.observation();
        assert_eq!(observation.status, status);
        assert!(observation.output.starts_with(words), "{observation:?}");
        assert_eq!(payment.runs.load(Ordering::SeqCst), 1, "it ran once");
        assert_eq!(payment.asked.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_to_a_tool_ends_with_the_turn() {
    let payment = Payment::new(Knows::Stalls);
    let world = payment.world();
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    soon(payment.began.reached()).await;
    let next = world.next_process();
    let resumed = next.open("s").await;
    until(|| payment.asked.load(Ordering::SeqCst) == 1).await;
    let at = tokio::time::Instant::now();
    soon(next.engine.shutdown("the end")).await;
    assert!(at.elapsed() < ms(10), "it is not waited for");
    let report = soon(resumed.outcome(input)).await.unwrap();
    assert!(matches!(report.outcome, TurnOutcome::Interrupted { .. }));
    assert_eq!(next.observation().1.status, ObservationStatus::Unknown);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_has_tools_say_what_they_would_do() {
    let payment = Payment::new(Knows::Nothing);
    let world = payment.world();
    let conversation = world.open("s").await;
    let dry = hello().with(|it| it.dry_run = true);
    let input = conversation.send(dry).await.unwrap();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let (_, observation) = world.observation();
    assert_eq!(observation.status, ObservationStatus::NotStarted);
    assert_eq!(observation.output, r#"would pay {"to":"somebody"}"#);
    assert_eq!(payment.runs.load(Ordering::SeqCst), 0);
    let plans = world.picked(|fact| match fact {
        Fact::CallStarted(fact) => Some(fact.plan),
        _ => None,
    });
    assert_eq!(plans, [true], "the gates were passed and are on record");
}
