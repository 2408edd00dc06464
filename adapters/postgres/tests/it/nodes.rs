//! Several nodes over one database: one of them writes a session, and a lease decides which.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use windlass_core::{Seq, SessionId};
use windlass_ports::{LeaseErrorKind, Leases, LogStore, SessionFilter, StoreErrorKind};
use windlass_postgres::PostgresStore;
use windlass_testkit::nodes::{Disturbance, what_could_not_be_given_back_is_free_later};
use windlass_testkit::store::numbered_facts;

use crate::common::TestSchema;
use crate::proxy::{Faults, open_by};
use crate::run;

fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

const OVER: &str = "update SCHEMA.leases set until = clock_timestamp() where holder = 'a'";

#[test]
fn another_node_is_told_who_holds_a_session_and_for_how_long() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let a = place.open_with("&node=a&lease_ms=60000").await;
        let b = place.open_with("&node=b").await;
        a.claim(&id("s")).await.unwrap();
        let error = b.claim(&id("s")).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Locked);
        let words = error.to_string();
        assert!(words.contains("node a holds it, for another "), "{words}");
        b.claim(&id("another")).await.unwrap();
    });
}

#[test]
fn a_node_whose_lease_is_over_writes_nothing() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let a = place.open_with("&node=a&lease_ms=3600000").await;
        let b = place.open_with("&node=b").await;
        let (one, two) = (id("one"), id("two"));
        let first = a.claim(&one).await.unwrap().epoch;
        let other = a.claim(&two).await.unwrap().epoch;
        let facts = numbered_facts(&one, Seq::ZERO, 2);
        a.append(&one, first, Seq::ZERO, &facts).await.unwrap();
        place.run(OVER).await;

        // Whether another node took the session or none did.
        let taken = b.claim(&one).await.unwrap();
        assert!(taken.epoch > first && taken.last == Seq(2), "{taken:?}");
        for (id, epoch, after) in [(&one, first, Seq(2)), (&two, other, Seq::ZERO)] {
            let facts = numbered_facts(id, after, 1);
            let error = a.append(id, epoch, after, &facts).await.unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::NotClaimed, "{error}");
            let error = a.erase(id, epoch).await.unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::NotClaimed, "{error}");
        }
        let facts = numbered_facts(&one, Seq(2), 1);
        b.append(&one, taken.epoch, Seq(2), &facts).await.unwrap();

        // It is a node again when it claims again.
        let error = a.claim(&one).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Locked, "{error}");
        let again = a.claim(&two).await.unwrap();
        let facts = numbered_facts(&two, Seq::ZERO, 1);
        a.append(&two, again.epoch, Seq::ZERO, &facts).await.unwrap();
        assert_eq!(a.read(&one, Seq::ZERO, 10).await.unwrap().len(), 3);
    });
}

/// A node whose runtime has ended with it: nothing renews its lease, and nobody gives it back.
fn dead(place: &TestSchema, name: &str, lease_ms: u64) -> PostgresStore {
    std::thread::scope(|scope| {
        let lives = scope.spawn(|| {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let options = format!("&node={name}&lease_ms={lease_ms}");
                let store = place.open_with(&options).await;
                store.claim(&id(name)).await.unwrap();
                store
            })
        });
        lives.join().unwrap()
    })
}

#[test]
fn a_lease_is_renewed_while_the_node_lives_and_ends_when_it_does_not() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let gone = [dead(&place, "gone", 900), dead(&place, "for-long", 3_600_000)];
        let lives = place.open_with("&node=lives&lease_ms=9000").await;
        lives.claim(&id("lives")).await.unwrap();
        const LEASE: &str =
            "select epoch || ' ' || until from SCHEMA.leases where holder = 'lives'";
        let [before] = place.texts(LEASE).await.try_into().unwrap();
        let other = place.open_with("&node=other").await;
        while let Err(error) = other.claim(&id("gone")).await {
            assert_eq!(error.kind, StoreErrorKind::Locked, "{error}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let error = other.claim(&id("for-long")).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Locked, "{error}");
        let renewed = loop {
            let [lease] = place.texts(LEASE).await.try_into().unwrap();
            if lease != before {
                break lease;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        let epoch = |lease: &str| lease.split(' ').next().map(str::to_owned);
        assert_eq!(epoch(&renewed), epoch(&before), "it is the same lease");
        let error = other.claim(&id("lives")).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Locked, "{error}");
        drop(gone);
    });
}

/// Open sessions that nobody holds, as a node lists them.
async fn free(store: &PostgresStore) -> Vec<String> {
    let filter = SessionFilter { unclaimed: true, ..SessionFilter::ALL_TENANTS.clone().open() };
    let heads = store.sessions(&filter, None, 10).await.unwrap();
    heads.iter().map(|head| head.id.to_string()).collect()
}

#[test]
fn what_a_node_held_is_free_once_its_lease_is_over_and_not_before() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let a = place.open_with("&node=a&lease_ms=3600000").await;
        let b = place.open_with("&node=b").await;
        for name in ["one", "two", "three"] {
            let epoch = a.claim(&id(name)).await.unwrap().epoch;
            let facts = numbered_facts(&id(name), Seq::ZERO, 2);
            a.append(&id(name), epoch, Seq::ZERO, &facts).await.unwrap();
            assert_eq!(free(&b).await, [""; 0]);
            if name == "two" {
                LogStore::release(&a, &id(name), epoch).await.unwrap();
                assert_eq!(free(&b).await, ["two"]);
                b.claim(&id(name)).await.unwrap();
            }
        }
        place.run(OVER).await;
        assert_eq!(free(&b).await, ["one", "three"]);
        b.claim(&id("three")).await.unwrap();
        assert_eq!(free(&b).await, ["one"]);
        // Another of the name has a lease of its own, and holds none of it.
        let again = place.open_with("&node=a").await;
        again.claim(&id("another")).await.unwrap();
        assert_eq!(free(&again).await, ["one"]);
    });
}

