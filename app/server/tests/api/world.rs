//! The world of these tests: a store that outlives servers, a scripted model, and servers over real
//! sockets.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use windlass_engine::core::{
    Limits, Lineage, Mode, OpenSession, Permissions, ProgramMode, RequestOptions, Scope, SessionId,
    Settings,
};
use windlass_engine::ports::{
    Approval, ApprovalRequest, Approver, ApproverError, BlobStore, FileRestorer, LogStore, NoHooks,
    Ports, ProgramRuntimes, Tenants, ToolExecutor,
};
use windlass_engine::{Config, Engine, NodeLoad, Peers, Start};
use windlass_memory::{MemoryBlobs, MemoryStore};
use windlass_server::{
    Access, Grant, Quota, Refusal, Rights, Server, ServerLimits, ServerParts, SessionOptions,
    SettingsChange, Tenant, TenantFactory, TokenHash, windlass_engine,
};
use windlass_testkit::clock::ManualClock;
use windlass_testkit::nodes::{NoRelay, Node};
use windlass_testkit::programs::{SCRIPTED, ScriptedRuntime};
use windlass_testkit::provider::{ScriptedProvider, Step};
use windlass_testkit::tools::{ScriptedTool, ScriptedTools};

use crate::client::{Answer, Ask, OTHER, READER, RUNNER, TOKEN, soon};

/// When all of it happens, in milliseconds since 1970.
pub(crate) const NOW: u64 = 1_790_000_000_000;

/// Folder of sessions, where the server has files.
pub(crate) const WORKSPACE: &str = "/work";

/// What outlives a server.
pub(crate) struct World {
    pub(crate) store: Arc<dyn LogStore>,
    pub(crate) blobs: Arc<dyn BlobStore>,
    pub(crate) provider: ScriptedProvider,
    pub(crate) quota: Quota,
    pub(crate) bounds: ServerLimits,
    /// How many sessions a node drives, and how long it waits for others.
    pub(crate) most: usize,
    pub(crate) remote_command_ms: u64,
    /// How its sessions ask the model.
    pub(crate) options: RequestOptions,
    /// Files of the first workspace, if the server has them.
    pub(crate) files: Option<Arc<dyn FileRestorer>>,
    tools: Arc<dyn ToolExecutor>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) today: Arc<Mutex<CurrentConfig>>,
}

/// What the tenants' configuration says today.
pub(crate) struct CurrentConfig {
    pub(crate) instructions: String,
    pub(crate) refuses: bool,
}

/// A server over a real socket.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) engines: Vec<Engine>,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

impl World {
    pub(crate) fn new(
        script: impl IntoIterator<Item = Step>,
        tools: impl IntoIterator<Item = ScriptedTool>,
    ) -> Self {
        Self {
            store: Arc::new(MemoryStore::new()),
            blobs: Arc::new(MemoryBlobs::new()),
            provider: ScriptedProvider::new(script),
            quota: Quota::default(),
            bounds: ServerLimits { unknown_ms: 1, ..ServerLimits::default() },
            most: 100,
            remote_command_ms: 30_000,
            options: RequestOptions::default(),
            files: None,
            tools: Arc::new(ScriptedTools::new(tools)),
            clock: Arc::new(ManualClock::new(windlass_engine::core::Timestamp(NOW), 7)),
            today: Arc::new(Mutex::new(CurrentConfig {
                instructions: "Be brief.".into(),
                refuses: false,
            })),
        }
    }

    /// The same world with other tools.
    pub(crate) fn with(mut self, tools: impl IntoIterator<Item = ScriptedTool>) -> Self {
        self.tools = Arc::new(ScriptedTools::new(tools));
        self
    }

    /// Opens a session of this id for the first tenant.
    pub(crate) async fn open_named(&self, server: &Running, id: &SessionId) {
        self.open_as(server, id, Lineage::Root, |_| ()).await;
    }

    /// Opens a session of this id and lineage for the first tenant, with its settings changed.
    pub(crate) async fn open_as(
        &self,
        server: &Running,
        id: &SessionId,
        lineage: Lineage,
        change: impl FnOnce(&mut Settings),
    ) {
        let house = self.house();
        let owner = grant("acme", "ann", Rights::ALL).scope;
        let mut settings = house.new_settings(&SessionOptions::default()).unwrap();
        change(&mut settings);
        let opening = OpenSession { owner: owner.clone(), workspace: None, settings, lineage };
        let start = Start::New(Box::new(opening));
        let conversation = server.engines[0].open(id, &owner, start).await.unwrap();
        conversation.flush().await.unwrap();
    }

