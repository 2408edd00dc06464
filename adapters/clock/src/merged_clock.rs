//! Two clocks made one: at the pace of the monotonic one, near the wall clock, never back.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Lead of the wall clock over the monotonic clock, in microseconds.
#[derive(Debug, Default)]
pub(crate) struct MergedClock {
    /// Lead at the first reading.
    first: OnceLock<u64>,
    /// Largest lead that was followed.
    ahead: AtomicU64,
}

/// Largest correction that is followed, in microseconds, over the life of a process. Whatever sets a
/// clock further is no correction, and must not end what waits for its time.
const CORRECTION: u64 = 60_000_000;

impl MergedClock {
    /// The present moment, from both clocks' readings in microseconds.
    ///
    /// The sum of two numbers that only grow only grows, on all threads together.
    pub(crate) fn now(&self, monotonic: u64, wall: u64) -> u64 {
        let ahead = wall.saturating_sub(monotonic);
        let first = *self.first.get_or_init(|| ahead);
        let followed = if ahead > first.saturating_add(CORRECTION) { first } else { ahead };
        let before = self.ahead.fetch_max(followed, Ordering::SeqCst);
        monotonic.saturating_add(before.max(followed))
    }

    /// Returns true if the wall clock was set further than is followed.
    pub(crate) fn is_apart(&self, monotonic: u64, wall: u64) -> bool {
        let now = self.now(monotonic, wall);
        now.abs_diff(wall) > CORRECTION
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_a_correction_forward() {
        let reading = MergedClock::default();
        assert_eq!(reading.now(0, 1_000), 1_000);
        assert_eq!(reading.now(10, 9_000), 9_000);
        assert_eq!(reading.now(20, 9_010), 9_010);
        assert!(!reading.is_apart(30, 9_020));
    }

    #[test]
    fn goes_on_at_the_monotonic_pace_when_the_wall_clock_is_set_forward() {
        let reading = MergedClock::default();
        assert_eq!(reading.now(0, 5_000), 5_000);
        let year = 365 * 24 * 3_600 * 1_000_000;
        assert_eq!(reading.now(10, year), 5_010);
        assert!(reading.is_apart(20, year + 10));
        // Many small steps are one long one.
        for step in 1..1_000 {
            let now = reading.now(10 + step, 5_000 + step * 1_000_000);
            assert!(now <= 5_010 + step + CORRECTION, "{now}");
        }
        assert!(reading.now(2_000, 7_000) > 59_000_000, "what was followed stays");
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
