//! Suspension: clocks that reveal that the process was suspended.

use std::time::Duration;

use tokio::time::Instant;
use windlass_core::Timestamp;

use super::Engine;

/// Least delay of a poll that shows that the process was suspended.
const MIN_SUSPENSION: Duration = Duration::from_secs(1);
/// Clocks that reveal that the process was suspended.
#[derive(Debug, Default)]
pub(super) struct SuspendDetector(Option<(Instant, Timestamp)>);

impl SuspendDetector {
    /// Returns true if much more time than `every` has passed since the last check, by either
    /// clock. A machine that slept may have stopped one of the clocks.
    pub(super) fn was_suspended(&mut self, engine: &Engine, every: Duration) -> bool {
        let (now, today) = (Instant::now(), engine.inner.ports.clock.now());
        let Some((then, before)) = self.0.replace((now, today)) else {
            return false;
        };
        let passed = now.duration_since(then);
        let passed = passed.max(Duration::from_millis(today.since_ms(before)));
        passed > every.saturating_add(MIN_SUSPENSION)
    }
}
