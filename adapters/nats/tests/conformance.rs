//! Holds the NATS store to the promises of the log store port, on a real server.

#![expect(clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::sync::Arc;

use windlass_nats::NatsStore;
use windlass_ports::{LogStore, StoreError};
use windlass_testkit::store::StoreFixture;

use common::{Place, or_skip};

struct Fixture(Place);

#[async_trait::async_trait]
impl StoreFixture for Fixture {
    async fn open(&self) -> Arc<dyn LogStore> {
        self.open_beside().await.unwrap()
    }

    async fn open_beside(&self) -> Result<Arc<dyn LogStore>, StoreError> {
        let config = self.0.config("&claim_wait_ms=5000");
        Ok(Arc::new(NatsStore::open(&config).await?))
    }

    async fn image(&self) -> Option<Arc<dyn LogStore>> {
        let copy = self.0.copy().await;
        Some(Arc::new(copy.store().await))
    }
}

windlass_testkit::log_store_suite!(Fixture(or_skip(Place::new())));
