//! The schema: embedded steps from version to version, taken by one process at a time.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};
use windlass_ports::{StoreError, StoreErrorKind};

use crate::error::{corrupt_store, sqlite_error};

/// The steps; the first makes version 1. A step that was ever released is never changed.
const STEPS: [&str; 1] = [include_str!("sql/0001.sql")];

/// Mark of a Windlass store in the database's header, `wlog`.
const APPLICATION: i32 = 0x776c_6f67;

/// Brings a database to this version, in the mode of a write-ahead log.
///
/// # Errors
/// `Newer` where a newer engine made the schema; `Corrupt` for another program's database, or one
/// that does not read.
pub(crate) fn migrate(dir: &Path, db: &mut Connection) -> Result<(), StoreError> {
    let failed = |error| sqlite_error("opening", dir, error);
    let latest = STEPS.len();
    let version = version(dir, db)?;
    if version == latest {
        return Ok(());
    }
    let set = db.query_row("pragma journal_mode = wal", [], |row| row.get::<_, String>(0));
    let mode = set.map_err(failed)?;
    if mode != "wal" {
        let context = format!(
            "opening the SQLite store {}: its file system takes no write-ahead log (the mode is \
             {mode}); name a folder on a local disk",
            dir.display()
        );
        return Err(StoreError::new(StoreErrorKind::Io, context));
    }
    let step = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    for sql in STEPS.iter().skip(version) {
        step.execute_batch(sql).map_err(failed)?;
    }
    let latest = i64::try_from(latest).unwrap_or(i64::MAX);
    step.pragma_update(None, "user_version", latest).map_err(failed)?;
    step.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
    step.commit().map_err(failed)
}

/// Reads the version of the schema; 0 for an empty database.
fn version(dir: &Path, db: &Connection) -> Result<usize, StoreError> {
    let failed = |error| sqlite_error("opening", dir, error);
    let pragma = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let version = pragma("user_version").map_err(failed)?;
    let application = pragma("application_id").map_err(failed)?;
    let count = "select count(*) from sqlite_schema";
    let tables: i64 = db.query_row(count, [], |row| row.get(0)).map_err(failed)?;
    if (version, tables) == (0, 0) {
        return Ok(0);
    }
    if application != i64::from(APPLICATION) {
        return Err(corrupt_store(dir, "its database is that of another program"));
    }
    match usize::try_from(version) {
        Ok(version) if (1..=STEPS.len()).contains(&version) => Ok(version),
        Ok(_) | Err(_) => Err(StoreError::new(
            StoreErrorKind::Newer,
            format!(
                "opening the SQLite store {}: its tables have version {version}, and this engine \
                 knows up to {}: use the engine that made them, or a newer one",
                dir.display(),
                STEPS.len()
            ),
        )),
    }
}
