//! Holds the live relay in memory to the promises of its port.

use std::sync::Arc;

use windlass_memory::MemoryStore;
use windlass_ports::LiveRelay;
use windlass_testkit::live::LiveFixture;

struct Memory(MemoryStore);

#[async_trait::async_trait]
impl LiveFixture for Memory {
    async fn open(&self) -> Arc<dyn LiveRelay> {
        Arc::new(self.0.relay())
    }
}

windlass_testkit::live_suite!(Memory(MemoryStore::new()));