#[test]
fn a_node_that_starts_again_under_its_name_has_its_sessions_at_once() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let before = place.open_with("&node=a&lease_ms=3600000").await;
        let epoch = before.claim(&id("s")).await.unwrap().epoch;
        let after = place.open_with("&node=a").await;
        let claimed = after.claim(&id("s")).await.unwrap();
        assert!(claimed.epoch > epoch);
        let id = id("s");
        let facts = numbered_facts(&id, Seq::ZERO, 1);
        let error = before.append(&id, epoch, Seq::ZERO, &facts).await;
        assert_eq!(error.unwrap_err().kind, StoreErrorKind::NotClaimed);
        let kept = after.append(&id, claimed.epoch, Seq::ZERO, &facts);
        kept.await.unwrap();
    });
}

#[test]
fn closing_gives_the_claims_back() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let a = place.open_with("&node=a&lease_ms=3600000").await;
        let epoch = a.claim(&id("s")).await.unwrap().epoch;
        a.close().await.unwrap();
        let b = place.open_with("&node=b").await;
        assert!(b.claim(&id("s")).await.unwrap().epoch > epoch);
    });
}

#[test]
fn leases_of_the_port_do_not_meet_those_of_nodes() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let a = place.open_with("&node=a").await;
        a.claim(&id("s")).await.unwrap();
        for name in ["a", "node/a"] {
            let lease = a.acquire(name, "somebody", 60_000).await.unwrap();
            let held = a.acquire(name, "else", 60_000).await.unwrap_err();
            assert!(matches!(held.kind, LeaseErrorKind::Held(_)), "{held}");
            Leases::release(&a, &lease).await.unwrap();
            let lost = a.renew(&lease).await.unwrap_err();
            assert_eq!(lost.kind, LeaseErrorKind::Lost, "{lost}");
        }
        let facts = numbered_facts(&id("s"), Seq::ZERO, 1);
        let epoch = a.claim(&id("s")).await.unwrap().epoch;
        a.append(&id("s"), epoch, Seq::ZERO, &facts).await.unwrap();
    });
}

/// The server takes no release, and everything else.
struct NoReleases<'a>(&'a TestSchema);

#[async_trait::async_trait]
impl Disturbance for NoReleases<'_> {
    async fn begin(&self) {
        let sql = "alter function SCHEMA.release(text, bigint, bigint) rename to taken_away";
        self.0.run(sql).await;
    }

    async fn end(&self) {
        let sql = "alter function SCHEMA.taken_away(text, bigint, bigint) rename to release";
        self.0.run(sql).await;
    }
}

#[test]
fn what_could_not_be_given_back_is_free_before_the_lease_is_over() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let a = place.open_with("&node=a&lease_ms=3600000").await;
        let b = place.open_with("&node=b").await;
        what_could_not_be_given_back_is_free_later(&a, &b, &NoReleases(&place)).await.unwrap();
    });
}

#[test]
fn a_claim_whose_answer_was_lost_is_given_back() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let (id, faults) = (id("s"), Arc::new(Faults::of(b".claim_counted(")));
        let b = place.open_with("&node=b").await;
        let epoch = b.claim(&id).await.unwrap().epoch;
        let facts = numbered_facts(&id, Seq::ZERO, 2);
        b.append(&id, epoch, Seq::ZERO, &facts).await.unwrap();
        LogStore::release(&b, &id, epoch).await.unwrap();
        let options = "&node=a&lease_ms=3600000&patience_ms=300&answer_ms=60000";
        let a = open_by(&place, &faults, options).await;
        // It is not given back before it was seen that the server gave it.
        let kept = NoReleases(&place);
        kept.begin().await;
        faults.losing.store(usize::MAX, Ordering::SeqCst);
        let error = a.claim(&id).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
        assert!(faults.lost.load(Ordering::SeqCst) > 0);
        assert_eq!(free(&b).await, [""; 0], "the server gave it to the node");
        faults.losing.store(0, Ordering::SeqCst);
        kept.end().await;
        while free(&b).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        b.claim(&id).await.unwrap();
    });
}

#[test]
fn a_lease_that_was_over_is_not_renewed() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let a = place.open_with("&node=a&lease_ms=9000").await;
        let b = place.open_with("&node=b").await;
        let id = id("s");
        let epoch = a.claim(&id).await.unwrap().epoch;
        let facts = numbered_facts(&id, Seq::ZERO, 2);
        a.append(&id, epoch, Seq::ZERO, &facts).await.unwrap();
        place.run(OVER).await;
        let over = "select clock_timestamp()::text";
        let [over] = place.texts(over).await.try_into().unwrap();
        // Beyond the next renewal, which is the last that was asked by its connection.
        let asked = format!(
            "select 'asked' from pg_stat_activity where query like 'update SCHEMA.leases set until%' \
             and pid <> pg_backend_pid() and state = 'idle' and query_start > '{over}'"
        );
        while place.texts(&asked).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(free(&b).await, ["s"]);
        let facts = numbered_facts(&id, Seq(2), 1);
        let error = a.append(&id, epoch, Seq(2), &facts).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::NotClaimed, "{error}");
    });
}
