//! The schema: embedded steps from version to version, taken by one node at a time; and what is asked
//! of a server before anything is kept on it.

use tokio_postgres::Transaction;
use tokio_postgres::types::Type;
use windlass_ports::{Durability, StoreError, StoreErrorKind};

use crate::database::Database;
use crate::error::{failed, meaning};

/// The steps; the first makes version 1. A step that was ever released is never changed.
const STEPS: [&str; 5] = [
    include_str!("sql/0001.sql"),
    include_str!("sql/0002.sql"),
    include_str!("sql/0003.sql"),
    include_str!("sql/0004.sql"),
    include_str!("sql/0005.sql"),
];
/// Most tries of the migration when the connection is lost.
const TRIES: u32 = 5;
/// The oldest server: 13 has `gen_random_uuid` of its own.
const OLDEST: i32 = 130_000;

/// Message about a server that accepts no writes.
const READ_ONLY: &str = "the server takes no writes: it is a standby, or read-only by its settings; name \
     the primary in the URL (several hosts and target_session_attrs=read-write find it)";

/// Facts about a server, read when connecting.
pub(crate) struct ServerInfo {
    /// A name that nobody else has.
    pub(crate) unique: String,
}

/// Asks the server whether it keeps the declared durability, and has what the store needs.
///
/// # Errors
/// `Unsupported` for a server that is too old, `Invalid` for one that does not sync, `ReadOnly` for a
/// standby, `Unavailable`, `Io`.
pub(crate) async fn inspect_server(
    database: &Database,
    durability: Durability,
) -> Result<ServerInfo, StoreError> {
    const ASKED: &str = "select current_setting('server_version_num')::int, \
        current_setting('fsync'), current_setting('synchronous_commit'), \
        current_setting('full_page_writes'), \
        pg_is_in_recovery() or current_setting('transaction_read_only') = 'on', \
        gen_random_uuid()::text";
    let place = &database.location;
    let refused = |kind, what: String| StoreError::new(kind, format!("opening {place}: {what}"));
    let rows = database.rows("opening", ASKED, &[]).await?;
    let Some(row) = rows.first() else {
        return Err(refused(StoreErrorKind::Io, "no answer".to_owned()));
    };
    let version: i32 = row.get(0);
    if version < OLDEST {
        let what = format!("the server has version {version}, and 13 is the oldest that will do");
        return Err(refused(StoreErrorKind::Unsupported, what));
    }
    if row.get::<_, bool>(4) {
        return Err(refused(StoreErrorKind::ReadOnly, READ_ONLY.to_owned()));
    }
    if durability == Durability::Power {
        for (at, name) in [(1, "fsync"), (2, "synchronous_commit"), (3, "full_page_writes")] {
            if row.get::<_, &str>(at) == "off" {
                let what = format!(
                    "the server has {name} = off, so what it acknowledges does not survive a loss \
                     of power; turn it on, or declare less with durability=process"
                );
                return Err(refused(StoreErrorKind::Invalid, what));
            }
        }
    }
    Ok(ServerInfo { unique: row.get(5) })
}

/// Commits a row and reads it back: a lease of no time, under a name that no node has.
///
/// # Errors
/// `ReadOnly` for a primary that became a standby, `Unavailable`, `Full`, `Io`.
pub(crate) async fn probe(database: &Database) -> Result<(), StoreError> {
    const WRITTEN: &str = "insert into SCHEMA.leases as l (name, holder, epoch, ttl_ms, until) \
        values ('\u{1}probe', 'probe', nextval('SCHEMA.epochs'), 0, clock_timestamp()) \
        on conflict (name) do update set epoch = excluded.epoch, until = excluded.until \
        returning epoch";
    const READ: &str = "select epoch from SCHEMA.leases where name = '\u{1}probe'";
    let doing = "probing";
    let written = database.rows(doing, WRITTEN, &[]).await?;
    let read = database.rows(doing, READ, &[]).await?;
    let epoch = |rows: &[tokio_postgres::Row]| rows.first().map(|row| row.get::<_, i64>(0));
    // Another node may have probed in between, with a larger epoch.
    match epoch(&written) {
        Some(written) if epoch(&read) >= Some(written) => Ok(()),
        Some(_) | None => {
            let context =
                format!("{doing} {}: a committed row is not read back", database.location);
            Err(StoreError::new(StoreErrorKind::Io, context))
        }
    }
}

