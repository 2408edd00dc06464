#![doc = include_str!("../README.md")]

mod merged_clock;

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use windlass_core::Timestamp;
use windlass_ports::Clock;

use crate::merged_clock::MergedClock;

/// The longest single sleep: the machine may be suspended meanwhile.
const NAP_MS: u64 = 60_000;

/// The system's time and entropy.
#[derive(Debug)]
pub struct SystemClock {
    reading: MergedClock,
    reported: AtomicBool,
    key: RandomState,
    spent: AtomicU64,
}

impl SystemClock {
    /// A clock that is keyed with the operating system's entropy.
    #[must_use]
    pub fn new() -> Self {
        Self {
            reading: MergedClock::default(),
            reported: AtomicBool::new(false),
            key: RandomState::new(),
            spent: AtomicU64::new(0),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A wall clock before 1970 counts as 1970; the monotonic clock carries on from there.
        let wall = micros(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default());
        let monotonic = micros(since_boot());
        let now = self.reading.now(monotonic, wall);
        if self.reading.is_apart(monotonic, wall) && !self.reported.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "the system's clock was set by more than a minute; this process goes on with the \
                 time that it had: restart it to take over the new time"
            );
        }
        Timestamp(now / 1_000)
    }

    async fn sleep_until(&self, moment: Timestamp) {
        loop {
            let left = moment.since_ms(self.now());
            if left == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(left.min(NAP_MS))).await;
        }
    }

    fn entropy(&self) -> u64 {
        self.key.hash_one(self.spent.fetch_add(1, Ordering::Relaxed))
    }
}

/// Returns the time since the machine started, with the time for which it was suspended. Nobody can
/// set this clock.
fn since_boot() -> Duration {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let clock = rustix::time::ClockId::Boottime;
    // On the others this clock goes on while the machine is suspended, or there is none that does.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let clock = rustix::time::ClockId::Monotonic;
    let now = rustix::time::clock_gettime(clock);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    Duration::from_secs(seconds)
        .saturating_add(Duration::from_nanos(u64::try_from(now.tv_nsec).unwrap_or_default()))
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;

    #[test]
    fn now_is_the_time_of_day() {
        let clock = SystemClock::new();
        let wall = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap().as_millis();
        let before = wall(SystemTime::now());
        let now = u128::from(clock.now().0);
        let after = wall(SystemTime::now());
        assert!(before <= now && now <= after, "{before} <= {now} <= {after}");
    }

    #[test]
    fn now_never_goes_back_on_any_thread() {
        let clock = Arc::new(SystemClock::new());
        let latest = Arc::new(AtomicU64::new(0));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (clock, latest) = (clock.clone(), latest.clone());
                std::thread::spawn(move || {
                    for _ in 0..20_000 {
                        let seen = latest.load(Ordering::SeqCst);
                        let now = clock.now().0;
                        assert!(now >= seen, "{now} after {seen}");
                        latest.fetch_max(now, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    }

    #[tokio::test]
    async fn a_sleep_ends_not_before_its_moment() {
        let clock = SystemClock::new();
        for ms in [0, 1, 2, 5, 20] {
            let moment = clock.now().plus_ms(ms);
            clock.sleep_until(moment).await;
            assert!(clock.now() >= moment);
        }
    }

    #[tokio::test]
    async fn a_moment_that_has_passed_ends_the_sleep_at_once() {
        let clock = SystemClock::new();
        let past = clock.sleep_until(Timestamp(0));
        assert!(tokio::time::timeout(Duration::ZERO, past).await.is_ok());
    }

    #[tokio::test]
    async fn a_far_moment_does_not_overflow() {
        let clock = SystemClock::new();
        let sleep = clock.sleep_until(Timestamp(u64::MAX));
        assert!(tokio::time::timeout(Duration::from_millis(1), sleep).await.is_err());
    }

    #[test]
    fn entropy_differs_between_draws_and_between_clocks() {
        let clocks = [SystemClock::new(), SystemClock::new()];
        let drawn: BTreeSet<u64> = (0..2_000).map(|n| clocks[n % 2].entropy()).collect();
        assert_eq!(drawn.len(), 2_000);
    }
}
