//! A chain of providers under a real engine: each try is an attempt in the log, and a process that
//! takes the session over goes on at the provider that was next.

#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test may stop, and looks at few facts"
)]

use std::sync::Arc;

use async_trait::async_trait;
use windlass_engine::core::{
    Fact, FailureKind, Lineage, OpenSession, RecordedFact, Retry, Scope, Seq, SessionId, Timestamp,
    TurnOutcome,
};
use windlass_engine::ports::{
    LogStore, NoApprover, NoBlobStore, NoHooks, Ports, Provider, ProviderCapabilities,
    ProviderError, SampleRequest, SampleStream,
};
use windlass_engine::{Config, Engine, NewInput, SessionHandle, Start};
use windlass_memory::MemoryStore;
use windlass_route::{Fallback, FallbackProvider};
use windlass_testkit::clock::ManualClock;
use windlass_testkit::provider::{ScriptedProvider, Step, fail, say, stall};
use windlass_testkit::tools::ScriptedTools;

/// A scripted provider under a name of its own.
struct Named(&'static str, ScriptedProvider);

#[async_trait]
impl Provider for Named {
    fn name(&self) -> &str {
        self.0
    }

    fn capabilities(&self) -> ProviderCapabilities {
        self.1.capabilities()
    }

    async fn sample(&self, request: SampleRequest) -> Result<Box<dyn SampleStream>, ProviderError> {
        self.1.sample(request).await
    }
}

fn named(name: &'static str, script: impl IntoIterator<Item = Step>) -> Arc<Named> {
    Arc::new(Named(name, ScriptedProvider::new(script)))
}

fn chain(links: [&Arc<Named>; 2]) -> Arc<dyn Provider> {
    let link = |one: &Arc<Named>| FallbackProvider::new(one.clone());
    Arc::new(Fallback::new("chain", links.map(link)).unwrap())
}

fn me() -> Scope {
    Scope::local("tester")
}

fn id() -> SessionId {
    SessionId::new("s1").unwrap()
}

fn engine(store: &Arc<dyn LogStore>, provider: Arc<dyn Provider>) -> Engine {
    let ports = Ports {
        provider,
        store: store.clone(),
        tools: Arc::new(ScriptedTools::new([])),
        blobs: Arc::new(NoBlobStore),
        hooks: Arc::new(NoHooks),
        approver: Arc::new(NoApprover),
        clock: Arc::new(ManualClock::new(Timestamp(1_000), 7)),
        programs: windlass_engine::ports::ProgramRuntimes::none(),
    };
    Engine::new(ports, Config::default())
}

async fn open(engine: &Engine) -> SessionHandle {
    let settings = windlass_testkit::settings().with(|it| {
        it.provider = "chain".into();
        it.instructions = "Be brief.".into();
    });
    let opening =
        Box::new(OpenSession { owner: me(), workspace: None, settings, lineage: Lineage::Root });
    engine.open(&id(), &me(), Start::Either(opening)).await.unwrap()
}

fn send() -> NewInput {
    NewInput::new(me(), "go")
}

async fn log(store: &Arc<dyn LogStore>) -> Vec<RecordedFact> {
    store.read(&id(), Seq::ZERO, 1_000).await.unwrap()
}

/// Who was asked, in order: the attempts that failed with their class, and the answer.
fn asked(log: &[RecordedFact]) -> Vec<(String, Option<FailureKind>)> {
    let who = |asked: &Option<Box<windlass_engine::core::RequestRecord>>| {
        let asked = asked.as_ref();
        asked.map_or_else(String::new, |asked| asked.provider.clone())
    };
    let each = log.iter().filter_map(|recorded| match &recorded.fact {
        Fact::SampleCut(fact) => Some((who(&fact.request), Some(fact.failure.kind))),
        Fact::SampleEnded(fact) => Some((who(&fact.request), None)),
        _ => None,
    });
    each.collect()
}

#[tokio::test]
async fn each_try_is_an_attempt_in_the_log_and_the_next_is_made_at_once() {
    let store: Arc<dyn LogStore> = Arc::new(MemoryStore::new());
    let overloaded = fail(FailureKind::Overloaded, Retry::AfterMs(3_600_000));
    let first = named("first", [overloaded]);
    let second = named("second", [say("done")]);
    let engine = engine(&store, chain([&first, &second]));
    let conversation = open(&engine).await;
    let input = conversation.send(send()).await.unwrap();
    let report = conversation.outcome(input).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let log = log(&store).await;
    let expected =
        [("first".to_owned(), Some(FailureKind::Overloaded)), ("second".to_owned(), None)];
    assert_eq!(asked(&log), expected);
    let attempts = log.iter().filter_map(|recorded| match &recorded.fact {
        Fact::SampleStarted(fact) => Some((fact.sample, fact.attempt)),
        _ => None,
    });
    assert_eq!(attempts.collect::<Vec<_>>(), [(1, 1), (1, 2)]);
    let instead = log.iter().find_map(|recorded| match &recorded.fact {
        Fact::SampleEnded(fact) => fact.request.as_ref()?.fallback_reason.clone(),
        _ => None,
    });
    assert_eq!(instead.as_deref(), Some("first failed: overloaded"));
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

#[test]
fn a_process_that_takes_over_goes_on_at_the_next_provider() {
    let store: Arc<dyn LogStore> = Arc::new(MemoryStore::new());
    let first = named("first", [fail(FailureKind::Quota, Retry::Never)]);
    let second = named("second", [stall()]);
    let process = runtime();
    let input = process.block_on(async {
        let engine = engine(&store, chain([&first, &second]));
        let conversation = open(&engine).await;
        let input = conversation.send(send()).await.unwrap();
        while second.1.asked().is_empty() {
            tokio::task::yield_now().await;
        }
        // Nothing says goodbye: the process is gone while the second provider is asked.
        drop((engine, conversation));
        input
    });
    drop(process);

    let first = named("first", [say("never asked")]);
    let second = named("second", [say("done")]);
    let report = runtime().block_on(async {
        let engine = engine(&store, chain([&first, &second]));
        let conversation = open(&engine).await;
        conversation.outcome(input).await.unwrap()
    });
    assert_eq!(report.outcome, TurnOutcome::Completed);
    assert_eq!((first.1.asked().len(), second.1.asked().len()), (0, 1));
    let log = runtime().block_on(log(&store));
    let kinds: Vec<_> = asked(&log).into_iter().map(|(_, kind)| kind).collect();
    let quota = Some(FailureKind::Quota);
    assert_eq!(kinds, [quota, Some(FailureKind::Restart), None]);
}
