//! When blocking work must end: asked to, out of time, or nobody waits for it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use windlass_core::{Observation, ObservationStatus};
use windlass_ports::{CancelSignal, ToolContext};

/// Reason for stopping early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HaltReason {
    /// It was asked to, or nobody waits for it.
    Cancelled,
    /// Its time is up, which was so many milliseconds.
    TimedOut(u64),
}

/// Stop check that blocking work calls between its steps.
#[derive(Debug, Clone)]
pub(crate) struct StopCheck {
    cancel: CancelSignal,
    abandoned: Arc<AtomicBool>,
    end: Option<Instant>,
    limit_ms: u64,
}

/// Tells the work that nobody waits for it, once this is dropped.
#[derive(Debug)]
pub(crate) struct AbandonGuard(Arc<AtomicBool>);

impl Drop for AbandonGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl StopCheck {
    /// Never stops: for work that is short.
    pub(crate) fn never() -> Self {
        Self { cancel: CancelSignal::default(), abandoned: Arc::default(), end: None, limit_ms: 0 }
    }

    /// Begins to count the time that a call has.
    pub(crate) fn new(context: &ToolContext) -> (Self, AbandonGuard) {
        let abandoned = Arc::new(AtomicBool::new(false));
        let stop = Self {
            cancel: context.cancel.clone(),
            abandoned: abandoned.clone(),
            end: Instant::now().checked_add(Duration::from_millis(context.timeout_ms)),
            limit_ms: context.timeout_ms,
        };
        (stop, AbandonGuard(abandoned))
    }

    /// Asks whether to go on.
    pub(crate) fn check(&self) -> Result<(), HaltReason> {
        if self.cancel.is_cancelled() || self.abandoned.load(Ordering::SeqCst) {
            return Err(HaltReason::Cancelled);
        }
        if self.end.is_some_and(|end| Instant::now() >= end) {
            return Err(HaltReason::TimedOut(self.limit_ms));
        }
        Ok(())
    }
}

impl HaltReason {
    /// Creates the observation of a call that stopped early, with its output by then.
    pub(crate) fn observation(self, so_far: String) -> Observation {
        let (status, note) = match self {
            Self::Cancelled => {
                (ObservationStatus::Aborted, String::from("[stopped because it was asked to]"))
            }
            Self::TimedOut(ms) => (
                ObservationStatus::Failed,
                format!("[stopped at its time limit of {ms} ms; ask for less at once]"),
            ),
        };
        let gap = if so_far.is_empty() || so_far.ends_with('\n') { "" } else { "\n" };
        Observation::new(status, format!("{so_far}{gap}{note}"))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use windlass_ports::CancelSource;

    use super::*;

    /// A stop that never stops.
    pub(crate) fn never() -> StopCheck {
        StopCheck {
            cancel: CancelSignal::default(),
            abandoned: Arc::default(),
            end: None,
            limit_ms: 0,
        }
    }

    /// A stop that has been asked for.
    pub(crate) fn asked() -> StopCheck {
        let stop = never();
        stop.abandoned.store(true, Ordering::SeqCst);
        stop
    }

    #[test]
    fn each_reason_to_stop_is_told_apart() {
        let source = CancelSource::new();
        let mut stop = never();
        stop.cancel = source.signal();
        assert_eq!(stop.check(), Ok(()));
        stop.end = Some(Instant::now());
        assert_eq!(stop.check(), Err(HaltReason::TimedOut(0)));
        source.cancel();
        assert_eq!(stop.check(), Err(HaltReason::Cancelled));
        let dropped = never();
        drop(AbandonGuard(dropped.abandoned.clone()));
        assert_eq!(dropped.check(), Err(HaltReason::Cancelled));
    }
}
