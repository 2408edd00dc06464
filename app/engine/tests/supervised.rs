//! Supervision: a turn that a failure of the store ended continues once the store works, and nobody
//! need ask for it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use windlass_engine::core::{
    EffectClass, Lineage, OpenSession, PromptItem, Scope, Seq, SessionId, Settings, Timestamp,
};
use windlass_engine::ports::{
    NoApprover, NoBlobStore, NoHooks, Ports, ProgramRuntimes, StoreErrorKind, ToolExecutor as _,
};
use windlass_engine::{Config, Engine, Event, NewInput, SessionHandle, StoreStatus};
use windlass_testkit::clock::ManualClock;
use windlass_testkit::faulty::{Fault, FaultyStore, Operation};
use windlass_testkit::provider::{ScriptedProvider, call, say};
use windlass_testkit::tools::{CounterTool, ScriptedTools};

/// Longest time of what must happen.
const SOON: Duration = Duration::from_secs(60);

fn me() -> Scope {
    Scope::local("tester")
}

fn id() -> SessionId {
    SessionId::new("s").unwrap()
}

/// An engine whose model calls a tool that counts, and then answers.
struct World {
    engine: Engine,
    store: FaultyStore,
    counter: CounterTool,
    settings: Settings,
}

impl World {
    fn new(store: FaultyStore) -> Self {
        let counter = CounterTool::new("count", EffectClass::Idempotent);
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
        let engine = Engine::new(ports, Config::default());
        engine.supervise();
        Self { engine, store, counter, settings }
    }

    async fn session(&self) -> SessionHandle {
        let opening = OpenSession {
            owner: me(),
            workspace: None,
            settings: self.settings.clone(),
            lineage: Lineage::Root,
        };
        self.engine.create(&id(), opening).await.unwrap();
        self.engine.session(&id(), &me()).await.unwrap()
    }

    /// Watches until the turn has settled. Returns the states of the store that were received.
    async fn settled(&self) -> Vec<StoreStatus> {
        let mut watch = self.engine.subscribe(&id(), &me(), Some(Seq::ZERO));
        let mut states = Vec::new();
        let settled = async {
            loop {
                match watch.next().await.unwrap() {
                    Event::Fact(fact) if fact.fact.kind() == "TurnSettled" => return,
                    Event::Store(status) => states.push(status),
                    Event::Fact(_) | Event::Live(_) | Event::Lagged { .. } => {}
                    Event::Ended(_) => return,
                }
            }
        };
        tokio::time::timeout(SOON, settled).await.unwrap();
        states
    }

    fn count(&self, kind: &str) -> usize {
        self.store.log(&id()).iter().filter(|fact| fact.fact.kind() == kind).count()
    }
}

/// A store whose appends from one number on fail, so many of them, with the probes in between.
fn failing(from: usize, many: usize, fault: fn() -> Fault) -> FaultyStore {
    let left = AtomicUsize::new(many);
    let fails = move || {
        let take = |left: usize| left.checked_sub(1);
        left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok()
    };
    let failed = AtomicUsize::new(0);
    FaultyStore::responding(move |operation, number| match operation {
        Operation::Append if number >= from && fails() => {
            failed.store(1, Ordering::SeqCst);
            vec![fault()]
        }
        Operation::Probe if failed.load(Ordering::SeqCst) > 0 && fails() => {
            vec![Fault::Fail(StoreErrorKind::Io)]
        }
        Operation::Append
        | Operation::Claim
        | Operation::Release
        | Operation::Read
        | Operation::Probe => Vec::new(),
    })
}

#[tokio::test]
async fn a_turn_settles_without_a_restart_wherever_the_store_failed() {
    let faults: [fn() -> Fault; 3] = [
        || Fault::Fail(StoreErrorKind::Io),
        || Fault::FailAfter(StoreErrorKind::Io),
        || Fault::Fail(StoreErrorKind::Full),
    ];
    for fault in faults {
        for (from, many) in (3..12).flat_map(|from| [(from, 1), (from, 3)]) {
            let world = World::new(failing(from, many, fault));
            let session = world.session().await;
            session.send(NewInput::new(me(), "hello")).await.unwrap();
            drop(session);
            world.settled().await;
            let place = format!("{:?} from append {from}, {many} times", fault());
            assert_eq!(world.count("TurnSettled"), 1, "{place}");
            assert_eq!(world.count("CallObserved"), 1, "{place}");
            assert!(world.counter.total() >= 1, "{place}");
        }
    }
}

#[tokio::test]
async fn watchers_learn_that_the_store_failed_and_that_it_works_again() {
    let world = World::new(failing(4, 4, || Fault::Fail(StoreErrorKind::Full)));
    let session = world.session().await;
    let mut watch = world.engine.subscribe(&id(), &me(), None);
    watch.begin().await.unwrap();
    session.send(NewInput::new(me(), "hello")).await.unwrap();
    let mut states = Vec::new();
    let told = async {
        while states.last() != Some(&StoreStatus::Works) {
            if let Event::Store(status) = watch.next().await.unwrap() {
                states.push(status);
            }
        }
    };
    tokio::time::timeout(SOON, told).await.expect("the store works again");
    assert_eq!(states.first(), Some(&StoreStatus::Failed(StoreErrorKind::Full)), "{states:?}");
    world.settled().await;
    assert_eq!(world.engine.store_status(), StoreStatus::Works);
}

#[tokio::test]
async fn a_watch_that_begins_while_the_store_has_failed_is_told_first() {
    let world = World::new(failing(4, usize::MAX, || Fault::Fail(StoreErrorKind::Io)));
    let session = world.session().await;
    session.send(NewInput::new(me(), "hello")).await.unwrap();
    let failed = async {
        while world.engine.store_status() == StoreStatus::Works {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(SOON, failed).await.expect("the store fails");
    let mut watch = world.engine.subscribe(&id(), &me(), None);
    let first = tokio::time::timeout(SOON, watch.next()).await.unwrap().unwrap();
    assert!(matches!(first, Event::Store(StoreStatus::Failed(StoreErrorKind::Io))), "{first:?}");
}

#[tokio::test]
async fn a_store_that_ended_for_this_process_is_reported() {
    let world = World::new(FaultyStore::responding(|operation, number| match operation {
        Operation::Append if number >= 4 => vec![Fault::Fail(StoreErrorKind::Ended)],
        Operation::Probe => vec![Fault::Fail(StoreErrorKind::Ended)],
        Operation::Append | Operation::Claim | Operation::Release | Operation::Read => Vec::new(),
    }));
    let session = world.session().await;
    session.send(NewInput::new(me(), "hello")).await.unwrap();
    let ended = tokio::time::timeout(SOON, world.engine.store_ended()).await.unwrap();
    assert!(ended.contains("the store fails"), "{ended}");
}

/// No driver fails, since none can start.
#[tokio::test]
async fn a_store_that_ended_between_two_turns_is_reported() {
    let world = World::new(FaultyStore::responding(|operation, _| match operation {
        Operation::Claim | Operation::Probe => vec![Fault::Fail(StoreErrorKind::Ended)],
        Operation::Append | Operation::Release | Operation::Read => Vec::new(),
    }));
    let opening = OpenSession {
        owner: me(),
        workspace: None,
        settings: world.settings.clone(),
        lineage: Lineage::Root,
    };
    world.engine.create(&id(), opening).await.unwrap_err();
    let ended = tokio::time::timeout(SOON, world.engine.store_ended()).await.unwrap();
    assert!(ended.contains("the store fails"), "{ended}");
}
