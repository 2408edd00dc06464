//! Faults: the classes of those that are the engine's own. The others are a runtime's.

use windlass_core::ProgramFault;

/// Reason why the engine ended a program. [`ProgramFault::class`] has its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineFault {
    /// A step computed for longer than [`Limits::call_ms`](windlass_core::Limits::call_ms), or found
    /// no place to run for so long. What a program waits for does not count. `timeout`.
    Timeout,
    /// The runtime panicked, which is a defect of it. `runtime_panicked`.
    Panicked,
    /// The runtime that the settings name is not in this process. `runtime_missing`.
    Missing,
    /// The runtime said that it waits, and for nothing, which is a defect of it. `runtime_defect`.
    Defect,
    /// A replay that did not make the calls that are on record: its runtime, or what it was given,
    /// is not what it was. [`ProgramFault::DIVERGED`].
    Diverged,
    /// The call that a program is has no source. `source_missing`.
    Source,
    /// More calls than the limit, which its runtime did not hold. `calls_exceeded`.
    Calls,
    /// A call that is too large to be put on record. `call_too_large`.
    CallTooLarge,
    /// The program's outcome is too large for a fact. `outcome_too_large`.
    OutcomeTooLarge,
    /// The whole output of a call is kept beside the log and cannot be read. `answer_unreadable`.
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
        ProgramFault {
            hint: Some(hint.to_owned()),
            ..ProgramFault::new(self.class(), message)
        }
    }
}
