//! Nodes: engines that share a store, each with a relay of its own.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use windlass_engine::core::{Lineage, OpenSession, RecordedFact, Scope, Seq, SessionId, Timestamp};
use windlass_engine::ports::{
    LiveBus, LogStore, Mailbox, NoApprover, NoBlobStore, NoHooks, Ports, Tenants, ToolExecutor as _,
};
use windlass_engine::{Config, Engine, NewInput, NodeLoad, Peers, Start};
use windlass_memory::MemoryStore;
use windlass_nats::{NatsConfig, NatsLiveBus, NatsStore};
use windlass_postgres::{PostgresConfig, PostgresStore};
use windlass_testkit::clock::ManualClock;
use windlass_testkit::nats::NatsServer;
use windlass_testkit::postgres::PostgresServer;
use windlass_testkit::provider::{ScriptedProvider, Step};
use windlass_testkit::tools::{ScriptedTool, ScriptedTools};

use crate::lossy::Lossy;

/// Where nodes meet.
pub(crate) enum Place {
    Memory(Arc<MemoryStore>),
    Postgres(String),
    Nats(String),
    /// Logs in PostgreSQL, and what streams over NATS.
    Beside {
        store: String,
        live: String,
    },
}

/// One process, as it were.
pub(crate) struct Node {
    store: Arc<dyn LogStore>,
    relay: Arc<dyn LiveBus>,
    inbox: Arc<dyn Mailbox>,
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

/// A new session, with these tools.
pub(crate) fn start(tools: &[ScriptedTool]) -> Start {
    let settings = windlass_testkit::settings()
        .with(|it| it.tools = ScriptedTools::new(tools.to_vec()).tools());
    Start::New(Box::new(OpenSession {
        owner: me(),
        workspace: None,
        settings,
        lineage: Lineage::Root,
    }))
}

impl Place {
    pub(crate) fn memory() -> Self {
        Self::Memory(Arc::new(MemoryStore::new()))
    }

    /// A schema of its own; `None` where there is no server, which is said.
    pub(crate) fn postgres() -> Option<Self> {
        postgres_url().map(Self::Postgres)
    }

    /// A place of its own; `None` where there is no server, which is said.
    pub(crate) fn nats() -> Option<Self> {
        nats_url().map(Self::Nats)
    }

    /// Both; `None` where one is missing, which is said.
    pub(crate) fn beside() -> Option<Self> {
        Some(Self::Beside {
            store: format!("{}&listen=never&poll_ms=50", postgres_url()?),
            live: nats_url()?,
        })
    }

    pub(crate) async fn node(&self) -> Node {
        match self {
            Self::Memory(store) => Node {
                store: store.clone(),
                relay: Arc::new(store.live_bus()),
                inbox: Arc::new(store.mailbox()),
            },
            Self::Postgres(url) => {
                let config = PostgresConfig::parse(url).unwrap();
                let store = PostgresStore::connect(config).await.unwrap();
                Node {
                    relay: Arc::new(store.live_bus().unwrap()),
                    inbox: Arc::new(store.mailbox()),
                    store: Arc::new(store),
                }
            }
            Self::Beside { store, live } => {
                let config = PostgresConfig::parse(store).unwrap();
                let store = PostgresStore::connect(config).await.unwrap();
                let live = NatsConfig::parse(live).unwrap();
                Node {
                    relay: Arc::new(NatsLiveBus::connect(&live).await.unwrap()),
                    inbox: Arc::new(store.mailbox()),
                    store: Arc::new(store),
                }
            }
            Self::Nats(url) => {
                let store = NatsStore::open(&NatsConfig::parse(url).unwrap()).await.unwrap();
                Node {
                    relay: Arc::new(store.live_bus()),
                    inbox: Arc::new(store.mailbox()),
                    store: Arc::new(store),
                }
            }
        }
    }

    /// A node that loses some of what it hears.
    pub(crate) async fn lossy(&self, seed: u64) -> Node {
        let node = self.node().await;
        let relay = Arc::new(Lossy::new(node.relay, seed));
        Node { relay, ..node }
    }
}

/// A PostgreSQL store with a schema of its own; `None` where there is no server, which is said.
pub(crate) fn postgres_url() -> Option<String> {
    static OWN: OnceLock<PostgresServer> = OnceLock::new();
    let url = match std::env::var(windlass_testkit::postgres::URL) {
        Ok(url) => url,
        Err(_) if PostgresServer::programs().is_none() => {
            eprintln!("skipped: {}", windlass_testkit::postgres::MISSING);
            return None;
        }
        Err(_) => OWN.get_or_init(|| PostgresServer::start().unwrap()).url(),
    };
    Some(format!("{url}?schema={}&pool=4", name()))
}

/// A NATS store with a place of its own; `None` where there is no server, which is said.
fn nats_url() -> Option<String> {
    static OWN: OnceLock<NatsServer> = OnceLock::new();
    let url = match std::env::var(windlass_testkit::nats::URL) {
        Ok(url) => url,
        Err(_) if NatsServer::program().is_none() => {
            eprintln!("skipped: {}", windlass_testkit::nats::MISSING);
            return None;
        }
        Err(_) => OWN.get_or_init(|| NatsServer::start().unwrap()).url(),
    };
    let name = name();
    Some(format!("{url}/{name}?shards=2&replicas=1&erase=late"))
}

fn name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("across{}x{count}", std::process::id())
}

impl Node {
    pub(crate) fn engine(
        &self,
        script: impl IntoIterator<Item = Step>,
        tools: &[ScriptedTool],
    ) -> Engine {
        let ports = Ports {
            provider: Arc::new(ScriptedProvider::new(script)),
            store: self.store.clone(),
            tools: Arc::new(ScriptedTools::new(tools.to_vec())),
            blobs: Arc::new(NoBlobStore),
            hooks: Arc::new(NoHooks),
            approver: Arc::new(NoApprover),
            clock: Arc::new(ManualClock::new(Timestamp(1_000), 7)),
            programs: windlass_engine::ports::ProgramRuntimes::none(),
        };
        let peers = Peers {
            mailbox: self.inbox.clone(),
            live_bus: self.relay.clone(),
            tenants: Tenants::All,
            load: NodeLoad::new(100),
        };
        Engine::with_cluster(ports, Config::default(), peers)
    }

    pub(crate) async fn log(&self, session: &SessionId) -> Vec<RecordedFact> {
        self.store.read(session, Seq::ZERO, 10_000).await.unwrap()
    }

    /// How many live messages were dropped here.
    pub(crate) fn dropped(&self) -> u64 {
        self.relay.dropped()
    }
}
