//! A fleet: engines that share a scripted store, a model and tools, each a node of its own.

use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use windlass_engine::core::{
    Fact, Lineage, OpenSession, Permissions, RecordedFact, Scope, SessionId, Settings, Timestamp,
    decide, replay,
};
use windlass_engine::ports::{Approver, NoApprover, NoHooks, Ports, Tenants, ToolExecutor};
use windlass_engine::{
    AdoptionPolicy, Config, Engine, NewInput, NodeLoad, Peers, SessionHandle, Start,
};
use windlass_testkit::blobs::HeldBlobs;
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::nodes::{InboxFault, InboxOperation, NoRelay, Node, Nodes};
use windlass_testkit::provider::{ScriptedProvider, Step};
use windlass_testkit::tools::{ScriptedTool, ScriptedTools};

use crate::clock::RuntimeClock;

/// Within what time others go on with what a node drove: its lease and a second.
pub(crate) const TAKEN_OVER: Duration = Nodes::LEASE.saturating_add(Duration::from_secs(1));

/// What the nodes of a fleet share.
#[derive(Clone)]
pub(crate) struct Fleet {
    pub(crate) logs: FaultyStore,
    pub(crate) place: Nodes,
    pub(crate) provider: ScriptedProvider,
    pub(crate) approver: Arc<dyn Approver>,
    pub(crate) blobs: HeldBlobs,
    pub(crate) tools: Arc<ScriptedTools>,
    clock: Arc<RuntimeClock>,
    permissions: Permissions,
}

/// An engine of a fleet.
pub(crate) struct Member {
    pub(crate) engine: Engine,
    pub(crate) node: Node,
}

pub(crate) fn me() -> Scope {
    Scope::local("tester")
}

pub(crate) fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

pub(crate) fn said(text: &str) -> NewInput {
    NewInput::new(me(), text)
}

impl Fleet {
    pub(crate) fn new(script: impl IntoIterator<Item = Step>) -> Self {
        Self::with(script, [])
    }

    pub(crate) fn with(
        script: impl IntoIterator<Item = Step>,
        tools: impl IntoIterator<Item = ScriptedTool>,
    ) -> Self {
        Self::over(FaultyStore::new(), script, tools)
    }

    pub(crate) fn over(
        logs: FaultyStore,
        script: impl IntoIterator<Item = Step>,
        tools: impl IntoIterator<Item = ScriptedTool>,
    ) -> Self {
        Self {
            place: Nodes::over(Arc::new(logs.clone())),
            logs,
            provider: ScriptedProvider::new(script),
            approver: Arc::new(NoApprover),
            blobs: HeldBlobs::new(1 << 30),
            tools: Arc::new(ScriptedTools::new(tools)),
            clock: Arc::new(RuntimeClock::new(Timestamp(1_000), 1)),
            permissions: Permissions::Auto,
        }
    }

    /// Its inboxes have these faults.
    pub(crate) fn failing(
        mut self,
        script: impl Fn(InboxOperation, usize) -> Vec<InboxFault> + Send + Sync + 'static,
    ) -> Self {
        self.place = self.place.responding(script);
        self
    }

    /// People are asked about its calls.
    pub(crate) fn asking(mut self, approver: impl Approver) -> Self {
        self.approver = Arc::new(approver);
        self.permissions = Permissions::Ask;
        self
    }

    /// Another node, which drives up to 100 sessions and hears of letters.
    pub(crate) fn member(&self) -> Member {
        self.member_of(100)
    }

    /// Another node, which drives up to so many sessions.
    pub(crate) fn member_of(&self, most: usize) -> Member {
        let member = self.join(most);
        let mut arrivals = member.node.inbox().arrivals();
        let told = member.engine.clone();
        tokio::spawn(async move {
            while let Some(session) = arrivals.next().await {
                told.notify_driver(&session);
            }
        });
        member
    }

    /// Another node, which drives up to 100 sessions and takes up what nobody drives.
    pub(crate) fn keeper(&self) -> Member {
        self.keeper_of(100)
    }

    /// The same, which drives up to so many sessions.
    pub(crate) fn keeper_of(&self, most: usize) -> Member {
        let member = self.join(most);
        member.engine.adopt(AdoptionPolicy::default());
        member
    }

    /// Another node, which hears of nothing by itself.
    fn join(&self, most: usize) -> Member {
        let node = self.place.node();
        let peers = Peers {
            mailbox: node.inbox(),
            live_bus: Arc::new(NoRelay::default()),
            tenants: Tenants::All,
            load: NodeLoad::new(most),
        };
        let engine = Engine::with_cluster(self.ports(&node), Config::default(), peers);
        Member { engine, node }
    }

    /// An engine that knows of no others.
    pub(crate) fn alone(&self) -> Engine {
        Engine::new(self.ports(&self.place.node()), Config::default())
    }

    fn ports(&self, node: &Node) -> Ports {
        Ports {
            provider: Arc::new(self.provider.clone()),
            store: node.store(),
            tools: self.tools.clone(),
            blobs: Arc::new(self.blobs.clone()),
            hooks: Arc::new(NoHooks),
            approver: self.approver.clone(),
            clock: self.clock.clone(),
            programs: windlass_engine::ports::ProgramRuntimes::none(),
        }
    }

    /// How a session is opened.
    pub(crate) fn start(&self) -> Start {
        Start::Either(Box::new(OpenSession {
            owner: me(),
            workspace: None,
            settings: self.settings(),
            lineage: Lineage::Root,
        }))
    }

    /// What it is opened with.
    pub(crate) fn settings(&self) -> Settings {
        windlass_testkit::settings().with(|it| {
            it.permissions = self.permissions;
            it.tools = self.tools.tools();
        })
    }

    /// Has a node drive session `s`, new or not, for as long as the answer is held.
    pub(crate) async fn drives(&self, member: &Member) -> SessionHandle {
        let opened = member.engine.open(&id("s"), &me(), self.start()).await;
        let conversation = opened.unwrap();
        conversation.flush().await.unwrap();
        conversation
    }

    /// The log of session `s`, which the core decides as the engines had it decided.
    pub(crate) fn log(&self) -> Vec<RecordedFact> {
        let log = self.logs.log(&id("s"));
        if !log.is_empty() {
            let told = replay(decide, log.iter().cloned()).unwrap();
            assert_eq!((told.divergences, told.request_divergences), (vec![], vec![]));
        }
        log
    }

    /// How many facts of session `s` a function picks.
    pub(crate) fn count(&self, pick: impl Fn(&Fact) -> bool) -> usize {
        self.log().iter().filter(|one| pick(&one.fact)).count()
    }

    /// What users have said in session `s`, in its order.
    pub(crate) fn texts(&self) -> Vec<String> {
        let log = self.log();
        let texts = log.iter().filter_map(|one| match &one.fact {
            Fact::InputQueued(queued) => Some(queued.text.to_string()),
            _ => None,
        });
        texts.collect()
    }
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
#[track_caller]
pub(crate) fn until(holds: impl Fn() -> bool) -> impl Future<Output = ()> {
    soon(async move {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
}
