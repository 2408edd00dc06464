//! Store in an SQLite database.

use std::sync::Arc;

use windlass_sqlite::SqliteStore;

use super::StoreScheme;
use super::file::open_folder;

pub(super) fn scheme() -> StoreScheme {
    StoreScheme::path("sqlite", |path| {
        open_folder(path, |path| Ok(Arc::new(SqliteStore::open(path)?)))
    })
    .with_damaged(|path| open_folder(path, |path| Ok(Arc::new(SqliteStore::open_damaged(path)?))))
}
