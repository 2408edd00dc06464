//! A pooler in transaction mode between the stores and the server. That the ports keep their promises
//! behind one is seen by the conformance suites; here is what is particular to it.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_postgres::NoTls;
use tracing::field::{Field, Visit};
use tracing::span;
use tracing::{Event, Level, Metadata, Subscriber};
use windlass_core::{Seq, SessionId};
use windlass_ports::{LogStore, StoreErrorKind};
use windlass_postgres::{PostgresConfig, PostgresStore};
use windlass_testkit::pgbouncer::PgBouncer;
use windlass_testkit::store::numbered_facts;

use crate::common::{TestSchema, encoded, own, pooler, server};
use crate::tailing::{NEVER, follows};
use crate::{LONG, run};

/// What else would be seen here of poolers is worth nothing if this one kept a session for whoever asks.
#[test]
fn what_one_connection_asks_goes_by_several_sessions_of_the_server() {
    let Some(pooler) = pooler() else { return };
    run(async {
        let (client, connection) = tokio_postgres::connect(&pooler, NoTls).await.unwrap();
        let _driven = tokio::spawn(connection);
        let mut sessions = BTreeSet::new();
        while sessions.len() < 2 {
            let rows = client.query_typed("select pg_backend_pid()", &[]).await;
            sessions.insert(rows.unwrap()[0].get::<_, i32>(0));
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn where_the_server_itself_is_named_a_notification_wakes() {
    let Some(place) = TestSchema::pooled() else {
        return;
    };
    run(async { follows(&place, NEVER).await });
}

#[test]
fn without_listening_it_is_asked_for_through_a_pooler() {
    let Some(place) = TestSchema::pooled() else {
        return;
    };
    run(async { follows(&place, "&listen=never&poll_ms=20").await });
}

/// Keeps what is warned of.
#[derive(Default)]
struct Warnings(Mutex<Vec<String>>);

impl Warnings {
    /// Those of one place.
    fn of(&self, schema: &str) -> Vec<String> {
        let all = self.0.lock().unwrap();
        let named = format!("schema {schema}\"");
        let of_it = all.iter().filter(|words| words.contains(&named));
        of_it.cloned().collect()
    }
}

/// A subscriber by which they are kept.
struct WarningRecorder(Arc<Warnings>);

struct Words(String);

impl Visit for Words {
    fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
        self.0.push_str(&format!("{value:?} "));
    }
}

impl Subscriber for WarningRecorder {
    fn enabled(&self, of: &Metadata<'_>) -> bool {
        *of.level() <= Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut words = Words(String::new());
        event.record(&mut words);
        self.0.0.lock().unwrap().push(words.0);
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[test]
fn where_only_a_pooler_is_named_that_is_told_and_it_is_asked_for() {
    let Some(place) = TestSchema::pooled() else {
        return;
    };
    let warnings = Arc::new(Warnings::default());
    // By all threads: where tests share a process, each looks for its own place.
    let kept = tracing::subscriber::set_global_default(WarningRecorder(warnings.clone()));
    kept.unwrap();
    run(async {
        let asking = "&listen=here&poll_ms=20";
        follows(&place, asking).await;
        let _store = place.open_with(asking).await;
        while warnings.of(&place.schema).is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let told = warnings.of(&place.schema).remove(0);
        assert!(told.contains("listen=URL") && told.contains("listen=never"), "{told}");
        assert!(!told.contains("postgres://"), "{told}");
    });
}

#[test]
fn a_prepared_statement_is_refused_with_the_way_out() {
    let Some(server) = server() else { return };
    let Some(place) = TestSchema::pooled() else {
        return;
    };
    // One of this test alone: what is prepared stays in the sessions that it shares out.
    let pooler = PgBouncer::start(&server).unwrap();
    run(async {
        let url = format!("{}?schema={}&prepared=yes&listen=never", pooler.url(), place.schema);
        let config = PostgresConfig::parse(&url).unwrap();
        let store = PostgresStore::connect(config).await.unwrap();
        let id = SessionId::new("s").unwrap();
        let epoch = store.claim(&id).await.unwrap().epoch;
        // Newer poolers keep prepared statements apart, unless they are told not to.
        for after in 0..20 {
            let facts = numbered_facts(&id, Seq(after), 1);
            if let Err(error) = store.append(&id, epoch, Seq(after), &facts).await {
                assert_eq!(error.kind, StoreErrorKind::Io, "{error}");
                let words = error.to_string();
                assert!(words.contains("take prepared=yes out"), "{words}");
                return;
            }
        }
        assert_eq!(store.verify(&id).await.unwrap().last, Seq(20));
    });
}

#[test]
fn a_server_that_comes_back_behind_a_pooler_finds_the_store_waiting() {
    let Some(mut server) = own() else { return };
    if pooler().is_none() {
        return;
    }
    let pooler = PgBouncer::start(&server.url()).unwrap();
    run(async {
        let listen = encoded(&server.url());
        let url = format!("{}?lease_ms=120000&patience_ms=90000&listen={listen}", pooler.url());
        let config = PostgresConfig::parse(&url).unwrap();
        let store = Arc::new(PostgresStore::connect(config).await.unwrap());
        let id = SessionId::new("s").unwrap();
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
        assert_eq!(store.verify(&id).await.unwrap().last, Seq(5));
        assert_eq!(store.tail(&id, Seq(3), LONG).await.unwrap(), Seq(5));
    });
}
