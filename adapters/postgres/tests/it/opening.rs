//! Opening: the tables of many nodes at once, of a newer engine, and servers that will not do.

use std::sync::Arc;

use tokio::task::JoinSet;
use windlass_ports::{LogStore, SessionFilter, StoreError, StoreErrorKind};
use windlass_postgres::{PostgresConfig, PostgresStore};

use crate::common::{TestSchema, own};
use crate::run;

async fn refused(url: &str) -> StoreError {
    let config = PostgresConfig::parse(url).unwrap();
    match PostgresStore::connect(config).await {
        Ok(_) => panic!("connecting succeeded"),
        Err(error) => error,
    }
}

#[test]
fn many_nodes_make_the_tables_at_once() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let place = Arc::new(place);
        let mut nodes = JoinSet::new();
        for _ in 0..12 {
            let place = place.clone();
            nodes.spawn(async move { place.store().await });
        }
        while let Some(store) = nodes.join_next().await {
            let listed = store.unwrap().sessions(SessionFilter::ALL_TENANTS, None, 1).await;
            assert!(listed.unwrap().is_empty());
        }
    });
}

#[test]
fn tables_of_version_1_go_on() {
    const FIRST: &str = include_str!("../../src/sql/0001.sql");
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        place.run("create schema SCHEMA").await;
        place.run(FIRST).await;
        place
            .run(
                "create table SCHEMA.version
                     (version integer primary key, since timestamptz not null default now());
                 insert into SCHEMA.version (version) values (1);
                 insert into SCHEMA.sessions (id, epoch, link, last, waiting, turning) values
                     ('waits', 0, '', 1, 1, false),
                     ('turns', 0, '', 1, 0, true),
                     ('rests', 0, '', 1, 0, false);
                 insert into SCHEMA.facts (log, last, crc, body)
                     select log, last, 0, '' from SCHEMA.sessions",
            )
            .await;
        let store = place.store().await;
        let listed = async |open| {
            let filter = SessionFilter { open: Some(open), ..SessionFilter::ALL_TENANTS.clone() };
            let heads = store.sessions(&filter, None, 10).await.unwrap();
            let ids: Vec<String> = heads.iter().map(|head| head.id.to_string()).collect();
            ids
        };
        assert_eq!(listed(true).await, ["turns", "waits"]);
        assert_eq!(listed(false).await, ["rests"]);
    });
}

#[test]
fn no_index_of_sessions_names_what_each_append_changes() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        drop(place.store().await);
        // The columns that indexes have as keys, or in expressions and conditions.
        let named = place
            .texts(
                "select distinct a.attname::text from pg_depend d
                 join pg_index i on i.indexrelid = d.objid
                 join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
                 where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass
                     and i.indrelid = 'SCHEMA.sessions'::regclass and d.refobjid = i.indrelid
                 order by 1",
            )
            .await;
        // The key is owned by its constraint, which names the id.
        assert_eq!(named, ["id", "open", "owner", "tenant"]);
    });
}

#[test]
fn tables_of_a_newer_engine_are_left_alone() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        drop(place.store().await);
        let newer = "insert into SCHEMA.version (version) values (99)";
        place.run(newer).await;
        let error = refused(&place.with("")).await;
        assert_eq!(error.kind, StoreErrorKind::Newer);
        assert!(error.to_string().contains("99"), "{error}");
    });
}

#[test]
fn a_server_that_will_not_do_is_refused_in_words() {
    let Some(server) = own() else { return };
    run(async {
        let place = TestSchema { url: server.url(), schema: "s".to_owned(), pooler: None };
        let with = |user: &str, database: &str| {
            let port = server.port();
            format!("postgres://{user}@127.0.0.1:{port}/{database}?patience_ms=100&answer_ms=60000")
        };
        place
            .run(
                "create role guarded login password 'right';
                 create role guest login;
                 create role hasty login superuser;
                 alter role hasty set synchronous_commit = off;
                 create role looks login superuser;
                 alter role looks set default_transaction_read_only = on",
            )
            .await;
        let error = refused(&with("windlass", "nowhere")).await;
        assert_eq!(error.kind, StoreErrorKind::Io);
        assert!(error.to_string().contains("no such database"), "{error}");

        let error = refused(&with("guest", "postgres")).await;
        assert_eq!(error.kind, StoreErrorKind::ReadOnly, "{error}");
        assert!(error.to_string().contains("grant it"), "{error}");

        let error = refused(&with("hasty", "postgres")).await;
        assert_eq!(error.kind, StoreErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains("durability=process"), "{error}");
        let url = format!("{}&durability=process", with("hasty", "postgres"));
        let config = PostgresConfig::parse(&url).unwrap();
        let store = PostgresStore::connect(config).await.unwrap();
        let declared = store.capabilities().durability;
        assert_eq!(declared, windlass_ports::Durability::Process);

        let error = refused(&with("looks", "postgres")).await;
        assert_eq!(error.kind, StoreErrorKind::ReadOnly, "{error}");

        let rules =
            "host all guarded 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n";
        std::fs::write(server.data().join("pg_hba.conf"), rules).unwrap();
        place.run("select pg_reload_conf()").await;
        // The server takes the new rules up when it comes to it.
        let mut error = refused(&with("guarded:wr0ng", "postgres")).await;
        while error.kind == StoreErrorKind::ReadOnly {
            tokio::task::yield_now().await;
            error = refused(&with("guarded:wr0ng", "postgres")).await;
        }
        assert_eq!(error.kind, StoreErrorKind::Io, "{error}");
        let words = format!("{error} {error:?}");
        assert!(words.contains("correct the user and the password"), "{words}");
        assert!(!words.contains("wr0ng"), "{words}");
        let error = refused(&with("guarded", "postgres")).await;
        assert_eq!(error.kind, StoreErrorKind::Io, "{error}");
        assert!(error.to_string().contains("password"), "{error}");
    });
}
