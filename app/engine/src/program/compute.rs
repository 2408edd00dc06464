//! Compute: runs a runtime's step on a thread where it may block, with a time-out.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use windlass_core::{ProgramFault, SessionId};
use windlass_ports::CancelSource;

use super::compute_slots::{ComputeSlots, GrantedSlot, PermitReleased, PermitWatch, StepLength};
use super::faults::EngineFault;

/// Longest part of a panic's message that is reported, in characters.
const MAX_PANIC_CHARS: usize = 200;

/// Time for which a program has computed whose steps are long from the start.
pub(crate) const LONG: Duration = SLICE;
/// Time after which a step counts as long.
const SLICE: Duration = Duration::from_millis(100);

/// Slot, time and owner of a program's computation.
#[derive(Clone)]
pub(crate) struct ComputeLimits {
    pub(crate) slots: ComputeSlots,
    pub(crate) session: SessionId,
    /// Tenant of the turn.
    pub(crate) tenant: Arc<str>,
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
    /// Computes what takes a time in proportion to its size, such as parsing, and is not repeated.
    /// `stop` fires when the time is up, or when this future is dropped before it is done. A
    /// computation that does not end within the grace period after that is abandoned: nothing waits
    /// for it, and its slot is lost, see [`ComputeSlots`].
    ///
    /// # Errors
    /// No slot became free, the time was up, or the runtime panicked.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        stop: &CancelSource,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ProgramFault> {
        let computed = self.run(stop, StepLength::Short, Duration::MAX, work).await?;
        computed.ok_or_else(|| EngineFault::Defect.with_message("the step was cut short", ""))
    }

    /// Computes a step of a program that has computed for so long before. Otherwise as
    /// [`compute`](Self::compute). A short step that turns out to be long gives its slot up, unless
    /// a long step may have it: then `stop` fires, and `None` is returned. The caller repeats such a
    /// program with [`LONG`].
    ///
    /// # Errors
    /// As [`compute`](Self::compute).
    pub(crate) async fn compute_step<T: Send + 'static>(
        &self,
        stop: &CancelSource,
        computed: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Option<T>, ProgramFault> {
        match SLICE.checked_sub(computed).filter(|left| !left.is_zero()) {
            Some(left) => self.run(stop, StepLength::Short, left, work).await,
            None => self.run(stop, StepLength::Long, Duration::MAX, work).await,
        }
    }

    async fn run<T: Send + 'static>(
        &self,
        stop: &CancelSource,
        length: StepLength,
        slice: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Option<T>, ProgramFault> {
        let ms = self.within.as_millis();
        let taken = timeout(self.within, self.slots.acquire(&self.tenant, length)).await;
        let Ok(Some(GrantedSlot { permit, watch, released })) = taken else {
            let words = format!("no place to compute became free within {ms} ms");
            return Err(EngineFault::Timeout.with_message(words, self.slots.hint()));
        };
        let mut armed =
            ComputeGuard { bounds: self, stop, computes: Some((watch.clone(), released)) };
        let mut working = tokio::task::spawn_blocking(move || {
            let _place = permit;
            work()
        });
        let time_up = tokio::time::sleep(self.within);
        tokio::pin!(time_up);
        let result = tokio::select! {
            biased;
            result = &mut working => Some(result),
            () = &mut time_up => return Err(self.time_out(stop, working, armed).await),
            () = slice_over(slice, &watch) => None,
        };
        let Some(result) = result else {
            stop.cancel();
            return tokio::select! {
                biased;
                // Its result is discarded, since it may have been cut short.
                _ = &mut working => {
                    armed.computes = None;
                    Ok(None)
                }
                () = time_up => Err(self.time_out(stop, working, armed).await),
            };
        };
        let error = match result {
            Ok(done) => {
                armed.computes = None;
                return Ok(Some(done));
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

    /// Stops a computation whose time is up, and returns the fault. Its slot is lost if it does not
    /// end within the grace period.
    async fn time_out<T>(
        &self,
        stop: &CancelSource,
        working: JoinHandle<T>,
        mut armed: ComputeGuard<'_>,
    ) -> ProgramFault {
        stop.cancel();
        // A later result is discarded.
        let ended = timeout(self.grace, working).await.is_ok();
        if let Some((computes, _)) = armed.computes.take().filter(|_| !ended) {
            computes.lose(&self.session, self.grace);
        }
        let ms = self.within.as_millis();
        let words = format!("the program computed for longer than {ms} ms");
        EngineFault::Timeout.with_message(words, "Do less in one program.")
    }
}

/// Waits until a short step has used its slice up and may not continue as a long one.
async fn slice_over(slice: Duration, watch: &PermitWatch) {
    if slice < Duration::MAX {
        tokio::time::sleep(slice).await;
        if !watch.lengthen() {
            return;
        }
    }
    std::future::pending().await
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a word").chars().take(MAX_PANIC_CHARS).collect()
}
