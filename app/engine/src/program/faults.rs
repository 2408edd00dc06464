//! Faults: classes of the engine's own program faults. All other classes belong to runtimes.

use windlass_core::ProgramFault;

/// Reason why the engine ended a program. [`ProgramFault::class`] has its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineFault {
    /// A step computed for longer than
    /// [`ProgramLimits::compute_ms`](windlass_core::ProgramLimits::compute_ms), or waited that long
    /// for a slot. Time in which a program waits for its calls does not count.
    /// `timeout`.
    Timeout,
    /// The runtime panicked, which is a defect of the runtime. `runtime_panicked`.
    Panicked,
    /// The runtime that the settings name is not in this process. `runtime_missing`.
    Missing,
    /// The runtime reported that it waits for calls and named none, which is a defect of the
    /// runtime. `runtime_defect`.
    Defect,
    /// A replay did not make the recorded calls, since its runtime or its inputs have changed.
    /// [`ProgramFault::DIVERGED`].
    Diverged,
    /// The call of the program has no source. `source_missing`.
    Source,
    /// The program made more calls than the limit, which its runtime did not enforce.
    /// `calls_exceeded`.
    Calls,
    /// A call is too large to record. `call_too_large`.
    CallTooLarge,
    /// The program's outcome is too large for a fact. `outcome_too_large`.
    OutcomeTooLarge,
    /// The whole output of a call is stored as a blob and cannot be read. `answer_unreadable`.
    Answer,
}

impl EngineFault {
    /// Returns the name of the class.
    #[must_use]
    pub fn class(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Panicked => "runtime_panicked",
            Self::Missing => "runtime_missing",
            Self::Defect => "runtime_defect",
            Self::Diverged => ProgramFault::DIVERGED,
            Self::Source => "source_missing",
            Self::Calls => "calls_exceeded",
            Self::CallTooLarge => "call_too_large",
            Self::OutcomeTooLarge => "outcome_too_large",
            Self::Answer => "answer_unreadable",
        }
    }

    pub(crate) fn with_message(self, message: impl Into<String>, hint: &str) -> ProgramFault {
        ProgramFault { hint: Some(hint.to_owned()), ..ProgramFault::new(self.class(), message) }
    }
}
