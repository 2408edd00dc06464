//! A place in a PostgreSQL server: a schema of its own. The server is the one that the environment
//! names, as `cargo xtask test` and `conform` do, or one of this process; so is the pooler before it.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests stop where they may, say what they skip, and take what they need of it"
)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::NoTls;
use windlass_postgres::{PostgresConfig, PostgresStore};
use windlass_testkit::pgbouncer::{self, PgBouncer};
use windlass_testkit::postgres::{MISSING, PostgresServer, URL};

/// The address of a server; `None` where there is none, which is said.
pub(crate) fn server() -> Option<String> {
    static OWN: OnceLock<PostgresServer> = OnceLock::new();
    if let Ok(url) = std::env::var(URL) {
        return Some(url);
    }
    if PostgresServer::programs().is_none() {
        eprintln!("skipped: {MISSING}");
        return None;
    }
    Some(OWN.get_or_init(|| PostgresServer::start().unwrap()).url())
}

/// The address of a pooler in transaction mode before that server; `None` where there is none, which is
/// said.
pub(crate) fn pooler() -> Option<String> {
    static OWN: OnceLock<PgBouncer> = OnceLock::new();
    let server = server()?;
    if let Ok(url) = std::env::var(pgbouncer::URL) {
        return Some(url);
    }
    if PgBouncer::program().is_none() {
        eprintln!("skipped: {}", pgbouncer::MISSING);
        return None;
    }
    let own = OWN.get_or_init(|| PgBouncer::start(&server).unwrap());
    Some(own.url())
}

/// A URL as the value of an option of another one.
pub(crate) fn encoded(url: &str) -> String {
    let mut encoded = String::new();
    for letter in url.chars() {
        match letter {
            ':' | '/' | '@' | '?' | '=' | '&' | '%' => {
                encoded.push_str(&format!("%{:02X}", u32::from(letter)));
            }
            letter => encoded.push(letter),
        }
    }
    encoded
}

/// A server of one test alone; `None` where there is none, which is said.
pub(crate) fn own() -> Option<PostgresServer> {
    if PostgresServer::programs().is_none() {
        eprintln!("skipped: {MISSING}");
        return None;
    }
    Some(PostgresServer::start().unwrap())
}

/// A schema that is dropped with this.
pub(crate) struct TestSchema {
    /// The server's own.
    pub(crate) url: String,
    pub(crate) schema: String,
    /// By what stores are opened, where that is not the server itself.
    pub(crate) pooler: Option<String>,
}

impl TestSchema {
    /// A new schema; `None` where there is no server.
    pub(crate) fn new() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let schema = format!("t{}_{number}", std::process::id());
        Some(Self { url: server()?, schema, pooler: None })
    }

    /// The same behind a pooler in transaction mode; `None` where there is no server or no pooler.
    pub(crate) fn pooled() -> Option<Self> {
        let pooler = pooler()?;
        let mut place = Self::new()?;
        place.pooler = Some(pooler);
        Some(place)
    }

    /// The store's URL with more options, each beginning with `&`. Without them it waits for answers,
    /// and its lease lasts, for longer than a machine that does other work besides stands still. Behind a
    /// pooler the store is told of the server itself, so that it listens there.
    pub(crate) fn with(&self, options: &str) -> String {
        let Self { url, schema, .. } = self;
        let usual = "pool=4&patience_ms=90000&lease_ms=60000";
        match &self.pooler {
            None => format!("{url}?schema={schema}&{usual}{options}"),
            Some(pooler) if options.contains("&listen=") => {
                format!("{pooler}?schema={schema}&{usual}{options}")
            }
            Some(pooler) => {
                let listen = encoded(url);
                format!("{pooler}?schema={schema}&{usual}&listen={listen}{options}")
            }
        }
    }

    pub(crate) async fn open_with(&self, options: &str) -> PostgresStore {
        let config = PostgresConfig::parse(&self.with(options)).unwrap();
        PostgresStore::connect(config).await.unwrap()
    }

    pub(crate) async fn store(&self) -> PostgresStore {
        self.open_with("").await
    }

    /// Runs statements by a connection of its own; `SCHEMA` is this place's.
    pub(crate) async fn run(&self, sql: &str) {
        let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await.unwrap();
        let driven = tokio::spawn(connection);
        let sql = sql.replace("SCHEMA", &self.schema);
        client.batch_execute(&sql).await.unwrap();
        drop(client);
        driven.await.unwrap().unwrap();
    }

    /// Asks for texts by a connection of its own; `SCHEMA` is this place's.
    pub(crate) async fn texts(&self, sql: &str) -> Vec<String> {
        let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await.unwrap();
        let driven = tokio::spawn(connection);
        let sql = sql.replace("SCHEMA", &self.schema);
        let rows = client.query(&sql, &[]).await.unwrap();
        drop(client);
        driven.await.unwrap().unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// A copy of the tables as they are, in a schema of its own, with all leases over.
    pub(crate) async fn copy(&self) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let copy = Self {
            url: self.url.clone(),
            schema: format!("{}_copy{number}", self.schema),
            pooler: self.pooler.clone(),
        };
        drop(copy.store().await);
        let from = &self.schema;
        copy.run(&format!(
            "begin isolation level repeatable read;
             delete from SCHEMA.leases;
             insert into SCHEMA.sessions (id, log, epoch, owner, last, waiting, changed, turning,
                     link, tenant, bytes) overriding system value
                 select id, log, epoch, owner, last, waiting, changed, turning, link, tenant, bytes
                 from {from}.sessions;
             insert into SCHEMA.facts select * from {from}.facts;
             insert into SCHEMA.snapshots select * from {from}.snapshots;
             insert into SCHEMA.letters overriding system value select * from {from}.letters;
             insert into SCHEMA.replies select * from {from}.replies;
             select setval('SCHEMA.epochs', (select last_value from {from}.epochs));
             select setval(pg_get_serial_sequence('SCHEMA.sessions', 'log'),
                           (select coalesce(max(log), 1) from SCHEMA.sessions));
             commit"
        ))
        .await;
        copy
    }
}

impl Drop for TestSchema {
    fn drop(&mut self) {
        // From a thread of its own: this may be within a runtime.
        let (url, schema) = (self.url.clone(), self.schema.clone());
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let Ok((client, connection)) = tokio_postgres::connect(&url, NoTls).await else {
                    return;
                };
                let driven = tokio::spawn(connection);
                let sql =
                    format!("set lock_timeout = '30s'; drop schema if exists {schema} cascade");
                if let Err(error) = client.batch_execute(&sql).await {
                    eprintln!("the schema {schema} stays: {error}");
                }
                drop(client);
                let _ = driven.await;
            });
        });
        let _ = dropped.join();
    }
}
