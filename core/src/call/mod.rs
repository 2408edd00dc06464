//! Observations: what became of a call.

pub(crate) mod answer;
pub(crate) mod facts;
mod policy;
pub(crate) mod programs;
pub(crate) mod proposed;
mod state;
pub(crate) mod steps;

pub(crate) use facts::edit;
pub use state::{ApprovalQuestion, CallProgress, CallState, CallValidity};

use alloc::string::String;

use serde::{Deserialize, Serialize};

/// Result of a call, as the model is shown it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// Status of the call.
    pub status: ObservationStatus,
    /// The output shown to the model; head and tail where it was too long.
    pub output: String,
    /// The true size of the output in bytes.
    pub output_bytes: u64,
    /// Number of bytes that `output` leaves out; 0 if it is complete.
    #[serde(default)]
    pub omitted_bytes: u64,
    /// Location of the whole output, if it is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored_output: Option<StoredOutput>,
}

/// An output that is kept whole beside the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredOutput {
    /// SHA-256 of its bytes, as 64 hexadecimal digits.
    pub sha256: String,
    /// Number of stored bytes.
    pub bytes: u64,
}

/// Status of a call that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObservationStatus {
    /// It ran and succeeded.
    Done,
    /// It ran and failed, or could not be run as asked.
    Failed,
    /// A policy, a hook or a person said no; it did not run.
    Denied,
    /// It was running and was told to stop.
    Aborted,
    /// It had started; nobody knows whether it took effect.
    Unknown,
    /// The call never started.
    NotStarted,
}

/// Decision about a call before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The call may run.
    Allow,
    /// It may not run.
    Deny,
    /// A person is to be asked.
    Ask,
}

impl Observation {
    /// An observation whose output is whole.
    #[must_use]
    pub fn new(status: ObservationStatus, output: impl Into<String>) -> Self {
        let output = output.into();
        Self {
            status,
            output_bytes: output.len() as u64,
            omitted_bytes: 0,
            stored_output: None,
            output,
        }
    }
}
