//! A place on a NATS server that no other test has. The server is the one that the environment names,
//! as `cargo xtask test` and `conform` do, or one of this process.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests stop where they may, say what they skip, and take what they need of it"
)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use async_nats::jetstream;
use windlass_nats::{NatsConfig, NatsStore};
use windlass_testkit::nats::{MISSING, NatsServer, REPLICAS, URL};

/// The address of a server that tests share; `None` where there is none, which is said.
pub(crate) fn server() -> Option<String> {
    static OWN: OnceLock<NatsServer> = OnceLock::new();
    if let Ok(url) = std::env::var(URL) {
        return Some(url);
    }
    if NatsServer::program().is_none() {
        eprintln!("skipped: {MISSING}");
        return None;
    }
    Some(OWN.get_or_init(|| NatsServer::start().unwrap()).url())
}

/// A place.
pub(crate) struct TestPlace {
    pub(crate) url: String,
    pub(crate) name: String,
}

impl TestPlace {
    /// A new place on the shared server; `None` where there is none.
    pub(crate) fn new() -> Option<Self> {
        Some(Self::on(server()?))
    }

    /// A new place on a server.
    pub(crate) fn on(url: String) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let (process, now) = (std::process::id(), now.subsec_nanos());
        let name = format!("t{process}-{now}-{count}");
        Self { url, name }
    }

    /// The configuration with more options, each beginning with `&`. Without them it waits for answers,
    /// and its lease lasts, for longer than a machine that does other work besides stands still.
    pub(crate) fn config(&self, options: &str) -> NatsConfig {
        let Self { url, name } = self;
        let replicas = std::env::var(REPLICAS).unwrap_or_else(|_| String::from("1"));
        let usual = "timeout_ms=60000&lease_ms=60000";
        let url = format!("{url}/{name}?shards=2&replicas={replicas}&erase=late&{usual}{options}");
        NatsConfig::parse(&url).unwrap()
    }

    pub(crate) async fn store(&self) -> NatsStore {
        self.store_with("").await
    }

    pub(crate) async fn store_with(&self, options: &str) -> NatsStore {
        NatsStore::open(&self.config(options)).await.unwrap()
    }

    /// JetStream by a connection of its own.
    pub(crate) async fn jetstream(&self) -> jetstream::Context {
        jetstream::new(async_nats::connect(&self.url).await.unwrap())
    }

    /// The subject of a session's log, which must have a message.
    pub(crate) async fn log_subject(&self, js: &jetstream::Context, session: &str) -> String {
        for shard in 0..2 {
            let subject = format!("windlass.{}.log.{shard}.{session}", self.name);
            let stream = js.get_stream(format!("WINDLASS_{}_LOG_{shard}", self.name));
            let stream = stream.await.unwrap();
            if stream.get_last_raw_message_by_subject(&subject).await.is_ok() {
                return subject;
            }
        }
        panic!("session {session} has no log")
    }

    /// A copy of the logs as they are on the server, at a place of its own where no node has a lease.
    pub(crate) async fn copy(&self) -> Self {
        self.copy_with(Some).await
    }

    /// The same with other payloads, or without some messages.
    pub(crate) async fn copy_with(&self, alter: impl Fn(Vec<u8>) -> Option<Vec<u8>>) -> Self {
        let copy = Self::on(self.url.clone());
        drop(copy.store().await);
        let js = self.jetstream().await;
        for shard in 0..2 {
            let name = format!("WINDLASS_{}_LOG_{shard}", self.name);
            let mut stream = js.get_stream(&name).await.unwrap();
            let state = stream.info().await.unwrap().state.clone();
            for seq in state.first_sequence..=state.last_sequence {
                // What was taken away is not there.
                let Ok(message) = stream.get_raw_message(seq).await else {
                    continue;
                };
                let Some(payload) = alter(message.payload.to_vec()) else {
                    continue;
                };
                let mut headers = async_nats::HeaderMap::new();
                let head = message.headers.get("Windlass").unwrap();
                headers.insert("Windlass", head.as_str());
                let (from, to) = (format!(".{}.", self.name), format!(".{}.", copy.name));
                let subject = message.subject.as_str().replace(&from, &to);
                let stored = js.publish_with_headers(subject, headers, payload.into());
                stored.await.unwrap().await.unwrap();
            }
        }
        copy
    }
}

/// Takes what there is only where there is a server, and otherwise ends the test, which has said so.
/// Under nextest a test is a process of its own; where it is not, others would end too, so it fails.
pub(crate) fn or_skip<T>(found: Option<T>) -> T {
    match found {
        Some(found) => found,
        None if std::env::var_os("NEXTEST").is_some() => std::process::exit(0),
        None => panic!("{MISSING}; without nextest a test cannot be skipped"),
    }
}

/// Puts another piece in the place of the first one of a blob.
pub(crate) async fn damage_blob(url: &str, place: &str, session: &str, sha256: &str) {
    let js = jetstream::new(async_nats::connect(url).await.unwrap());
    let stream = js.get_stream(format!("WINDLASS_{place}_BLOBS")).await.unwrap();
    let name = format!("windlass.{place}.blob.{session}.name.{sha256}");
    let named = stream.get_last_raw_message_by_subject(&name).await.unwrap();
    let named: serde_json::Value = serde_json::from_slice(&named.payload).unwrap();
    let upload = named.get("upload").unwrap().as_str().unwrap();
    let part = format!("windlass.{place}.blob.{session}.part.{upload}.0");
    let first = stream.get_last_raw_message_by_subject(&part).await.unwrap();
    let mut bytes = first.payload.to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    js.publish(part, bytes.into()).await.unwrap().await.unwrap();
}
