//! Timers: delays in real time that the machine requests.

use std::collections::BTreeMap;
use std::future::pending;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use windlass_core::machine::Timer;

/// Active timers.
#[derive(Default)]
pub(super) struct Timers(BTreeMap<Timer, Instant>);

impl Timers {
    /// Sets a timer. A timer that is already set and elapses earlier stays.
    pub(super) fn set(&mut self, timer: Timer, after_ms: u64) {
        let now = Instant::now();
        let at = now.checked_add(Duration::from_millis(after_ms));
        let at = at.unwrap_or_else(|| now + FAR);
        let set = self.0.entry(timer).or_insert(at);
        *set = at.min(*set);
    }

    /// Waits for the first timer that elapses. Never returns when none is set. Cancel safe.
    pub(super) async fn next(&mut self) -> Timer {
        let Some((timer, at)) = self.0.iter().min_by_key(|(_, at)| **at) else {
            return pending().await;
        };
        let timer = *timer;
        sleep_until(*at).await;
        self.0.remove(&timer);
        timer
    }
}

/// Delay that no process outlives.
const FAR: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
