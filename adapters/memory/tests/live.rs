//! Holds the live relay in memory to the promises of its port.

use std::sync::Arc;

use windlass_memory::MemoryStore;
use windlass_ports::LiveBus;
use windlass_testkit::live::LiveFixture;

struct Memory(MemoryStore);

#[async_trait::async_trait]
impl LiveFixture for Memory {
    async fn open(&self) -> Arc<dyn LiveBus> {
        Arc::new(self.0.live_bus())
    }
}

windlass_testkit::live_suite!(Memory(MemoryStore::new()));
