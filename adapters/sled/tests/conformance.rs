//! Holds the sled store to the promises of the log store port.

#![expect(clippy::unwrap_used, reason = "all of it is tests")]

use std::sync::Arc;

use windlass_ports::{LogStore, StoreError};
use windlass_sled::SledStore;
use windlass_testkit::store::StoreFixture;

struct Place(tempfile::TempDir);

#[async_trait::async_trait]
impl StoreFixture for Place {
    async fn open(&self) -> Arc<dyn LogStore> {
        self.open_beside().await.unwrap()
    }

    async fn open_beside(&self) -> Result<Arc<dyn LogStore>, StoreError> {
        Ok(Arc::new(SledStore::open(self.0.path().join("store"))?))
    }
}

windlass_testkit::log_store_suite!(Place(tempfile::tempdir().unwrap()));
