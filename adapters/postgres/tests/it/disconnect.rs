//! Servers and connections that go away.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use windlass_core::{Seq, SessionId};
use windlass_ports::{LogStore, StoreErrorKind};
use windlass_postgres::{PostgresConfig, PostgresStore};
use windlass_testkit::store::numbered_facts;

use crate::common::{TestSchema, own};
use crate::proxy::{Faults, open_by};
use crate::run;

fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

async fn open(url: &str) -> PostgresStore {
    let config = PostgresConfig::parse(url).unwrap();
    PostgresStore::connect(config).await.unwrap()
}

#[test]
fn a_server_that_comes_back_finds_the_store_waiting() {
    let Some(mut server) = own() else { return };
    run(async {
        let store =
            Arc::new(open(&format!("{}?lease_ms=600000&patience_ms=90000", server.url())).await);
        let id = id("s");
        let epoch = store.claim(&id).await.unwrap().epoch;
        let facts = numbered_facts(&id, Seq::ZERO, 3);
        store.append(&id, epoch, Seq::ZERO, &facts).await.unwrap();
        server.crash().unwrap();

        let waiting = {
            let (store, id) = (store.clone(), id.clone());
            tokio::spawn(async move {
                let facts = numbered_facts(&id, Seq(3), 2);
                store.append(&id, epoch, Seq(3), &facts).await
            })
        };
        server.start_again().unwrap();
        waiting.await.unwrap().unwrap();
        let log = store.read(&id, Seq::ZERO, 10).await.unwrap();
        assert_eq!(log.len(), 5);
        store.verify(&id).await.unwrap();
    });
}

#[test]
fn a_server_that_takes_no_writes_for_a_while_is_not_ready_and_reads() {
    let Some(mut server) = own() else { return };
    run(async {
        let store = open(&format!("{}?lease_ms=60000", server.url())).await;
        let id = id("s");
        let epoch = store.claim(&id).await.unwrap().epoch;
        let facts = numbered_facts(&id, Seq::ZERO, 3);
        store.append(&id, epoch, Seq::ZERO, &facts).await.unwrap();
        store.probe().await.unwrap();
        server.refuse_writes(true).unwrap();
        // Its connections take that up when they come to it.
        let error = loop {
            if let Err(error) = store.probe().await {
                break error;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(error.kind, StoreErrorKind::ReadOnly, "{error}");
        assert_eq!(store.read(&id, Seq::ZERO, 10).await.unwrap().len(), 3);
        server.refuse_writes(false).unwrap();
        while let Err(error) = store.probe().await {
            assert_eq!(error.kind, StoreErrorKind::ReadOnly, "{error}");
            tokio::task::yield_now().await;
        }
        let more = numbered_facts(&id, Seq(3), 1);
        while let Err(error) = store.append(&id, epoch, Seq(3), &more).await {
            assert_eq!(error.kind, StoreErrorKind::ReadOnly, "{error}");
        }
    });
}

#[test]
fn a_server_that_stays_away_is_unavailable_and_nothing_is_lost() {
    let Some(mut server) = own() else { return };
    run(async {
        let url = format!("{}?patience_ms=200&answer_ms=60000&lease_ms=600000", server.url());
        let store = open(&url).await;
        let id = id("s");
        let epoch = store.claim(&id).await.unwrap().epoch;
        let facts = numbered_facts(&id, Seq::ZERO, 3);
        store.append(&id, epoch, Seq::ZERO, &facts).await.unwrap();
        server.stop().unwrap();

        let more = numbered_facts(&id, Seq(3), 1);
        let error = store.append(&id, epoch, Seq(3), &more).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("ask again"), "{error}");
        let error = store.read(&id, Seq::ZERO, 1).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
        let config = PostgresConfig::parse(&url).unwrap();
        let error = PostgresStore::connect(config).await.err().unwrap();
        assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");

        server.start_again().unwrap();
        // With so little patience it may still find its old connections only.
        while let Err(error) = store.append(&id, epoch, Seq(3), &more).await {
            assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
        }
        assert_eq!(store.read(&id, Seq::ZERO, 10).await.unwrap().len(), 4);
    });
}

#[test]
fn an_append_whose_answer_is_lost_is_kept_once() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let faults = Arc::new(Faults::of(b".keep_counted("));
        let store = open_by(&place, &faults, "").await;
        let id = id("s");
        let epoch = store.claim(&id).await.unwrap().epoch;
        let mut after = Seq::ZERO;
        for round in 0..6_usize {
            // Also several answers of one append, each of which says that it was kept before.
            faults.losing.store(round % 3, Ordering::SeqCst);
            let facts = numbered_facts(&id, after, 2);
            store.append(&id, epoch, after, &facts).await.unwrap();
            after = after.plus(2);
        }
        assert_eq!(faults.lost.load(Ordering::SeqCst), 6);
        let log = store.read(&id, Seq::ZERO, 100).await.unwrap();
        assert_eq!(log.len(), 12);
        assert_eq!(store.verify(&id).await.unwrap().last, Seq(12));
    });
}

