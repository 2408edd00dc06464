//! Holds the memory store to the promises of the log store port.

use std::sync::Arc;

use windlass_memory::MemoryStore;
use windlass_ports::LogStore;
use windlass_testkit::store::StoreFixture;

struct Memory;

#[async_trait::async_trait]
impl StoreFixture for Memory {
    async fn open(&self) -> Arc<dyn LogStore> {
        Arc::new(MemoryStore::new())
    }
}

windlass_testkit::log_store_suite!(Memory);
