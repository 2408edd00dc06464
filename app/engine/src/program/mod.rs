//! Programs: hosts the runs of program runtimes. A run is held for a time between two steps, computes
//! on a blocking thread with a time-out, and is replayed from the record if it is gone.

mod compute;
mod compute_slots;
mod fair_queue;
mod faults;
mod replay;
mod slot;
mod support;

use std::time::Duration;

use tokio::runtime::Handle;
use windlass_core::{CallId, ProgramCallRecord};
use windlass_ports::{CancelSource, RunningProgram};

pub(crate) use compute::{ComputeLimits, LONG};
pub use compute_slots::ComputeSlots;
pub use faults::EngineFault;
pub(crate) use replay::{ReplayState, ReplayStep};
pub(crate) use slot::ProgramSlot;
pub(crate) use support::{missing_runtime, unsupported};

/// Run between two steps.
pub(crate) struct ActiveProgram {
    pub(crate) program: CallId,
    pub(crate) run: ProgramHandle,
    pub(crate) replay: ReplayState,
    /// Signal that stops the run.
    pub(crate) stop: CancelSource,
    /// Repairs made to its source.
    pub(crate) repairs: Vec<String>,
    /// Calls that the run has made, with answers that it has received.
    pub(crate) made: Vec<ProgramCallRecord>,
    /// Time that the run has computed.
    pub(crate) computed: Duration,
}

/// Running program. It is dropped on a blocking thread, since that may take time.
pub(crate) struct ProgramHandle(Option<Box<dyn RunningProgram>>);

impl ProgramHandle {
    pub(crate) fn new(run: Box<dyn RunningProgram>) -> Self {
        Self(Some(run))
    }

    /// Returns the program; `None` while a step has it.
    pub(crate) fn get(&mut self) -> Option<&mut Box<dyn RunningProgram>> {
        self.0.as_mut()
    }

    /// Takes the program for a step, and leaves an empty handle.
    pub(crate) fn take(&mut self) -> Self {
        Self(self.0.take())
    }
}

impl Drop for ProgramHandle {
    fn drop(&mut self) {
        if let (Some(run), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            // Also during unwinding: a second panic there ends only that thread's work.
            runtime.spawn_blocking(move || drop(run));
        }
    }
}