/// Brings the schema to this version. Many nodes may do that at once: one does it, and the others
/// wait for it.
///
/// # Errors
/// `Newer` where a newer engine made the schema, `ReadOnly` where this user may not make it,
/// `Unavailable`, `Io`.
pub(crate) async fn migrate(database: &Database) -> Result<(), StoreError> {
    let present = database.sql("SCHEMA.version");
    let present = &[(&present as _, Type::TEXT)];
    let asked = "select to_regclass($1) is not null";
    let rows = database.rows("opening", asked, present).await?;
    if rows.first().is_some_and(|row| row.get(0)) {
        let asked = "select coalesce(max(version), 0) from SCHEMA.version";
        let rows = database.rows("opening", asked, &[]).await?;
        let version = rows.first().map_or(0, |row| row.get(0));
        if is_done(database, version)? {
            return Ok(());
        }
    }
    let mut tries = 0;
    loop {
        tries += 1;
        let mut client = database.connection("making the tables of").await?;
        let failing = |error| failed("making the tables", &database.location, error);
        let ended = match client.transaction().await {
            Ok(transaction) => step(database, transaction).await,
            Err(error) => Err(MigrationError::Asked(error)),
        };
        match ended {
            Ok(()) => return Ok(()),
            Err(MigrationError::Newer(error)) => return Err(error),
            Err(MigrationError::Asked(error)) if tries < TRIES && meaning(&error).passing => {
                tracing::debug!(%error, "making the tables again");
            }
            Err(MigrationError::Asked(error)) => return Err(failing(error)),
        }
    }
}

enum MigrationError {
    Newer(StoreError),
    Asked(tokio_postgres::Error),
}

impl From<tokio_postgres::Error> for MigrationError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Asked(error)
    }
}

/// All steps that are left, in one transaction, under a lock that ends with it.
async fn step(
    database: &Database,
    transaction: deadpool_postgres::Transaction<'_>,
) -> Result<(), MigrationError> {
    let transaction: &Transaction<'_> = &transaction;
    let lock = database.sql("windlass SCHEMA");
    let locked = "select pg_advisory_xact_lock(hashtextextended($1, 0))";
    transaction.query_typed(locked, &[(&lock, Type::TEXT)]).await?;
    let schema = &[(&database.schema as _, Type::TEXT)];
    let asked = "select to_regnamespace(quote_ident($1)) is not null";
    let rows = transaction.query_typed(asked, schema).await?;
    if !rows.first().is_some_and(|row| row.get(0)) {
        let made = database.sql("create schema SCHEMA");
        transaction.batch_execute(&made).await?;
    }
    let versions = database.sql(
        "create table if not exists SCHEMA.version \
         (version integer primary key, since timestamptz not null default now())",
    );
    transaction.batch_execute(&versions).await?;
    let asked = database.sql("select coalesce(max(version), 0) from SCHEMA.version");
    let rows = transaction.query_typed(&asked, &[]).await?;
    let version: i32 = rows.first().map_or(0, |row| row.get(0));
    if is_done(database, version).map_err(MigrationError::Newer)? {
        return Ok(());
    }
    for (number, step) in (1_i32..).zip(STEPS) {
        if number > version {
            transaction.batch_execute(&database.sql(step)).await?;
            let kept = database.sql("insert into SCHEMA.version (version) values ($1)");
            transaction.query_typed(&kept, &[(&number, Type::INT4)]).await?;
        }
    }
    transaction.batch_execute("commit").await?;
    Ok(())
}

fn is_done(database: &Database, version: i32) -> Result<bool, StoreError> {
    let latest = i32::try_from(STEPS.len()).unwrap_or(i32::MAX);
    if version > latest {
        let context = format!(
            "opening {}: its tables have version {version}, and this engine knows up to {latest}: \
             use the engine that made them, or a newer one",
            database.location
        );
        return Err(StoreError::new(StoreErrorKind::Newer, context));
    }
    Ok(version == latest)
}
