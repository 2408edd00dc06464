//! The clock port: time and entropy, which the core takes as arguments.

use async_trait::async_trait;
use windlass_core::Timestamp;

/// Tells the time, waits, and gives entropy.
///
/// Laws: `now` never goes back within one process; `sleep_until` ends not before its moment, and
/// at once when the moment has passed; `entropy` does not repeat in any order that can be
/// foreseen, except in a test clock, which says so.
#[async_trait]
pub trait Clock: Send + Sync + 'static {
    /// Returns the current time.
    fn now(&self) -> Timestamp;

    /// Waits until the moment given.
    async fn sleep_until(&self, moment: Timestamp);

    /// Returns a random number.
    fn entropy(&self) -> u64;
}