#[test]
fn one_append_that_the_server_refuses_does_not_fail_the_others() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let store = Arc::new(place.open_with("&writers=1").await);
        let mut claims = Vec::new();
        for number in 0..40 {
            let id = id(&format!("s{number}"));
            let epoch = store.claim(&id).await.unwrap().epoch;
            claims.push((id, epoch));
        }
        // Where this session's first row would stand, there is one already.
        place
            .run(
                "insert into SCHEMA.facts select log, 1, 0, 'x' from SCHEMA.sessions \
                  where id = 's7'",
            )
            .await;
        let mut appends = tokio::task::JoinSet::new();
        for (id, epoch) in claims {
            let store = store.clone();
            appends.spawn(async move {
                let facts = numbered_facts(&id, Seq::ZERO, 1);
                let ended = store.append(&id, epoch, Seq::ZERO, &facts).await;
                (id, ended)
            });
        }
        let mut kept = 0;
        while let Some(ended) = appends.join_next().await {
            match ended.unwrap() {
                (id, Err(error)) if id.as_str() == "s7" => {
                    assert_eq!(error.kind, StoreErrorKind::Io, "{error}");
                }
                (_, ended) => {
                    ended.unwrap();
                    kept += 1;
                }
            }
        }
        assert_eq!(kept, 39);
    });
}

#[test]
fn a_connection_that_goes_silent_costs_an_append_a_third_of_the_patience() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let faults = Arc::new(Faults::of(b".keep_counted("));
        let store = open_by(
            &place,
            &faults,
            // It is the only one.
            "&pool=1&listen=never&poll_ms=3600000&patience_ms=9000&lease_ms=600000",
        )
        .await;
        let id = id("s");
        let epoch = store.claim(&id).await.unwrap().epoch;
        let facts = numbered_facts(&id, Seq::ZERO, 1);
        store.append(&id, epoch, Seq::ZERO, &facts).await.unwrap();
        faults.silencing.store(1, Ordering::SeqCst);
        // It is asked again before the patience is over: after that this would be an error.
        let facts = numbered_facts(&id, Seq(1), 1);
        store.append(&id, epoch, Seq(1), &facts).await.unwrap();
        assert_eq!(faults.silent.load(Ordering::SeqCst), 1);
        assert_eq!(store.verify(&id).await.unwrap().last, Seq(2));
    });
}

#[test]
fn a_connection_that_goes_silent_does_not_cost_the_lease() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let faults = Arc::new(Faults::of(b".leases set until"));
        let a = open_by(&place, &faults, "&node=a&lease_ms=18000").await;
        let b = place.open_with("&node=b").await;
        let id = id("s");
        a.claim(&id).await.unwrap();
        faults.silencing.store(1, Ordering::SeqCst);
        // The lease, and until when it lasts.
        const LEASE: &str = "select epoch || ' ' || until from SCHEMA.leases where holder = 'a'";
        let [before] = place.texts(LEASE).await.try_into().unwrap();
        let renewed = loop {
            // By the time that it is told anew, another connection has renewed it.
            let silent = faults.silent.load(Ordering::SeqCst) == 1;
            let [lease] = place.texts(LEASE).await.try_into().unwrap();
            if silent && lease != before {
                break lease;
            }
            let error = b.claim(&id).await.unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Locked, "{error}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        let epoch = |lease: &str| lease.split(' ').next().map(str::to_owned);
        assert_eq!(epoch(&renewed), epoch(&before), "it is the same lease");
        let error = b.claim(&id).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Locked, "{error}");
    });
}
