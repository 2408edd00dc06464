//! PTC-Lisp in the engine: what the branches of one form call runs at the same time, and a process that
//! ends meanwhile loses none of it and repeats none.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::wildcard_enum_match_arm, reason = "it looks for a few kinds of fact in a log")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use windlass_engine::core::{
    CallId, EffectClass, Fact, Lineage, ObservationStatus, OpenSession, ProgramEnd, ProgramMode,
    RecordedFact, RequestOptions, Scope, Seq, SessionId, Timestamp, TurnId, TurnOutcome, decide,
    replay,
};
use windlass_engine::ports::{
    LogStore, NoApprover, NoBlobStore, NoHooks, Ports, ProgramRuntimes, ToolExecutor,
};
use windlass_engine::{Config, Engine, NewInput, SessionHandle, Start, TurnReport};
use windlass_ptclisp::PtcLisp;
use windlass_testkit::Gate;
use windlass_testkit::clock::ManualClock;
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::provider::{ScriptedProvider, call, say};
use windlass_testkit::tools::{CounterTool, ScriptedTool, ScriptedTools};

struct World {
    engine: Engine,
    store: FaultyStore,
    tools: ScriptedTools,
}

fn me() -> Scope {
    Scope::local("tester")
}

fn id() -> SessionId {
    SessionId::new("s").unwrap()
}

impl World {
    /// A model that hands over one program, and then says that it is well.
    fn new(source: &str, store: FaultyStore, tools: Vec<ScriptedTool>) -> Self {
        let source = source.to_owned();
        let provider =
            ScriptedProvider::responding(move |request| match request.prompt.items.len() {
                1 => call("run_program", json!({ "source": source })),
                _ => say("so be it"),
            });
        let tools = ScriptedTools::new(tools);
        let ports = Ports {
            provider: Arc::new(provider),
            store: Arc::new(store.clone()),
            tools: Arc::new(tools.clone()),
            blobs: Arc::new(NoBlobStore),
            hooks: Arc::new(NoHooks),
            approver: Arc::new(NoApprover),
            clock: Arc::new(ManualClock::new(Timestamp(1_000), 7)),
            programs: ProgramRuntimes::none().with(Arc::new(PtcLisp)),
        };
        Self { engine: Engine::new(ports, Config::default()), store, tools }
    }

    async fn open(&self) -> SessionHandle {
        let settings = windlass_testkit::settings().with(|it| {
            it.tools = self.tools.tools();
            it.options = RequestOptions::default().with(|it| {
                it.program = Some(ProgramMode {
                    runtime: "ptclisp".into(),
                    transport: Default::default(),
                    limits: Default::default(),
                    data: None,
                    corrections: 0,
                })
            });
        });
        let start = Start::Either(Box::new(OpenSession {
            owner: me(),
            workspace: None,
            settings,
            lineage: Lineage::Root,
        }));
        self.engine.open(&id(), &me(), start).await.unwrap()
    }

    /// The log, which the core decides as the engine had it decided.
    fn log(&self) -> Vec<RecordedFact> {
        let log = self.store.log(&id());
        let told = replay(decide, log.iter().cloned()).unwrap();
        assert_eq!((told.divergences, told.request_divergences), (vec![], vec![]));
        log
    }

    /// What became of the calls that the program has made, in the order in which it made them.
    fn made(&self) -> Vec<(String, Option<ObservationStatus>)> {
        let log = self.log();
        let seen = |id: CallId| {
            log.iter().find_map(|one| match &one.fact {
                Fact::CallObserved(fact) if fact.call == id => Some(fact.observation.status),
                _ => None,
            })
        };
        let made = log.iter().filter_map(|one| match &one.fact {
            Fact::ProgramCalled(fact) => Some((CallId(one.seq.0), fact.item.clone())),
            _ => None,
        });
        made.map(|(id, item)| (format!("{} {}", item.name, item.arguments), seen(id))).collect()
    }

    fn ends(&self) -> Vec<ProgramEnd> {
        let log = self.log();
        let ends = log.iter().filter_map(|one| match &one.fact {
            Fact::ProgramRun(run) => Some(run.outcome.end.clone()),
            _ => None,
        });
        ends.collect()
    }

    /// Waits until so many calls are observed.
    async fn observed(&self, count: usize) {
        let observed = || {
            let log = self.store.log(&id());
            let of_call = |one: &&RecordedFact| matches!(one.fact, Fact::CallObserved(_));
            log.iter().filter(of_call).count()
        };
        let wait = async {
            while observed() < count {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        soon(wait).await;
    }
}

/// What must come, within an hour of paused time.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(Duration::from_secs(3_600), future).await;
    waited.unwrap()
}

/// In each of three branches a payment, and then a look.
const PAYS: &str = "(return (pcalls (fn [] [(tool/pay1 {}) (tool/look {:n 1})])
                                    (fn [] [(tool/pay2 {}) (tool/look {:n 2})])
                                    (fn [] [(tool/pay3 {}) (tool/look {:n 3})])))";

