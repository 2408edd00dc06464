//! Programs: what the engine adds to a runtime of them. A run is kept between two steps, computes on
//! a thread where that is allowed, within its time, and is made again from the record where it is gone.

mod compute;
mod compute_slots;
mod faults;
mod replay;
mod support;

use std::sync::Arc;

use tokio::runtime::Handle;
use windlass_core::{CallId, Fact, ProgramCallRecord, RecordedFact};
use windlass_ports::sync::Mutex;
use windlass_ports::{CancelSource, RunningProgram};

pub(crate) use compute::ComputeLimits;
pub(crate) use compute_slots::ComputeSlots;
pub use faults::EngineFault;
pub(crate) use replay::{ReplayState, ReplayStep};
pub(crate) use support::{missing_runtime, unsupported};

/// The run of a session's program, while it waits for its calls. There is one at most.
#[derive(Clone, Default)]
pub(crate) struct ProgramSlot(Arc<Mutex<Option<ActiveProgram>>>);

/// A run between two steps.
pub(crate) struct ActiveProgram {
    pub(crate) program: CallId,
    pub(crate) run: ProgramHandle,
    pub(crate) replay: ReplayState,
    /// Tells it to stop.
    pub(crate) stop: CancelSource,
    /// Repairs made to its source.
    pub(crate) repairs: Vec<String>,
    /// The calls that it has made and knows the answers of.
    pub(crate) made: Vec<ProgramCallRecord>,
}

/// A program on its way. Dropped, it is taken apart on a thread where that may take its time.
pub(crate) struct ProgramHandle(Option<Box<dyn RunningProgram>>);

impl ProgramHandle {
    pub(crate) fn new(run: Box<dyn RunningProgram>) -> Self {
        Self(Some(run))
    }

    /// The program; `None` where it is away for a step.
    pub(crate) fn get(&mut self) -> Option<&mut Box<dyn RunningProgram>> {
        self.0.as_mut()
    }

    /// One that stands for a run that is away for a step.
    pub(crate) fn take(&mut self) -> Self {
        Self(self.0.take())
    }
}

impl Drop for ProgramHandle {
    fn drop(&mut self) {
        if let (Some(run), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            // Also while it unwinds: a second panic there ends that thread's work and nothing else.
            runtime.spawn_blocking(move || drop(run));
        }
    }
}

impl ProgramSlot {
    /// The run of this program, if there is one here. That of another is over.
    pub(crate) fn take(&self, program: CallId) -> Option<ActiveProgram> {
        let live = self.swap(None)?;
        (live.program == program).then_some(live)
    }

    pub(crate) fn put(&self, live: ActiveProgram) {
        self.swap(Some(live));
    }

    /// Lets go of a run whose program is done.
    pub(crate) fn on_fact(&self, recorded: &RecordedFact) {
        if let Fact::CallObserved(fact) = &recorded.fact {
            let mut held = self.0.lock();
            held.take_if(|live| live.program == fact.call);
        }
    }

    fn swap(&self, live: Option<ActiveProgram>) -> Option<ActiveProgram> {
        let mut held = self.0.lock();
        std::mem::replace(&mut *held, live)
    }
}
