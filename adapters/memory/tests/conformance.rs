//! Holds the memory store to the promises of the log store port.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex, Weak};

use windlass_memory::MemoryStore;
use windlass_ports::{LogStore, StoreError};
use windlass_testkit::store::StoreFixture;

#[derive(Default)]
struct Memory(Mutex<Weak<MemoryStore>>);

#[async_trait::async_trait]
impl StoreFixture for Memory {
    async fn open(&self) -> Arc<dyn LogStore> {
        let store = Arc::new(MemoryStore::new());
        *self.0.lock().unwrap() = Arc::downgrade(&store);
        store
    }

    async fn open_beside(&self) -> Result<Arc<dyn LogStore>, StoreError> {
        let first = self.0.lock().unwrap().upgrade();
        Ok(Arc::new(first.unwrap().another_node()))
    }
}

windlass_testkit::log_store_suite!(Memory::default());
