//! Three servers: one of them ends, and nothing that was acknowledged is lost or refused for long.

use windlass_core::{Epoch, Seq};
use windlass_nats::{ErasurePolicy, NatsConfig, NatsStore};
use windlass_ports::{Durability, LogStore, StoreErrorKind};
use windlass_testkit::nats::{NatsServer, SYSTEM};

use crate::common::TestPlace;
use crate::{appends, claims, facts, holds, opens, own_server, session};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_one_server_of_three_is_lived_through() {
    drop(own_server());
    let mut servers = NatsServer::start_with(3, "sync_interval: always", "").unwrap();
    let place = TestPlace::on(servers.url());
    let (user, password) = SYSTEM;
    let config = NatsConfig {
        replicas: Some(3),
        servers: (0..3).map(|node| servers.url_of(node)).collect(),
        timeout_ms: 30_000,
        ..place.config(&format!("&system={user}:{password}"))
    };
    let store = NatsStore::open(&config).await.unwrap();
    assert_eq!(store.capabilities().durability, Durability::Power);
    let strict = NatsConfig { erasing: ErasurePolicy::Strict, ..config.clone() };
    let strict = NatsStore::open(&strict).await.unwrap();
    assert!(store.capabilities().erase && !strict.capabilities().erase);
    let refused = strict.erase(&session("s0"), Epoch(1)).await.unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Unsupported);
    drop(strict);
    let ids: Vec<_> = (0..4).map(|number| session(&format!("s{number}"))).collect();
    let mut epochs = Vec::new();
    for id in &ids {
        epochs.push(store.claim(id).await.unwrap().epoch);
    }
    let mut last = 0;
    for node in 0..3 {
        for round in 0..12 {
            if round == 4 {
                servers.kill(node).unwrap();
            }
            for (id, epoch) in ids.iter().zip(&epochs) {
                let next = facts(id, last, 1);
                let mut appended = store.append(id, *epoch, Seq(last), &next).await;
                for _ in 0..3 {
                    let Err(error) = &appended else { break };
                    assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
                    appended = store.append(id, *epoch, Seq(last), &next).await;
                }
                appended.unwrap();
            }
            last += 1;
        }
        for id in &ids {
            holds(&store, id, last).await;
        }
        servers.start_again(node).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_of_three_that_goes_silent_is_left_for_another() {
    drop(own_server());
    let mut servers = NatsServer::start_with(3, "sync_interval: always", "").unwrap();
    let place = TestPlace::on(servers.url());
    let config = NatsConfig {
        replicas: Some(3),
        servers: (0..3).map(|node| servers.url_of(node)).collect(),
        ..place.config("&lease_ms=5000&timeout_ms=10000")
    };
    let store = opens(&config).await;
    let id = session("s");
    let epoch = claims(&store, &id).await.epoch;
    let first = facts(&id, 0, 1);
    appends(&store, &id, epoch, 0, &first).await.unwrap();
    // The one that the store has its connection to stands still, as a machine without power does.
    let node = connected(&servers);
    servers.pause(node).unwrap();
    let next = facts(&id, 1, 1);
    appends(&store, &id, epoch, 1, &next).await.unwrap();
    servers.wake(node).unwrap();
    holds(&store, &id, 2).await;
}

/// Which of the servers this process has a connection to.
fn connected(servers: &NatsServer) -> usize {
    let connections = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let to = |port: &u16| {
        // The remote address, and that the connection stands.
        let remote = format!(" 0100007F:{port:04X} 01 ");
        connections.contains(&remote)
    };
    servers.ports().iter().position(to).unwrap()
}
