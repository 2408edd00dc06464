//! Holds the leases in memory to the promises of the leases port.

use std::sync::Arc;

use windlass_core::Timestamp;
use windlass_memory::MemoryLeases;
use windlass_ports::{LeaseErrorKind, Leases};
use windlass_testkit::clock::ManualClock;
use windlass_testkit::leases::LeasesFixture;

struct Memory {
    clock: ManualClock,
    leases: MemoryLeases,
}

impl Memory {
    fn new() -> Self {
        let clock = ManualClock::new(Timestamp(5), 1);
        let leases = MemoryLeases::new(Arc::new(clock.clone()));
        Self { clock, leases }
    }
}

#[async_trait::async_trait]
impl LeasesFixture for Memory {
    async fn open(&self) -> Arc<dyn Leases> {
        Arc::new(self.leases.clone())
    }

    async fn pass(&self, ms: u64) {
        self.clock.advance(ms);
    }
}

windlass_testkit::leases_suite!(Memory::new());

#[tokio::test]
async fn no_more_are_held_than_there_is_room_for() {
    let Memory { clock, leases } = Memory::new();
    for number in 0..65_536 {
        let name = number.to_string();
        leases.acquire(&name, "ours", 1_000).await.unwrap();
    }
    let refused = leases.acquire("more", "ours", 1_000).await.unwrap_err();
    assert_eq!(refused.kind, LeaseErrorKind::Unavailable);
    leases.acquire("7", "ours", 1_000).await.unwrap();
    clock.advance(1_000);
    leases.acquire("more", "ours", 1_000).await.unwrap();
}
