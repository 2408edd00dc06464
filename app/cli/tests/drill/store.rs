//! The store that the nodes share: a server of this test alone, or the one that the environment names.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, Mutex};

use windlass_engine::core::{Seq, SessionId};
use windlass_engine::ports::LogStore;
use windlass_nats::{NatsConfig, NatsStore};
use windlass_postgres::{PostgresConfig, PostgresStore};
use windlass_testkit::nats::{self, NatsServer};
use windlass_testkit::postgres::{self, PostgresServer};

/// How long a node's lease lasts without a renewal.
pub(crate) const LEASE_MS: u64 = 2_000;

/// A store.
pub(crate) struct Store {
    pub(crate) name: &'static str,
    /// Where the server listens.
    pub(crate) server: SocketAddr,
    before: String,
    after: String,
    running: Running,
}

/// A server that is this test's own ends when it is dropped.
enum Running {
    Postgres(Mutex<PostgresServer>),
    Nats {
        _server: NatsServer,
    },
    /// It is another's.
    Elsewhere,
}

/// What no other run on the same server is called.
fn own_name() -> String {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    format!("drill{}_{}", std::process::id(), now.subsec_nanos())
}

impl Store {
    /// `None` where there is no server, which is said.
    pub(crate) fn postgres() -> Option<Self> {
        let (running, url) = match PostgresServer::programs() {
            Some(_) => {
                let server = PostgresServer::start().unwrap();
                let url = server.url();
                (Running::Postgres(Mutex::new(server)), url)
            }
            None => (Running::Elsewhere, named(postgres::URL, postgres::MISSING)?),
        };
        let options = format!(
            "?schema={}&lease_ms={LEASE_MS}&answer_ms=3000&patience_ms=3000&pool=4",
            own_name()
        );
        Some(Self::at("PostgreSQL", &url, options, running))
    }

    /// The same on NATS.
    pub(crate) fn nats() -> Option<Self> {
        let (running, url) = match NatsServer::program() {
            Some(_) => {
                let server = NatsServer::start().unwrap();
                let url = server.url();
                (Running::Nats { _server: server }, url)
            }
            None => (Running::Elsewhere, named(nats::URL, nats::MISSING)?),
        };
        let options =
            format!("/{}?lease_ms={LEASE_MS}&timeout_ms=3000&shards=2&erase=late", own_name());
        Some(Self::at("NATS", &url, options, running))
    }

    fn at(name: &'static str, url: &str, options: String, running: Running) -> Self {
        let (scheme, rest) = url.split_once("://").unwrap();
        let (user, rest) = rest.split_once('@').unwrap_or(("", rest));
        let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
        let at = if user.is_empty() { "" } else { "@" };
        let path = match path.is_empty() {
            true => String::new(),
            false => format!("/{path}"),
        };
        Self {
            name,
            server: address.to_socket_addrs().unwrap().next().unwrap(),
            before: format!("{scheme}://{user}{at}"),
            after: format!("{path}{options}"),
            running,
        }
    }

    /// Whether it can be told to refuse writes: a PostgreSQL of this test's own.
    pub(crate) fn takes_orders(&self) -> bool {
        matches!(self.running, Running::Postgres(_))
    }

    /// Has it refuse writes, or take them again.
    pub(crate) fn refuse_writes(&self, refuse: bool) {
        let Running::Postgres(server) = &self.running else {
            panic!("{} takes no orders", self.name);
        };
        server.lock().unwrap().refuse_writes(refuse).unwrap();
    }

    /// Whether a claim that outlived its node's lease may stand again, while nobody else has had it.
    pub(crate) fn revives(&self) -> bool {
        self.before.starts_with("nats:")
    }

    /// Opens it by a way of its own, to look at it.
    pub(crate) async fn open(&self) -> Arc<dyn LogStore> {
        let url = self.url(self.server, "judge");
        if url.starts_with("nats:") {
            let config = NatsConfig::parse(&url).unwrap();
            return Arc::new(NatsStore::open(&config).await.unwrap());
        }
        let config = PostgresConfig::parse(&url).unwrap();
        Arc::new(PostgresStore::connect(config).await.unwrap())
    }

    /// The URL by which a node of this name reaches it at this address.
    pub(crate) fn url(&self, at: SocketAddr, node: &str) -> String {
        format!("{}{at}{}&node={node}", self.before, self.after)
    }
}

/// What a store has of a session: its log folded, as whoever goes on with it does, and then read.
pub(crate) async fn log(store: &dyn LogStore, session: &str) -> Vec<String> {
    let id = SessionId::new(session).unwrap();
    let folded = windlass_engine::fold(store, &id, 1_000).await.unwrap();
    let mut log: Vec<String> = Vec::new();
    loop {
        let after = Seq(log.len() as u64);
        let more = store.read(&id, after, 1_000).await.unwrap();
        if more.is_empty() {
            assert_eq!(folded.session.next, after.next(), "{session}");
            return log;
        }
        log.extend(more.iter().map(|fact| serde_json::to_string(fact).unwrap()));
    }
}

fn named(variable: &str, missing: &str) -> Option<String> {
    match std::env::var(variable) {
        Ok(url) => Some(url),
        Err(_) => {
            eprintln!("skipped: {missing}");
            None
        }
    }
}
