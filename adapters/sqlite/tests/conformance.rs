//! Holds the SQLite store to the promises of the log store port.

#![expect(clippy::unwrap_used, reason = "it is part of a test")]

use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use windlass_ports::{LogStore, StoreError};
use windlass_sqlite::SqliteStore;
use windlass_testkit::store::{
    FactDamage, FactDamageKind, Inspection, Loss, StoreFixture, bytes_of, copy_of, damage_files,
};

struct Folder(TempDir);

fn open(dir: &Path) -> Result<Arc<dyn LogStore>, StoreError> {
    Ok(Arc::new(SqliteStore::open(dir.to_owned())?))
}

#[async_trait::async_trait]
impl StoreFixture for Folder {
    async fn open(&self) -> Arc<dyn LogStore> {
        open(&self.0.path().join("store")).unwrap()
    }

    async fn image(&self) -> Option<Arc<dyn LogStore>> {
        let copy = copy_of(&self.0.path().join("store"), self.0.path()).unwrap();
        Some(open(&copy).unwrap())
    }

    async fn damaged(&self, loss: Loss) -> Option<Result<Arc<dyn LogStore>, StoreError>> {
        let copy = copy_of(&self.0.path().join("store"), self.0.path()).unwrap();
        loss.happen_to(&copy.join("windlass.sqlite3")).unwrap();
        Some(open(&copy))
    }

    async fn damage(
        &self,
        damage: FactDamage<'_>,
    ) -> Inspection<Result<Arc<dyn LogStore>, StoreError>> {
        let copy = copy_of(&self.0.path().join("store"), self.0.path()).unwrap();
        match damage.kind {
            FactDamageKind::Changed => damage_files(&copy, damage.text).unwrap(),
            FactDamageKind::Removed => {
                let db = rusqlite::Connection::open(copy.join("windlass.sqlite3")).unwrap();
                let sql = "delete from facts where instr(body, ?1) > 0";
                assert_eq!(db.execute(sql, [damage.text]).unwrap(), 1);
            }
        }
        Inspection::Found(open(&copy))
    }

    async fn bytes(&self) -> Inspection<Vec<u8>> {
        Inspection::Found(bytes_of(&self.0.path().join("store")).unwrap())
    }
}

windlass_testkit::log_store_suite!(Folder(TempDir::new().unwrap()));
windlass_testkit::kill_suite!(open);
windlass_testkit::power_suite!(open);
