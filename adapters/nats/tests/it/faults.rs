//! A server that ends and comes back, and answers that are lost.

use std::time::Duration;

use tokio::time::timeout;
use windlass_core::Seq;
use windlass_nats::{NatsConfig, NatsStore};
use windlass_ports::{LogStore, StoreErrorKind};

use crate::common::TestPlace;
use crate::proxy::{Proxy, ProxyMode};
use crate::{LONG, appends, claims, facts, holds, opens, own_server, session};

#[tokio::test]
async fn a_server_that_is_killed_and_comes_back_has_what_was_acknowledged() {
    let mut server = own_server();
    let place = TestPlace::on(server.url());
    let store = place.store().await;
    let id = session("s");
    let epoch = store.claim(&id).await.unwrap().epoch;
    for count in 0..20 {
        let next = facts(&id, count, 1);
        store.append(&id, epoch, Seq(count), &next).await.unwrap();
    }
    // Another one that has less patience.
    let brief = place.config("&timeout_ms=900");
    let (hasty, own) = (opens(&brief).await, session("own"));
    let claimed = claims(&hasty, &own).await.epoch;
    server.kill(0).unwrap();
    let refusals = async {
        let first = facts(&own, 0, 3);
        [
            hasty.append(&own, claimed, Seq(0), &first).await.unwrap_err(),
            hasty.read(&id, Seq::ZERO, 1).await.unwrap_err(),
            hasty.claim(&session("t")).await.unwrap_err(),
            NatsStore::open(&brief).await.unwrap_err(),
        ]
    };
    let refusals = timeout(LONG, refusals).await;
    for refused in refusals.expect("a wait without a bound") {
        assert_eq!(refused.kind, StoreErrorKind::Unavailable, "{refused}");
    }
    server.start_again(0).unwrap();
    // The connection comes back by itself, and the claim still stands.
    let next = facts(&id, 20, 3);
    appends(&store, &id, epoch, 20, &next).await.unwrap();
    holds(&store, &id, 23).await;
    holds(&place.store().await, &id, 23).await;
}

#[tokio::test]
async fn appends_whose_answers_are_lost_are_kept_once() {
    let server = own_server();
    let proxy = Proxy::to(server.ports()[0]).await;
    let place = TestPlace::on(server.url());
    let near = place.store().await;
    let config =
        NatsConfig { servers: vec![proxy.url.clone()], timeout_ms: 1_500, ..place.config("") };
    let store = opens(&config).await;
    let id = session("s");
    let epoch = claims(&store, &id).await.epoch;
    let mut last = 0;
    for round in 0..8 {
        let next = facts(&id, last, 2);
        proxy.set(ProxyMode::Mute);
        let appending = store.append(&id, epoch, Seq(last), &next);
        let cutting = async {
            // Once the append stands on the server, its answer is lost for good.
            while near.tail(&id, Seq(last), Duration::from_secs(5)).await.unwrap_or(Seq::ZERO).0
                <= last
            {}
            proxy.break_all();
        };
        let cut_first = async {
            if round == 0 {
                // In a log that has not begun nothing can be followed.
                while near.read(&id, Seq::ZERO, 1).await.is_err() {}
            }
            cutting.await;
        };
        let (appended, ()) = tokio::join!(appending, cut_first);
        if let Err(error) = appended {
            assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
        }
        appends(&store, &id, epoch, last, &next).await.unwrap();
        last += 2;
        holds(&near, &id, last).await;
    }
    assert!(proxy.connections() > 8, "each round made a new connection");
}

#[tokio::test]
async fn no_secret_is_in_an_error() {
    let server = own_server();
    let url = server.url().replace("nats://", "nats://somebody:hunter2@");
    let config = NatsConfig::parse(&format!("{url}/p?timeout_ms=60000&system=x:hunter2")).unwrap();
    let refused = NatsStore::open(&config).await.unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Invalid);
    let told = format!("{refused} {refused:?} {config:?}");
    assert!(!told.contains("hunter2"), "{told}");
}
