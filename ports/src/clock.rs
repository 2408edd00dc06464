//! The clock port: time and entropy, which the core takes as arguments.

use async_trait::async_trait;
use windlass_core::Timestamp;

/// Returns the time, waits, and returns entropy.
///
/// Laws:
/// - *monotonic*: `now` never goes back within one process;
/// - *punctual*: `sleep_until` never ends before its time, and ends at once if the time has passed;
/// - *random*: `entropy` is unpredictable, except in a test clock, which documents it.
#[async_trait]
pub trait Clock: Send + Sync + 'static {
    /// Returns the current time.
    fn now(&self) -> Timestamp;

    /// Waits until the given time.
    async fn sleep_until(&self, moment: Timestamp);

    /// Returns a random number.
    fn entropy(&self) -> u64;
}
