//! Slot: holds the run of a session's program while the run waits for its calls, for a limited time.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use windlass_core::{CallId, Fact, RecordedFact};
use windlass_ports::sync::Mutex;

use super::ActiveProgram;

/// Run of a session's program while it waits for its calls. There is at most one.
#[derive(Clone)]
pub(crate) struct ProgramSlot {
    held: Arc<Mutex<Option<HeldProgram>>>,
    idle: Duration,
}

struct HeldProgram {
    live: ActiveProgram,
    until: Instant,
}

impl ProgramSlot {
    /// Returns an empty slot, which holds a run for this time, or for as long as the run has
    /// computed.
    pub(crate) fn new(idle: Duration) -> Self {
        Self { held: Arc::default(), idle }
    }

    /// Takes the run of this program, if there is one here. A run of another program is over.
    pub(crate) fn take(&self, program: CallId) -> Option<ActiveProgram> {
        let held = self.held.lock().take()?;
        (held.live.program == program).then_some(held.live)
    }

    pub(crate) fn put(&self, live: ActiveProgram) {
        let now = Instant::now();
        let until = now.checked_add(self.idle.max(live.computed)).unwrap_or(now);
        let before = self.held.lock().replace(HeldProgram { live, until });
        drop(before);
    }

    /// Drops a run whose program is done.
    pub(crate) fn on_fact(&self, recorded: &RecordedFact) {
        if let Fact::CallObserved(fact) = &recorded.fact {
            let done = self.held.lock().take_if(|held| held.live.program == fact.call);
            drop(done);
        }
    }

    /// Waits until the run that is here was held for its time, and drops it. Never returns while
    /// none is here. Cancel safe.
    pub(crate) async fn expired(&self) {
        let until = self.held.lock().as_ref().map(|held| held.until);
        let Some(until) = until else {
            return pending().await;
        };
        sleep_until(until).await;
        let now = Instant::now();
        let expired = self.held.lock().take_if(|held| held.until <= now);
        if let Some(held) = expired {
            tracing::debug!(program = %held.live.program, "let go of a program that waits");
        }
    }
}
