//! Two nodes: who holds a session, and what becomes of one that was cut off.

use std::time::{Duration, Instant};

use windlass_core::{Epoch, Seq, SessionId};
use windlass_nats::{NatsConfig, NatsStore};
use windlass_ports::{Leases, LogStore, SessionFilter, StoreErrorKind};
use windlass_testkit::nodes::{Disturbance, what_could_not_be_given_back_is_free_later};

use crate::common::TestPlace;
use crate::proxy::{Proxy, ProxyMode};
use crate::{LONG, appends, claims, facts, holds, opens, own_server, session};

#[tokio::test]
async fn a_session_is_taken_over_once_it_is_given_back() {
    let server = own_server();
    let place = TestPlace::on(server.url());
    let one = place.store_with("&node=one&claim_wait_ms=50").await;
    let two = place.store_with("&node=two&claim_wait_ms=50").await;
    let id = session("s");
    let first = one.claim(&id).await.unwrap().epoch;
    one.append(&id, first, Seq(0), &facts(&id, 0, 2)).await.unwrap();
    let refused = two.claim(&id).await.unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Locked);
    assert!(refused.context.contains("node one"), "{refused}");
    one.release(&id, first).await.unwrap();
    let claimed = two.claim(&id).await.unwrap();
    assert!(claimed.epoch > first && claimed.last == Seq(2), "{claimed:?}");
    two.append(&id, claimed.epoch, Seq(2), &facts(&id, 2, 1)).await.unwrap();
    let stale = one.append(&id, first, Seq(2), &facts(&id, 2, 1)).await;
    assert_eq!(stale.unwrap_err().kind, StoreErrorKind::NotClaimed);
    holds(&one, &id, 3).await;
}

#[tokio::test]
async fn a_node_that_ends_in_good_order_lets_go_at_once() {
    let server = own_server();
    let place = TestPlace::on(server.url());
    let one = place.store_with("&lease_ms=600000").await;
    let id = session("s");
    one.claim(&id).await.unwrap();
    drop(one);
    let two = place.store_with("&claim_wait_ms=60000").await;
    two.claim(&id).await.unwrap();
}

/// Open sessions that nobody holds, as a node lists them.
async fn free(store: &NatsStore) -> Vec<String> {
    let filter = SessionFilter { unclaimed: true, ..SessionFilter::ALL_TENANTS.clone().open() };
    let heads = store.sessions(&filter, None, 10).await.unwrap();
    heads.iter().map(|head| head.id.to_string()).collect()
}

/// Open sessions that nobody holds, as a node lists them; none of those that node `one` held when they
/// were asked for, and still did when they were told.
async fn free_beside_one(store: &NatsStore) -> (bool, Vec<String>) {
    let asked = Instant::now();
    let holding = store.leases().holder("node.one").await.unwrap();
    let listed = free(store).await;
    let held = holding
        .is_some_and(|holding| asked.elapsed() < Duration::from_millis(holding.remaining_ms));
    if held {
        assert_eq!(listed, [""; 0], "node one has a lease");
    }
    (held, listed)
}

