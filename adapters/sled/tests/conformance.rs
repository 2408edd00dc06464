//! Holds the sled store to the promises of the log store port.

#![expect(clippy::unwrap_used, reason = "all of it is tests")]

use std::sync::Arc;

use windlass_ports::LogStore;
use windlass_sled::SledStore;
use windlass_testkit::store::StoreFixture;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

#[async_trait::async_trait]
impl StoreFixture for Place {
    async fn open(&self) -> Arc<dyn LogStore> {
        Arc::new(SledStore::open(self.0.path().join("store")).unwrap())
    }
}

windlass_testkit::log_store_suite!(Place::new());