    /// The engine of a server that is alone on its store, or of a node.
    fn engine(&self, node: Option<&Node>) -> Engine {
        let ports = Ports {
            provider: Arc::new(self.provider.clone()),
            store: self.store_of(node),
            tools: self.tools.clone(),
            blobs: self.blobs.clone(),
            hooks: Arc::new(NoHooks),
            approver: Arc::new(Elsewhere),
            clock: self.clock.clone(),
            programs: ProgramRuntimes::none().with(Arc::new(ScriptedRuntime)),
        };
        let config = Config::default().with(|it| {
            it.remote_command_ms = self.remote_command_ms;
            it.fork_bytes = self.bounds.fork_bytes;
        });
        let Some(node) = node else {
            return Engine::new(ports, config);
        };
        let peers = Peers {
            mailbox: node.inbox(),
            live_bus: Arc::new(NoRelay::default()),
            tenants: Tenants::All,
            load: NodeLoad::new(self.most),
        };
        let engine = Engine::with_cluster(ports, config, peers);
        let (mut arrivals, told) = (node.inbox().arrivals(), engine.clone());
        tokio::spawn(async move {
            while let Some(session) = arrivals.next().await {
                told.notify_driver(&session);
            }
        });
        engine
    }

    fn house(&self) -> TestTenantFactory {
        TestTenantFactory {
            tools: self.tools.clone(),
            options: self.options.clone(),
            today: self.today.clone(),
        }
    }

    fn store_of(&self, node: Option<&Node>) -> Arc<dyn LogStore> {
        node.map_or_else(|| self.store.clone(), Node::store)
    }

    /// Begins to serve two tenants.
    pub(crate) async fn serve(&self) -> Running {
        self.serve_as(None).await
    }

    /// Begins to serve them as a node.
    pub(crate) async fn serve_as(&self, node: Option<&Node>) -> Running {
        let tenant = |name: &str| Tenant {
            name: name.to_owned(),
            engine: self.engine(node),
            store: self.store_of(node),
            blobs: self.blobs.clone(),
            workspace: self.files.as_ref().map(|_| WORKSPACE.to_owned()),
            files: self.files.clone(),
            served: windlass_server::ServedSessions::All,
            factory: Arc::new(self.house()),
        };
        let tenants: Vec<_> = ["acme", "other"].map(tenant).into();
        let engines = tenants.iter().map(|tenant| tenant.engine.clone()).collect();
        let grant = |token, tenant, who, rights| (TokenHash::of(token), grant(tenant, who, rights));
        let reads = Rights { read: true, run: false, approve: false, erase: false };
        let grants = [
            grant(TOKEN, "acme", "ann", Rights::ALL),
            grant(OTHER, "other", "bob", Rights::ALL),
            grant(READER, "acme", "reader", reads),
            grant(RUNNER, "acme", "runner", Rights { run: true, ..reads }),
        ];
        let quotas = BTreeMap::from([("acme".to_owned(), self.quota)]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = Server::new(ServerParts {
            tenants,
            access: Arc::new(Access::new(grants, quotas)),
            bounds: self.bounds,
            clock: self.clock.clone(),
            hosts: vec![address.to_string()],
            origins: Vec::new(),
        });
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(async move {
            let stopped = async move {
                let _ = stopped.await;
            };
            server.serve(listener, stopped).await.unwrap();
        });
        Running { address, engines, stop: Some(stop), serving }
    }
}

impl Running {
    pub(crate) fn get(&self, path: &str) -> Ask {
        Ask::new(self.address, "GET", path)
    }

    pub(crate) fn delete(&self, path: &str) -> Ask {
        Ask::new(self.address, "DELETE", path)
    }

