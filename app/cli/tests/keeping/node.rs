//! A node: a store object of a place in memory, an engine among others on it, and its load.

use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use windlass_engine::core::{
    Fact, Limits, Lineage, OpenSession, RecordedFact, Scope, Seq, SessionId, Timestamp,
};
use windlass_engine::ports::{
    LogStore as _, NoApprover, NoBlobStore, NoHooks, Ports, Tenants, ToolExecutor as _,
};
use windlass_engine::{
    AdoptionPolicy, Config, Engine, NewInput, NodeLoad, Peers, SessionHandle, Start,
};
use windlass_memory::MemoryStore;
use windlass_testkit::provider::ScriptedProvider;
use windlass_testkit::tools::ScriptedTools;

use crate::clock::RuntimeClock;

pub(crate) struct Node {
    pub(crate) engine: Engine,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) load: Arc<NodeLoad>,
    provider: Arc<ScriptedProvider>,
    tools: Arc<ScriptedTools>,
}

impl Node {
    /// The first node of a place, which drives so many sessions at most.
    pub(crate) fn new(
        most: usize,
        provider: Arc<ScriptedProvider>,
        tools: Arc<ScriptedTools>,
    ) -> Self {
        let store = MemoryStore::new();
        Self::on(store, most, provider, tools, None)
    }

    /// Another node of the same place.
    pub(crate) fn beside(&self, most: usize) -> Self {
        self.beside_with(most, self.tools.clone(), None)
    }

    /// The same, with other tools, for one tenant.
    pub(crate) fn beside_with(
        &self,
        most: usize,
        tools: Arc<ScriptedTools>,
        tenant: Option<&str>,
    ) -> Self {
        let store = self.store.another_node();
        Self::on(store, most, self.provider.clone(), tools, tenant)
    }

    fn on(
        store: MemoryStore,
        most: usize,
        provider: Arc<ScriptedProvider>,
        tools: Arc<ScriptedTools>,
        tenant: Option<&str>,
    ) -> Self {
        let (store, load) = (Arc::new(store), NodeLoad::new(most));
        let ports = Ports {
            provider: provider.clone(),
            store: store.clone(),
            tools: tools.clone(),
            blobs: Arc::new(NoBlobStore),
            hooks: Arc::new(NoHooks),
            approver: Arc::new(NoApprover),
            clock: Arc::new(RuntimeClock::new(Timestamp(1_000), 1)),
            programs: windlass_engine::ports::ProgramRuntimes::none(),
        };
        let peers = Peers {
            mailbox: Arc::new(store.mailbox()),
            live_bus: Arc::new(store.live_bus()),
            tenants: tenant.map_or(Tenants::All, |tenant| Tenants::One(tenant.to_owned())),
            load: load.clone(),
        };
        let engine = Engine::with_cluster(ports, Config::default(), peers);
        engine.adopt(AdoptionPolicy::default());
        Self { engine, store, load, provider, tools }
    }

    pub(crate) async fn open(&self, name: &str) -> SessionHandle {
        let settings = windlass_testkit::settings().with(|it| {
            it.tools = self.tools.tools();
            it.limits = Limits::default().with(|it| {
                it.sample_ms = 3_600_000;
                it.idle_ms = 3_600_000;
                it.first_byte_ms = 3_600_000;
            });
        });
        let start = Start::Either(Box::new(OpenSession {
            owner: me(),
            workspace: None,
            settings,
            lineage: Lineage::Root,
        }));
        self.engine.open(&id(name), &me(), start).await.unwrap()
    }

    /// Opens so many sessions and begins a turn in each, of which nobody waits for the end.
    pub(crate) async fn begin(&self, names: impl Iterator<Item = String>) {
        for name in names {
            let conversation = self.open(&name).await;
            conversation.send(hello()).await.unwrap();
        }
    }

    pub(crate) async fn log(&self, name: &str) -> Vec<RecordedFact> {
        self.store.read(&id(name), Seq::ZERO, 10_000).await.unwrap()
    }

    /// Waits until a session's turn has settled.
    pub(crate) async fn settled(&self, name: &str) {
        let settled = async {
            loop {
                let log = self.log(name).await;
                let last = log.iter().any(|one| matches!(one.fact, Fact::TurnSettled(_)));
                if last {
                    return;
                }
                tokio::time::sleep(ms(1)).await;
            }
        };
        soon(settled).await;
    }
}

pub(crate) fn me() -> Scope {
    Scope::local("tester")
}

pub(crate) fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

pub(crate) fn hello() -> NewInput {
    NewInput::new(me(), "hello")
}

/// What must come, within an hour of paused time.
#[track_caller]
pub(crate) fn soon<T>(future: impl Future<Output = T>) -> impl Future<Output = T> {
    let asked = Location::caller();
    async move {
        let waited = timeout(Duration::from_secs(3_600), future).await;
        waited.unwrap_or_else(|_| panic!("it did not come within an hour: {asked}"))
    }
}

/// Waits until something holds, and lets everything else go on meanwhile.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    let wait = async {
        while !holds() {
            tokio::time::sleep(ms(1)).await;
        }
    };
    soon(wait).await;
}

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
