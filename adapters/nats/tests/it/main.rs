//! What the suites cannot see: servers that end, answers that are lost, nodes that are cut off, and
//! what is on the server beneath.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "all of it is tests"
)]

#[path = "../common/mod.rs"]
mod common;

mod cluster;
mod damage;
mod durability;
mod erasure;
mod faults;
mod listing;
mod nodes;
mod pieces;
mod proxy;
mod remote_commands;

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_nats::{NatsConfig, NatsStore};
use windlass_ports::{LogStore, SessionClaim, StoreError, StoreErrorKind};
use windlass_testkit::nats::{MISSING, NatsServer};
use windlass_testkit::store::numbered_facts;

/// A server of the test's own, or none, which is said.
fn own_server() -> NatsServer {
    let found = NatsServer::program().map(|_| NatsServer::start().unwrap());
    if found.is_none() {
        eprintln!("skipped: {MISSING}");
    }
    common::or_skip(found)
}

fn session(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

fn facts(id: &SessionId, after: u64, count: u64) -> Vec<Arc<RecordedFact>> {
    numbered_facts(id, Seq(after), count)
}

/// How long what comes at last is waited for.
const LONG: Duration = Duration::from_secs(60);

/// Appends at a server that is away or slow at times: again for as long as it is told that it is.
async fn appends(
    store: &NatsStore,
    id: &SessionId,
    epoch: Epoch,
    after: u64,
    next: &[Arc<RecordedFact>],
) -> Result<(), StoreError> {
    let until = Instant::now() + LONG;
    loop {
        match store.append(id, epoch, Seq(after), next).await {
            Err(error) if error.kind == StoreErrorKind::Unavailable && Instant::now() < until => {
                tokio::task::yield_now().await;
            }
            ended => return ended,
        }
    }
}

/// Opens a store that has little patience, on a machine that may be slow.
async fn opens(config: &NatsConfig) -> NatsStore {
    let until = Instant::now() + LONG;
    loop {
        match NatsStore::open(config).await {
            Ok(store) => return store,
            Err(error) => {
                assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
                assert!(Instant::now() < until, "{error}");
            }
        }
    }
}

/// Claims a session of a store that has little patience, on a machine that may be slow.
async fn claims(store: &NatsStore, id: &SessionId) -> SessionClaim {
    let until = Instant::now() + LONG;
    loop {
        match store.claim(id).await {
            Ok(claimed) => return claimed,
            Err(error) => {
                assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
                assert!(Instant::now() < until, "{error}");
            }
        }
    }
}

/// Holds a log to being just these many numbered facts, in every way.
async fn holds(store: &NatsStore, id: &SessionId, count: u64) {
    let read = store.read(id, Seq::ZERO, usize::MAX).await.unwrap();
    let expected = facts(id, 0, count);
    assert_eq!(read.len() as u64, count);
    assert!(read.iter().zip(&expected).all(|(read, fact)| *read == **fact));
    let verified = store.verify(id).await.unwrap();
    assert_eq!((verified.last, verified.torn_bytes), (Seq(count), 0));
}

/// Tells which server the tests ran against; nextest shows it. Without one, all of them are skipped.
#[test]
fn there_is_a_server_or_all_is_skipped() {
    match (std::env::var(windlass_testkit::nats::URL), NatsServer::program()) {
        (Ok(url), _) => eprintln!("tests of windlass-nats: the server at {url}"),
        (Err(_), Some(program)) => eprintln!("tests of windlass-nats: {}", program.display()),
        (Err(_), None) => {
            eprintln!("ALL tests of windlass-nats on a server are skipped: {MISSING}")
        }
    }
}
