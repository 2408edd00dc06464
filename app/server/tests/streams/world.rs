//! A server on a loopback port, over a scripted model and a scripted store.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use windlass_clock::SystemClock;
use windlass_engine::core::{
    Lineage, OpenSession, RecordedFact, Scope, SessionId, Settings, StopReason, StreamEvent,
};
use windlass_engine::ports::{NoApprover, NoHooks, Ports, StoreErrorKind, codec};
use windlass_engine::{Config, Engine, NewInput, SessionHandle, Start};
use windlass_server::{
    Access, Grant, Quota, Refusal, Right, Rights, Server, ServerLimits, ServerParts,
    SessionOptions, Tenant, TenantFactory, TokenHash, windlass_engine,
};
use windlass_testkit::Gate;
use windlass_testkit::blobs::HeldBlobs;
use windlass_testkit::faulty::{Fault, FaultyStore, Operation};
use windlass_testkit::provider::{ScriptedProvider, Step};
use windlass_testkit::tools::ScriptedTools;

/// The token of one who may do everything in tenant `a`.
pub(crate) const TOKEN: &str = "token-of-a";
/// The token of one who may read nothing in tenant `a`.
pub(crate) const BLIND: &str = "token-of-a-that-may-not-read";
/// The token of one who may do everything in tenant `b`.
pub(crate) const OTHER: &str = "token-of-b";

pub(crate) struct World {
    pub(crate) store: FaultyStore,
    pub(crate) access: Arc<Access>,
    pub(crate) bounds: ServerLimits,
    pub(crate) config: Config,
    pub(crate) quota: Quota,
    /// Why nothing can be read, if nothing can.
    pub(crate) unread: Arc<Mutex<Option<StoreErrorKind>>>,
    provider: Arc<ScriptedProvider>,
}

/// A server that runs. It is stopped when this is dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) engine: Engine,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

struct Plain;

impl TenantFactory for Plain {
    fn new_settings(&self, _: &SessionOptions) -> Result<Settings, Refusal> {
        Ok(settings())
    }

    fn current_settings(&self, recorded: &Settings) -> Result<Settings, Refusal> {
        Ok(recorded.clone())
    }

    fn models(&self) -> Vec<String> {
        vec!["m".to_owned()]
    }
}

impl World {
    pub(crate) fn new(script: impl IntoIterator<Item = Step>) -> Self {
        let quota = Quota::default();
        let unread: Arc<Mutex<Option<StoreErrorKind>>> = Arc::default();
        let fault = unread.clone();
        let store = FaultyStore::responding(move |operation, _| match operation {
            Operation::Read => {
                let kind = fault.lock().unwrap().clone();
                kind.map(Fault::Fail).into_iter().collect()
            }
            Operation::Probe => {
                // A probe says nothing of one session.
                let kind = fault.lock().unwrap().clone().filter(StoreErrorKind::is_of_store);
                kind.map(Fault::Fail).into_iter().collect()
            }
            Operation::Claim | Operation::Release | Operation::Append => Vec::new(),
        });
        Self {
            store,
            unread,
            access: Arc::new(Access::new(grants(), quotas(quota))),
            bounds: ServerLimits::default(),
            config: Config::default(),
            quota,
            provider: Arc::new(ScriptedProvider::new(script)),
        }
    }

    /// The same world with other bounds.
    pub(crate) fn bounded(mut self, change: impl FnOnce(&mut ServerLimits)) -> Self {
        change(&mut self.bounds);
        self
    }

