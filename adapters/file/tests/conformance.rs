//! Holds the file store to the promises of the log store port.

#![expect(clippy::unwrap_used, reason = "it is part of a test")]

use std::sync::Arc;

use tempfile::TempDir;
use windlass_file::FileStore;
use windlass_ports::{LogStore, StoreError};
use windlass_testkit::store::{
    FactDamage, FactDamageKind, Inspection, Loss, StoreFixture, bytes_of, copy_of, damage_files,
};

struct Folder(TempDir);

#[async_trait::async_trait]
impl StoreFixture for Folder {
    async fn open(&self) -> Arc<dyn LogStore> {
        Arc::new(FileStore::open(self.0.path().join("store")).unwrap())
    }

    async fn image(&self) -> Option<Arc<dyn LogStore>> {
        let copy = copy_of(&self.0.path().join("store"), self.0.path()).unwrap();
        Some(Arc::new(FileStore::open(copy).unwrap()))
    }

    async fn damaged(&self, loss: Loss) -> Option<Result<Arc<dyn LogStore>, StoreError>> {
        let copy = copy_of(&self.0.path().join("store"), self.0.path()).unwrap();
        loss.happen_to(&copy.join("lanes/0000/00000001.seg")).unwrap();
        Some(FileStore::open(copy).map(|store| Arc::new(store) as Arc<dyn LogStore>))
    }

    async fn damage(
        &self,
        damage: FactDamage<'_>,
    ) -> Inspection<Result<Arc<dyn LogStore>, StoreError>> {
        if damage.kind == FactDamageKind::Removed {
            return Inspection::Skipped(
                "a unit that is cut out of a segment moves all that follow: see tests/it/damage.rs",
            );
        }
        let copy = copy_of(&self.0.path().join("store"), self.0.path()).unwrap();
        damage_files(&copy, damage.text).unwrap();
        Inspection::Found(FileStore::open(copy).map(|store| Arc::new(store) as Arc<dyn LogStore>))
    }

    async fn bytes(&self) -> Inspection<Vec<u8>> {
        Inspection::Found(bytes_of(&self.0.path().join("store")).unwrap())
    }
}

windlass_testkit::log_store_suite!(Folder(TempDir::new().unwrap()));

fn open(dir: &std::path::Path) -> Result<Arc<dyn LogStore>, StoreError> {
    Ok(Arc::new(FileStore::open(dir.to_owned())?))
}

windlass_testkit::kill_suite!(open);
windlass_testkit::power_suite!(open);
