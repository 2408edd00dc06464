//! The store of the example `own_store`, held to the suite of its port.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "the example's own main is run elsewhere")]
#[path = "../examples/own_store.rs"]
mod own_store;

use std::fs;
use std::sync::Arc;

use own_store::JournalStore;
use tempfile::TempDir;
use windlass::ports::{LogStore, StoreError};
use windlass_testkit::store::{FactDamage, Inspection, StoreFixture};

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }
}

#[async_trait::async_trait]
impl StoreFixture for Place {
    async fn open(&self) -> Arc<dyn LogStore> {
        Arc::new(JournalStore::open(&self.folder.path().join("journal")).await.unwrap())
    }

    async fn open_beside(&self) -> Result<Arc<dyn LogStore>, StoreError> {
        Ok(Arc::new(JournalStore::open(&self.folder.path().join("journal")).await?))
    }

    async fn damage(
        &self,
        _damage: FactDamage<'_>,
    ) -> Inspection<Result<Arc<dyn LogStore>, StoreError>> {
        Inspection::Skipped("the lines of the example have no checksum")
    }

    async fn image(&self) -> Option<Arc<dyn LogStore>> {
        let copy = self.folder.path().join("copy");
        fs::copy(self.folder.path().join("journal"), &copy).unwrap();
        Some(Arc::new(JournalStore::open(&copy).await.unwrap()))
    }
}

windlass_testkit::log_store_suite!(Place::new());
