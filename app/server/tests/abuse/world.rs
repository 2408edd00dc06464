//! The world of these tests: a server with two tenants, and a client that sends any bytes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use windlass_memory::{MemoryBlobs, MemoryStore};
use windlass_server::windlass_engine::core::{Scope, Settings, Timestamp};
use windlass_server::windlass_engine::ports::{ExternalApprover, NoHooks, Ports};
use windlass_server::windlass_engine::{Config, Engine};
use windlass_server::{
    Access, Grant, Quota, Refusal, Rights, Server, ServerLimits, ServerParts, SessionOptions,
    Tenant, TenantFactory, TokenHash,
};
use windlass_testkit::clock::ManualClock;
use windlass_testkit::provider::ScriptedProvider;
use windlass_testkit::tools::ScriptedTools;

/// The token of the tenant `acme`.
pub(crate) const TOKEN: &str = "the-token-of-ann";
/// The token of the tenant `other`.
pub(crate) const OTHER: &str = "the-token-of-bob";
/// A page that may call.
pub(crate) const PAGE: &str = "https://chat.example.org";
/// A name that the server is called by.
pub(crate) const NAME: &str = "served.example.org";

/// A server over a real socket.
pub(crate) struct Running {
    pub(crate) at: SocketAddr,
    _stop: oneshot::Sender<()>,
    _serving: JoinHandle<()>,
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Running {
    pub(crate) async fn start() -> Self {
        Self::with(ServerLimits::default(), Quota::default()).await
    }

    pub(crate) async fn with(bounds: ServerLimits, quota: Quota) -> Self {
        let store = Arc::new(MemoryStore::new());
        let tenant = |name: &str| {
            let ports = Ports {
                provider: Arc::new(ScriptedProvider::new([])),
                store: store.clone(),
                tools: Arc::new(ScriptedTools::new([])),
                blobs: Arc::new(MemoryBlobs::new()),
                hooks: Arc::new(NoHooks),
                approver: Arc::new(ExternalApprover),
                clock: Arc::new(ManualClock::new(Timestamp(1_790_000_000_000), 7)),
                programs: windlass_engine::ports::ProgramRuntimes::none(),
            };
            Tenant {
                name: name.to_owned(),
                store: ports.store.clone(),
                blobs: ports.blobs.clone(),
                engine: Engine::new(ports, Config::default()),
                workspace: None,
                files: None,
                served: windlass_server::ServedSessions::All,
                factory: Arc::new(Plain),
            }
        };
        let grants = [(TOKEN, "acme"), (OTHER, "other")].map(|(token, tenant)| {
            let scope = Scope::Principal {
                tenant: tenant.to_owned(),
                principal: "ann".to_owned(),
                claims: BTreeMap::new(),
            };
            let grant = Grant { tenant: tenant.to_owned(), scope, rights: Rights::ALL };
            (TokenHash::of(token), grant)
        });
        let quotas = BTreeMap::from([("acme".to_owned(), quota)]);
        let server = Server::new(ServerParts {
            tenants: ["acme", "other"].map(tenant).into(),
            access: Arc::new(Access::new(grants, quotas)),
            bounds,
            clock: Arc::new(ManualClock::new(Timestamp(1_790_000_000_000), 7)),
            hosts: vec![NAME.to_owned()],
            origins: vec![PAGE.to_owned()],
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(async move {
            let stopped = async move {
                let _ = stopped.await;
            };
            server.serve(listener, stopped).await.unwrap();
        });
        Self { at, _stop: stop, _serving: serving }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.at).await.unwrap()
    }

    /// Sends these bytes, and reads what comes until the connection is closed.
    pub(crate) async fn raw(&self, bytes: &str) -> String {
        let mut socket = self.connect().await;
        socket.write_all(bytes.as_bytes()).await.unwrap();
        read(&mut socket).await
    }

    /// Sends one request of the first tenant.
    pub(crate) async fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let token = format!("Authorization: Bearer {TOKEN}\r\n{headers}");
        self.bare(method, path, &token, body).await
    }

    /// Sends one request with these headers, and no token.
    pub(crate) async fn bare(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let (at, length) = (self.at, body.len());
        let host = match headers.to_lowercase().contains("host:") {
            true => String::new(),
            false => format!("Host: {at}\r\n"),
        };
        let length = match length {
            0 => String::new(),
            length => format!("Content-Length: {length}\r\n"),
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{host}Connection: close\r\n{length}{headers}\r\n{body}"
        );
        Answer::of(&self.raw(&request).await)
    }

    /// Opens a session of the first tenant.
    pub(crate) async fn session(&self) -> String {
        let opened = self.ask("POST", "/v1/sessions", JSON, "{}").await;
        assert_eq!(opened.status, 201, "{opened:?}");
        opened.json()["id"].as_str().unwrap().to_owned()
    }
}

/// The header of a body.
pub(crate) const JSON: &str = "Content-Type: application/json\r\n";

/// Reads until the connection is closed, in whatever way.
pub(crate) async fn read(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let reading = async {
        let mut part = [0; 4096];
        while let Ok(n @ 1..) = socket.read(&mut part).await {
            bytes.extend_from_slice(&part[..n]);
        }
    };
    let ended = timeout(Duration::from_secs(60), reading).await;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    assert!(ended.is_ok(), "the connection stays open: {text}");
    text
}

impl Answer {
    pub(crate) fn of(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").expect(text);
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The status and the code of a problem.
    #[track_caller]
    pub(crate) fn problem(&self) -> (u16, String) {
        let form = "content-type: application/problem+json";
        assert!(self.head.contains(form), "{self:?}");
        let code = self.json()["code"].as_str().unwrap_or_default().to_owned();
        (self.status, code)
    }

    /// Whether this is a problem with this code.
    #[track_caller]
    pub(crate) fn is(&self, status: u16, code: &str) {
        assert_eq!(self.problem(), (status, code.to_owned()), "{self:?}");
    }
}

/// Settings that need nothing.
struct Plain;

impl TenantFactory for Plain {
    fn new_settings(&self, _: &SessionOptions) -> Result<Settings, Refusal> {
        Ok(windlass_testkit::settings())
    }

    fn current_settings(&self, recorded: &Settings) -> Result<Settings, Refusal> {
        Ok(recorded.clone())
    }

    fn models(&self) -> Vec<String> {
        vec!["m".into()]
    }
}
