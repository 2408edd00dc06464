//! What is declared: no more than can be seen or was stated.

use windlass_nats::{NatsConfig, NatsStore};
use windlass_ports::{Durability, LogStore, StoreErrorKind};
use windlass_testkit::nats::{NatsServer, SYSTEM};

use crate::common::TestPlace;
use crate::own_server;

fn with_system(place: &TestPlace, options: &str) -> NatsConfig {
    let (user, password) = SYSTEM;
    place.config(&format!("&system={user}:{password}{options}"))
}

async fn declared(config: &NatsConfig) -> Durability {
    let store = NatsStore::open(config).await.unwrap();
    store.capabilities().durability
}

#[tokio::test]
async fn a_server_that_syncs_first_is_seen() {
    let server = own_server();
    let place = TestPlace::on(server.url());
    assert_eq!(declared(&place.config("")).await, Durability::Process);
    assert_eq!(declared(&with_system(&place, "")).await, Durability::Power);
    let modest = with_system(&place, "&durability=process");
    assert_eq!(declared(&modest).await, Durability::Process);
    let stated = place.config("&durability=power");
    assert_eq!(declared(&stated).await, Durability::Power);
    // A user that is not of the system account sees nothing, which is an error and no level.
    let blind = place.config("&system=app:app");
    let refused = NatsStore::open(&blind).await.unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Unavailable, "{refused}");
}

#[tokio::test]
async fn a_server_that_answers_before_it_syncs_is_seen() {
    drop(own_server());
    let server = NatsServer::start_with(1, "", "").unwrap();
    let place = TestPlace::on(server.url());
    assert_eq!(declared(&with_system(&place, "")).await, Durability::Process);
    let refused = NatsStore::open(&with_system(&place, "&durability=power")).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Invalid);
    assert!(refused.context.contains("sync_interval"), "{refused}");
}
