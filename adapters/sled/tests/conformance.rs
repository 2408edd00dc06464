//! Holds the sled store to the promises of the log store port.

#![expect(clippy::unwrap_used, reason = "all of it is tests")]

use std::sync::Arc;

use windlass_ports::{LogStore, StoreError};
use windlass_sled::SledStore;
use windlass_testkit::store::{
    FactDamage, FactDamageKind, Inspection, Loss, StoreFixture, bytes_of, copy_of, damage_files,
};

struct SledFixture(tempfile::TempDir);

#[async_trait::async_trait]
impl StoreFixture for SledFixture {
    async fn open(&self) -> Arc<dyn LogStore> {
        self.open_beside().await.unwrap()
    }

    async fn open_beside(&self) -> Result<Arc<dyn LogStore>, StoreError> {
        Ok(Arc::new(SledStore::open(self.0.path().join("store"))?))
    }

    async fn image(&self) -> Option<Arc<dyn LogStore>> {
        let copy = copy_of(&self.0.path().join("store"), self.0.path()).unwrap();
        Some(Arc::new(SledStore::open(copy).unwrap()))
    }

    async fn damaged(&self, loss: Loss) -> Option<Result<Arc<dyn LogStore>, StoreError>> {
        let copy = copy_of(&self.0.path().join("store"), self.0.path()).unwrap();
        loss.happen_to(&copy.join("db/db")).unwrap();
        Some(SledStore::open(copy).map(|store| Arc::new(store) as Arc<dyn LogStore>))
    }

    async fn damage(
        &self,
        damage: FactDamage<'_>,
    ) -> Inspection<Result<Arc<dyn LogStore>, StoreError>> {
        if damage.kind == FactDamageKind::Removed {
            return Inspection::Skipped(
                "its rows are packed into pages that nobody can cut one out of",
            );
        }
        let copy = copy_of(&self.0.path().join("store"), self.0.path()).unwrap();
        damage_files(&copy, damage.text).unwrap();
        Inspection::Found(SledStore::open(copy).map(|store| Arc::new(store) as Arc<dyn LogStore>))
    }

    async fn bytes(&self) -> Inspection<Vec<u8>> {
        Inspection::Found(bytes_of(&self.0.path().join("store")).unwrap())
    }
}

windlass_testkit::log_store_suite!(SledFixture(tempfile::tempdir().unwrap()));

fn open(dir: &std::path::Path) -> Result<Arc<dyn LogStore>, StoreError> {
    Ok(Arc::new(SledStore::open(dir.to_owned())?))
}

windlass_testkit::kill_suite!(open);
windlass_testkit::power_suite!(open);