fn payments() -> [CounterTool; 3] {
    ["pay1", "pay2", "pay3"].map(|name| CounterTool::new(name, EffectClass::Effectful))
}

fn look() -> ScriptedTool {
    ScriptedTool::new("look", EffectClass::ReadOnly).says("seen")
}

/// Runs the payments, which end in the reverse of their order.
async fn paid() -> (World, TurnReport) {
    let (payments, gates) = (payments(), [Gate::new(), Gate::new(), Gate::new()]);
    let pays = payments.iter().zip(&gates);
    let mut tools: Vec<_> = pays.map(|(pay, gate)| pay.tool().before(gate)).collect();
    tools.push(look());
    let world = World::new(PAYS, FaultyStore::new(), tools);
    let conversation = world.open().await;
    let input = conversation.send(NewInput::new(me(), "hello")).await.unwrap();
    // All three have begun before any of them may end.
    for gate in &gates {
        soon(gate.reached()).await;
    }
    assert_eq!(world.tools.running(), 3);
    for (ended, gate) in gates.iter().rev().enumerate() {
        gate.open();
        world.observed(ended + 1).await;
    }
    let report = soon(conversation.outcome(input)).await.unwrap();
    (world, report)
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_form_run_at_the_same_time_and_answer_in_their_order() {
    let (world, report) = paid().await;
    assert_eq!(report.outcome, TurnOutcome::Completed);
    assert_eq!(report.answer, r#"[[1,"seen"],[1,"seen"],[1,"seen"]]"#);
    assert_eq!((report.spent.samples, report.spent.calls), (1, 7));
    let kinds: Vec<&str> = world.log().iter().map(|one| one.fact.kind()).collect();
    let first = kinds.iter().position(|kind| *kind == "CallObserved");
    let started = kinds[..first.unwrap()].iter().filter(|kind| **kind == "CallStarted");
    // The program itself is a call too.
    assert_eq!(started.count(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_ends_at_any_fact_loses_no_call_and_repeats_none() {
    let (whole, _) = paid().await;
    let log = whole.log();
    let all: Vec<String> = whole.made().into_iter().map(|(call, _)| call).collect();
    let opened = log.iter().position(|one| matches!(one.fact, Fact::TurnOpened(_))).unwrap();
    let mut lost = 0;
    for upto in opened + 1..log.len() {
        let facts = &log[..upto];
        let store = FaultyStore::new();
        let claim = store.claim(&id()).await.unwrap();
        let shared: Vec<_> = facts.iter().cloned().map(Arc::new).collect();
        let appended = store.append(&id(), claim.epoch, Seq::ZERO, &shared).await;
        appended.unwrap();
        store.release(&id(), claim.epoch).await.unwrap();
        let payments = payments();
        let mut tools: Vec<_> = payments.iter().map(CounterTool::tool).collect();
        tools.push(look());
        let world = World::new(PAYS, store, tools);
        let conversation = world.open().await;
        let turn = TurnId(log[opened].seq.0);
        let report = soon(conversation.outcome(turn)).await.unwrap();
        assert_eq!(report.outcome, TurnOutcome::Completed, "after fact {upto}");

        let begun = |run: CallId| {
            let started = |one: &RecordedFact| matches!(&one.fact, Fact::CallStarted(fact) if fact.call == run);
            facts.iter().any(started)
        };
        for run in world.tools.runs() {
            let again = run.call.name != "look" && begun(run.id);
            assert!(!again, "after fact {upto} a payment was repeated: {run:?}");
        }
        let made = world.made();
        assert!(made.iter().all(|(_, seen)| seen.is_some()), "{made:?}");
        let calls: Vec<String> = made.iter().map(|(call, _)| call.clone()).collect();
        let unknown = |(_, seen): &(String, Option<ObservationStatus>)| {
            *seen == Some(ObservationStatus::Unknown)
        };
        if made.iter().any(unknown) {
            // A payment that had begun is not known to have ended: the program is told.
            lost += 1;
            let ends = world.ends();
            let [ProgramEnd::Fault(fault)] = &ends[..] else {
                unreachable!("after fact {upto}: {ends:?}")
            };
            assert_eq!(fault.class, "pcalls_error", "after fact {upto}");
            assert!(all.starts_with(&calls[..3]), "after fact {upto}: {calls:?}");
        } else {
            assert_eq!(calls, all, "after fact {upto}");
            assert!(report.answer.starts_with("[["), "after fact {upto}");
        }
    }
    // After each of the three has begun, up to the observation of the last of them.
    assert!(lost >= 3, "{lost}");
}
