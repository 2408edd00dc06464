//! Two clocks made one: never behind the wall clock, never back, never standing still.

use std::sync::atomic::{AtomicU64, Ordering};

/// Largest lead of the wall clock over the monotonic clock, in microseconds.
#[derive(Debug, Default)]
pub(crate) struct MergedClock {
    ahead: AtomicU64,
}

impl MergedClock {
    /// The present moment, from both clocks' readings in microseconds.
    ///
    /// The sum of two numbers that only grow only grows, on all threads together.
    pub(crate) fn now(&self, monotonic: u64, wall: u64) -> u64 {
        let ahead = wall.saturating_sub(monotonic);
        let before = self.ahead.fetch_max(ahead, Ordering::SeqCst);
        monotonic.saturating_add(before.max(ahead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_wall_clock_forward() {
        let reading = MergedClock::default();
        assert_eq!(reading.now(0, 1_000), 1_000);
        assert_eq!(reading.now(10, 9_000), 9_000);
        assert_eq!(reading.now(20, 9_010), 9_010);
    }

    #[test]
    fn goes_on_at_the_monotonic_pace_when_the_wall_clock_is_set_back() {
        let reading = MergedClock::default();
        assert_eq!(reading.now(0, 5_000), 5_000);
        assert_eq!(reading.now(10, 100), 5_010);
        assert_eq!(reading.now(500, 590), 5_500);
    }

    #[test]
    fn a_wall_clock_before_its_epoch_is_no_obstacle() {
        let reading = MergedClock::default();
        assert_eq!(reading.now(0, 0), 0);
        assert_eq!(reading.now(7, 0), 7);
    }
}
