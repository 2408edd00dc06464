//! Connections to the database, all with the same settings.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use windlass_ports::StoreError;

use crate::error::sqlite_error;
use crate::folder::StoreFolder;

/// Longest wait for another writer. It is below the pipeline's limit for one call.
const BUSY: Duration = Duration::from_secs(30);

/// Bytes to which SQLite cuts its write-ahead log once that is copied into the database.
const LOG_BYTES: i64 = 64 * 1024 * 1024;

/// Settings of each connection. A commit is on the disk when it returns, and what is deleted is
/// overwritten with zeros.
const SETTINGS: &[(&str, i64)] = &[
    ("synchronous", 2),
    ("fullfsync", 1),
    ("checkpoint_fullfsync", 1),
    ("secure_delete", 1),
    ("temp_store", 2),
    ("trusted_schema", 0),
    ("cell_size_check", 1),
    ("foreign_keys", 0),
    ("journal_size_limit", LOG_BYTES),
];

/// Opens a connection to an existing database.
pub(crate) fn connect(folder: &StoreFolder) -> Result<Connection, StoreError> {
    connect_to(&folder.database()).map_err(|error| sqlite_error("opening", &folder.dir, error))
}

fn connect_to(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(BUSY)?;
    for (name, value) in SETTINGS {
        db.pragma_update(None, name, value)?;
    }
    Ok(db)
}