    /// Starts a server on it. A second one is as another process: what ran before is cut off.
    pub(crate) async fn serve(&self) -> Running {
        self.access.replace(grants(), quotas(self.quota));
        let store = Arc::new(self.store.reopen());
        let clock = Arc::new(SystemClock::new());
        let blobs = HeldBlobs::new(1 << 30);
        let engine = Engine::new(
            Ports {
                provider: self.provider.clone(),
                store: store.clone(),
                tools: Arc::new(ScriptedTools::new([])),
                blobs: Arc::new(blobs.clone()),
                hooks: Arc::new(NoHooks),
                approver: Arc::new(NoApprover),
                clock: clock.clone(),
                programs: windlass_engine::ports::ProgramRuntimes::none(),
            },
            self.config,
        );
        let tenant = |name: &str| Tenant {
            name: name.to_owned(),
            engine: engine.clone(),
            store: store.clone(),
            blobs: Arc::new(blobs.clone()),
            workspace: None,
            files: None,
            served: windlass_server::ServedSessions::All,
            factory: Arc::new(Plain),
        };
        let server = Server::new(ServerParts {
            tenants: vec![tenant("a"), tenant("b")],
            access: self.access.clone(),
            bounds: self.bounds,
            clock,
            hosts: Vec::new(),
            origins: Vec::new(),
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(async move {
            let stopped = async move {
                let _ = stopped.await;
            };
            server.serve(listener, stopped).await.unwrap();
        });
        Running { address, engine, stop: Some(stop), serving }
    }

    /// The log of a session, as `windlass export` writes it.
    pub(crate) fn exported(&self, session: &str) -> Vec<String> {
        let lines = self.log(session).into_iter();
        let text = |fact| String::from_utf8(codec::encode(&fact).unwrap()).unwrap();
        lines.map(text).collect()
    }

    pub(crate) fn log(&self, session: &str) -> Vec<RecordedFact> {
        self.store.log(&id(session))
    }

    /// Nobody but `b` is known any more.
    pub(crate) fn revoke(&self) {
        let left = grants().into_iter().filter(|(_, grant)| grant.tenant == "b");
        self.access.replace(left, quotas(self.quota));
    }
}

impl Running {
    /// Opens a session of tenant `a`, or attaches to it.
    pub(crate) async fn open(&self, session: &str) -> SessionHandle {
        let start = Start::Either(Box::new(OpenSession {
            owner: ann(),
            workspace: None,
            settings: settings(),
            lineage: Lineage::Root,
        }));
        self.engine.open(&id(session), &ann(), start).await.unwrap()
    }

    /// Runs a turn to its end.
    pub(crate) async fn turn(&self, session: &str) {
        let conversation = self.open(session).await;
        let input = conversation.send(hello()).await.unwrap();
        soon(conversation.outcome(input)).await.unwrap();
        conversation.close().await;
    }

    /// Tells it to stop, and goes on.
    pub(crate) fn drain(&mut self) {
        drop(self.stop.take());
    }

    /// Stops it, and waits until it has.
    pub(crate) async fn stop(mut self) {
        self.drain();
        soon(&mut self.serving).await.unwrap();
        self.engine.shutdown("the test stops the server").await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn quotas(quota: Quota) -> BTreeMap<String, Quota> {
    BTreeMap::from([("a".to_owned(), quota)])
}

fn grants() -> Vec<(TokenHash, Grant)> {
    let grant =
        |tenant: &str, rights| Grant { tenant: tenant.to_owned(), scope: scope(tenant), rights };
    let blind = Rights::from_list(&[Right::Run, Right::Approve]);
    vec![
        (TokenHash::of(TOKEN), grant("a", Rights::ALL)),
        (TokenHash::of(BLIND), grant("a", blind)),
        (TokenHash::of(OTHER), grant("b", Rights::ALL)),
    ]
}

fn scope(tenant: &str) -> Scope {
    Scope::Principal {
        tenant: tenant.to_owned(),
        principal: "ann".to_owned(),
        claims: BTreeMap::new(),
    }
}

fn ann() -> Scope {
    scope("a")
}

pub(crate) fn hello() -> NewInput {
    NewInput::new(ann(), "hello")
}

pub(crate) fn id(session: &str) -> SessionId {
    SessionId::new(session).unwrap()
}

fn settings() -> Settings {
    windlass_testkit::settings()
}

/// An answer of text that waits at a gate in its middle.
pub(crate) fn halves(first: &str, second: &str, gate: &Gate) -> Step {
    let text = |text: &str| StreamEvent::Text { slot: 0, text: text.to_owned() };
    let done = StreamEvent::Done { slot: 0, text: None, opaque: None };
    let reason = StopReason::Stop;
    Step::default().batch([text(first)]).then_gate(gate).batch([
        text(second),
        done,
        StreamEvent::Finished { reason },
    ])
}

/// What must come, within a minute.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    let waited = timeout(Duration::from_secs(60), future).await;
    waited.expect("it did not come within a minute")
}
