//! A clock that follows the runtime's time, which a test may have paused.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use windlass_engine::core::Timestamp;
use windlass_engine::ports::Clock;

/// A clock that follows the runtime's time.
pub(crate) struct RuntimeClock {
    began: Timestamp,
    at: Instant,
    entropy: AtomicU64,
}

impl RuntimeClock {
    /// A clock that shows `began` now. Its entropy counts on from `seed`.
    pub(crate) fn new(began: Timestamp, seed: u64) -> Self {
        Self { began, at: Instant::now(), entropy: AtomicU64::new(seed) }
    }
}

#[async_trait]
impl Clock for RuntimeClock {
    fn now(&self) -> Timestamp {
        let ms = u64::try_from(self.at.elapsed().as_millis()).unwrap();
        self.began.plus_ms(ms)
    }

    async fn sleep_until(&self, moment: Timestamp) {
        let ms = moment.since_ms(self.began);
        tokio::time::sleep_until(self.at + Duration::from_millis(ms)).await;
    }

    fn entropy(&self) -> u64 {
        let counter = self.entropy.fetch_add(1, Ordering::SeqCst);
        counter.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}