/// Begins a session of three facts at a store that has little patience, on a machine that may be slow.
async fn begun(store: &NatsStore, id: &SessionId) -> Epoch {
    let until = Instant::now() + LONG;
    loop {
        let claimed = claims(store, id).await;
        if claimed.last == Seq(3) {
            return claimed.epoch;
        }
        let begun = facts(id, 0, 3);
        let appended = store.append(id, claimed.epoch, Seq(0), &begun).await;
        match appended {
            Ok(()) => return claimed.epoch,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
    }
}

#[tokio::test]
async fn what_a_node_held_is_free_once_its_lease_is_over_and_not_before() {
    // What is listed anew beneath is so every minute: this is told before.
    const TOLD: Duration = Duration::from_secs(30);
    let server = own_server();
    let proxy = Proxy::to(server.ports()[0]).await;
    let place = TestPlace::on(server.url());
    let config = NatsConfig {
        servers: vec![proxy.url.clone()],
        timeout_ms: 600,
        ..place.config("&node=one&lease_ms=1000")
    };
    let one = opens(&config).await;
    let two = place.store_with("&node=two&claim_wait_ms=0&lease_ms=600000").await;
    let id = session("s");
    begun(&one, &id).await;
    // For as long as it is renewed, also past its first end.
    let begun = Instant::now();
    loop {
        let (held, _) = free_beside_one(&two).await;
        if held && begun.elapsed() > Duration::from_millis(1_500) {
            break;
        }
        assert!(begun.elapsed() < LONG, "it is not renewed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    proxy.set(ProxyMode::Cut);
    let cut = Instant::now();
    while free_beside_one(&two).await.1.is_empty() {
        assert!(cut.elapsed() < TOLD, "it is not told");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(free(&two).await, ["s"]);
    two.claim(&id).await.unwrap();
    assert_eq!(free(&two).await, [""; 0]);
    // One that ends in good order is told of at once.
    drop(two);
    let three = place.store_with("&node=three").await;
    let gone = Instant::now();
    while free(&three).await.is_empty() {
        assert!(gone.elapsed() < TOLD, "it is not told");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_node_that_is_cut_off_past_its_lease_appends_nothing_more() {
    let server = own_server();
    let proxy = Proxy::to(server.ports()[0]).await;
    let place = TestPlace::on(server.url());
    let config = NatsConfig {
        servers: vec![proxy.url.clone()],
        timeout_ms: 600,
        ..place.config("&node=one&lease_ms=1000")
    };
    let one = opens(&config).await;
    let two = place.store_with("&node=two&claim_wait_ms=60000").await;
    let id = session("s");
    let first = begun(&one, &id).await;
    proxy.set(ProxyMode::Cut);
    let late = one.append(&id, first, Seq(3), &facts(&id, 3, 1)).await;
    assert_eq!(late.unwrap_err().kind, StoreErrorKind::Unavailable);
    // The lease is over by itself, within the time that the claim waits.
    let claimed = two.claim(&id).await.unwrap();
    assert!(claimed.epoch > first, "{claimed:?}");
    let second = claimed.epoch;
    let next = claimed.last;
    assert_eq!(next, Seq(3));
    two.append(&id, second, next, &facts(&id, 3, 2)).await.unwrap();
    proxy.set(ProxyMode::Open);
    let stale = appends(&one, &id, first, 3, &facts(&id, 3, 1)).await;
    let stale = stale.unwrap_err();
    assert_eq!(stale.kind, StoreErrorKind::NotClaimed, "{stale}");
    two.append(&id, second, Seq(5), &facts(&id, 5, 1)).await.unwrap();
    holds(&two, &id, 6).await;
}

#[tokio::test]
async fn an_append_that_was_checked_before_a_takeover_is_refused_after_it() {
    // The first node knows nothing of the takeover: its lease was ended behind its back, as the
    // server's clock ends that of a node that stands still between a check and its append.
    let server = own_server();
    let place = TestPlace::on(server.url());
    let one = place.store_with("&node=one&lease_ms=600000").await;
    let two = place.store_with("&node=two").await;
    let id = session("s");
    let first = one.claim(&id).await.unwrap().epoch;
    let leases = two.leases();
    let held = leases.holder("node.one").await.unwrap().unwrap();
    let lease = windlass_ports::Lease {
        name: "node.one".to_owned(),
        holder: held.holder,
        epoch: held.epoch,
        ttl_ms: 600_000,
    };
    leases.release(&lease).await.unwrap();
    let second = two.claim(&id).await.unwrap().epoch;
    let stale = one.append(&id, first, Seq(0), &facts(&id, 0, 1)).await;
    assert_eq!(stale.unwrap_err().kind, StoreErrorKind::NotClaimed);
    two.append(&id, second, Seq(0), &facts(&id, 0, 1)).await.unwrap();
    holds(&one, &id, 1).await;
}

#[tokio::test]
async fn a_log_is_followed_from_another_node() {
    let server = own_server();
    let place = TestPlace::on(server.url());
    let (one, two) = (place.store().await, place.store().await);
    let id = session("s");
    let epoch = one.claim(&id).await.unwrap().epoch;
    one.append(&id, epoch, Seq(0), &facts(&id, 0, 1)).await.unwrap();
    for last in 1..20 {
        let next = facts(&id, last, 1);
        let (told, appended) =
            tokio::join!(two.tail(&id, Seq(last), LONG), one.append(&id, epoch, Seq(last), &next));
        appended.unwrap();
        assert_eq!(told.unwrap(), Seq(last + 1));
    }
}

/// The way to the server is cut.
#[async_trait::async_trait]
impl Disturbance for Proxy {
    async fn begin(&self) {
        self.set(ProxyMode::Cut);
    }

    async fn end(&self) {
        self.break_all();
    }
}

#[tokio::test]
async fn what_could_not_be_given_back_is_free_before_the_lease_is_over() {
    let server = own_server();
    let place = TestPlace::on(server.url());
    let two = place.store_with("&node=two&claim_wait_ms=50").await;
    let proxy = Proxy::to(server.ports()[0]).await;
    let config = NatsConfig {
        servers: vec![proxy.url.clone()],
        ..place.config("&node=one&lease_ms=600000&timeout_ms=1500")
    };
    let one = opens(&config).await;
    what_could_not_be_given_back_is_free_later(&one, &two, &proxy).await.unwrap();
}
