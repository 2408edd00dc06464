//! Failure of a program, as the next program of the same turn receives it.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::ProgramEnd;
use crate::fact::ProgramRun;

/// Failure of a program. The next program of its turn receives it as its input `fail`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramFailure {
    /// Class of the failure, for example `type_error`.
    pub reason: String,
    /// Description of the failure.
    pub message: String,
}

impl ProgramFailure {
    /// Reason of a program whose value did not fit the output schema.
    const INVALID_OUTPUT: &'static str = "invalid_output";
    /// Reason of a program that reported failure.
    const FAILED: &'static str = "failed";

    /// Returns the failure of a program, if it failed.
    pub(crate) fn of(run: &ProgramRun) -> Option<Self> {
        let failed = |reason: &str, message: &str| {
            Some(Self { reason: String::from(reason), message: String::from(message) })
        };
        if let Some(fault) = &run.fault {
            return failed(Self::INVALID_OUTPUT, fault);
        }
        match &run.outcome.end {
            ProgramEnd::Fault(fault) => failed(&fault.class, &fault.message),
            ProgramEnd::Fail { value } => failed(Self::FAILED, value),
            ProgramEnd::Value { .. } | ProgramEnd::Return { .. } => None,
        }
    }
}