    pub(crate) fn patch(&self, path: &str, body: &Value) -> Ask {
        Ask::new(self.address, "PATCH", path).json(body)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Ask {
        Ask::new(self.address, "POST", path).json(body)
    }

    /// Opens a session and answers its id.
    pub(crate) async fn open(&self, wish: &Value) -> String {
        let opened = self.post("/sessions", wish).send().await.is(201);
        opened["id"].as_str().unwrap().to_owned()
    }

    /// Sends a text for a turn, and waits for its end.
    pub(crate) async fn turn(&self, id: &str, text: &str) -> Value {
        let path = format!("/sessions/{id}/turns");
        let taken = self.post(&path, &json!({ "text": text })).send().await;
        let turn = &taken.is(202)["turn"];
        self.ended(id, turn.as_u64().expect("a turn at once")).await
    }

    /// Waits for a turn's end.
    pub(crate) async fn ended(&self, id: &str, turn: u64) -> Value {
        let path = format!("/sessions/{id}/turns/{turn}");
        let asked = self.get(&path).header("Prefer", "wait=60").send().await;
        let turn = asked.is(200);
        assert_eq!(turn["state"], "settled", "{turn}");
        turn
    }

    /// Stops the server, and with it what runs; what is in the store stays.
    pub(crate) async fn stop(mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        soon(self.serving).await.unwrap();
        for engine in &self.engines {
            engine.hand_off(10_000, "the server is stopped").await;
        }
    }

    /// Ends the server as a crash does: whoever goes on takes its sessions over.
    pub(crate) fn kill(self) {
        self.serving.abort();
    }
}

fn grant(tenant: &str, principal: &str, rights: Rights) -> Grant {
    Grant {
        tenant: tenant.to_owned(),
        scope: Scope::Principal {
            tenant: tenant.to_owned(),
            principal: principal.to_owned(),
            claims: BTreeMap::new(),
        },
        rights,
    }
}

/// Questions are answered by whoever answers them over HTTP.
struct Elsewhere;

#[async_trait]
impl Approver for Elsewhere {
    async fn ask(&self, _: ApprovalRequest) -> Result<Approval, ApproverError> {
        std::future::pending().await
    }
}

struct TestTenantFactory {
    tools: Arc<dyn ToolExecutor>,
    options: RequestOptions,
    today: Arc<Mutex<CurrentConfig>>,
}

impl TenantFactory for TestTenantFactory {
    fn new_settings(&self, wish: &SessionOptions) -> Result<Settings, Refusal> {
        let model = wish.model.clone().unwrap_or_else(|| "m".into());
        if !self.models().contains(&model) {
            return Err(Refusal(format!("the model {model:?} is not offered")));
        }
        let today = self.today.lock().unwrap();
        let mut options = self.options.clone();
        if let Some(runtime) = &wish.program {
            if runtime != SCRIPTED {
                return Err(Refusal(format!("the runtime {runtime:?} is not offered")));
            }
            options.program = Some(ProgramMode {
                runtime: runtime.clone(),
                transport: wish.program_transport.unwrap_or_default(),
                limits: Default::default(),
                data: None,
                corrections: 0,
            });
        }
        Ok(windlass_testkit::settings().with(|it| {
            it.model = model;
            it.instructions = today.instructions.clone();
            it.mode = wish.mode.unwrap_or(Mode::Build);
            it.effort.clone_from(&wish.effort);
            it.permissions = wish.permissions.unwrap_or(Permissions::Auto);
            it.tools = self.tools.tools();
            it.limits = wish.limits.unwrap_or_default().within(&Limits::default());
            it.options = options;
        }))
    }

    fn current_settings(&self, recorded: &Settings) -> Result<Settings, Refusal> {
        let today = self.today.lock().unwrap();
        if today.refuses {
            return Err(Refusal("the provider is gone".into()));
        }
        Ok(recorded.clone().with(|it| {
            it.instructions = today.instructions.clone();
            it.tools = self.tools.tools();
        }))
    }

    fn changed_settings(
        &self,
        recorded: &Settings,
        change: &SettingsChange,
    ) -> Result<Settings, Refusal> {
        let offered = |model: &String| self.models().contains(model);
        if !change.model.as_ref().is_none_or(offered) {
            return Err(Refusal(format!("the model {:?} is not offered", change.model)));
        }
        self.current_settings(&recorded.clone().with(|it| {
            it.mode = change.mode.unwrap_or(it.mode);
            it.permissions = change.permissions.unwrap_or(it.permissions);
            it.model = change.model.clone().unwrap_or(it.model.clone());
            it.effort = change.effort.clone().unwrap_or(it.effort.take());
        }))
    }

    fn models(&self) -> Vec<String> {
        vec!["m".into(), "n".into()]
    }
}

/// A problem's status and code, to compare with.
pub(crate) fn problem(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

/// All of a session's facts.
pub(crate) async fn facts(server: &Running, id: &str) -> Vec<Value> {
    let answer: Answer = server.get(&format!("/sessions/{id}/history?limit=1000")).send().await;
    let page = answer.is(200);
    assert_eq!(page["next"], Value::Null);
    page["facts"].as_array().unwrap().clone()
}
