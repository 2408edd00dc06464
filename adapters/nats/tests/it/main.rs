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
mod letters;
mod listing;
mod nodes;
mod pieces;
mod proxy;

use std::sync::Arc;

use windlass_core::{Recorded, Seq, SessionId};
use windlass_nats::NatsStore;
use windlass_ports::LogStore;
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

fn facts(id: &SessionId, after: u64, count: u64) -> Vec<Arc<Recorded>> {
    numbered_facts(id, Seq(after), count)
}

/// Holds a log to being just these many numbered facts, in every way.
async fn holds(store: &NatsStore, id: &SessionId, count: u64) {
    let read = store.read(id, Seq::ZERO, usize::MAX).await.unwrap();
    let expected = facts(id, 0, count);
    assert_eq!(read.len() as u64, count);
    assert!(
        read.iter()
            .zip(&expected)
            .all(|(read, fact)| *read == **fact)
    );
    let verified = store.verify(id).await.unwrap();
    assert_eq!((verified.last, verified.torn_bytes), (Seq(count), 0));
}

/// Tells which server the tests ran against; nextest shows it. Without one, all of them are skipped.
#[test]
fn there_is_a_server_or_all_is_skipped() {
    match (
        std::env::var(windlass_testkit::nats::URL),
        NatsServer::program(),
    ) {
        (Ok(url), _) => eprintln!("tests of windlass-nats: the server at {url}"),
        (Err(_), Some(program)) => eprintln!("tests of windlass-nats: {}", program.display()),
        (Err(_), None) => {
            eprintln!("ALL tests of windlass-nats on a server are skipped: {MISSING}")
        }
    }
}
