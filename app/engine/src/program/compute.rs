//! Compute: runs a runtime's step on a thread where it may block, with a time-out.

use std::any::Any;
use std::time::Duration;

use tokio::time::timeout;
use windlass_core::{ProgramFault, SessionId};
use windlass_ports::CancelSource;

use super::compute_slots::{ComputeSlots, PermitReleased, PermitWatch};
use super::faults::EngineFault;

/// Longest part of a panic's message that is reported, in characters.
const MAX_PANIC_CHARS: usize = 200;

/// Slot, time and owner of a program's computation.
#[derive(Clone)]
pub(crate) struct ComputeLimits {
    pub(crate) slots: ComputeSlots,
    pub(crate) session: SessionId,
    /// Longest wait for a slot, and longest time of one step.
    pub(crate) within: Duration,
    /// Time to end after a stop signal.
    pub(crate) grace: Duration,
}

/// Stops a computation that has not ended, and has its slot watched from then on.
struct ComputeGuard<'a> {
    bounds: &'a ComputeLimits,
    stop: &'a CancelSource,
    computes: Option<(PermitWatch, PermitReleased)>,
}

impl Drop for ComputeGuard<'_> {
    fn drop(&mut self) {
        let Some((computes, ended)) = self.computes.take() else {
            return;
        };
        self.stop.cancel();
        let (session, grace) = (self.bounds.session.clone(), self.bounds.grace);
        // Nobody waits here any more. Without a runtime the process is ending, with all its slots.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { computes.watch(&session, grace, ended).await });
        }
    }
}

impl ComputeLimits {
    /// Computes. `stop` fires when the time is up, or when this future is dropped before it is
    /// done. A computation that does not end within the grace period after that is abandoned:
    /// nothing waits for it, and its slot is lost, see [`ComputeSlots`].
    ///
    /// # Errors
    /// No slot became free, the time was up, or the runtime panicked.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        stop: &CancelSource,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ProgramFault> {
        let ms = self.within.as_millis();
        let taken = timeout(self.within, self.slots.acquire()).await;
        let Ok(Some((taken, computes, ended))) = taken else {
            let words = format!("no place to compute became free within {ms} ms");
            return Err(EngineFault::Timeout.with_message(words, self.slots.hint()));
        };
        let mut armed = ComputeGuard { bounds: self, stop, computes: Some((computes, ended)) };
        let mut working = tokio::task::spawn_blocking(move || {
            let _place = taken;
            work()
        });
        let result = tokio::select! {
            result = &mut working => result,
            () = tokio::time::sleep(self.within) => {
                stop.cancel();
                // A later result is discarded.
                if timeout(self.grace, working).await.is_err()
                    && let Some((computes, _)) = armed.computes.take()
                {
                    computes.lose(&self.session, self.grace);
                }
                armed.computes = None;
                let words = format!("the program computed for longer than {ms} ms");
                return Err(EngineFault::Timeout.with_message(words, "Do less in one program."));
            }
        };
        let error = match result {
            Ok(done) => {
                armed.computes = None;
                return Ok(done);
            }
            Err(error) => error,
        };
        match error.try_into_panic() {
            Ok(panic) => {
                let words = format!("the program runtime panicked: {}", message(&*panic));
                let hint = "This is a defect of the runtime: write the program in another way.";
                Err(EngineFault::Panicked.with_message(words, hint))
            }
            // The process is ending, and no result is recorded.
            Err(_) => std::future::pending().await,
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a word").chars().take(MAX_PANIC_CHARS).collect()
}
