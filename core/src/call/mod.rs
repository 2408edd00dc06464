//! Observations: the recorded results of calls.

pub(crate) mod answer;
pub(crate) mod client;
pub(crate) mod denial;
mod excerpt;
pub(crate) mod facts;
pub(crate) mod policy;
pub(crate) mod programs;
pub(crate) mod proposed;
pub(crate) mod restarts;
mod state;
pub(crate) mod steps;
pub(crate) mod suspension;

pub(crate) use excerpt::{excerpt, shown};
pub(crate) use facts::edit;
pub use state::{
    ApprovalQuestion, CallProgress, CallState, CallValidity, OutsideSandbox, UserCommand,
};
pub use suspension::{ASK_USER_TOOL, SuspendedCall, Suspension, UserAnswer, UserQuestion};

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::changed_files::ChangedFile;
use crate::image::Image;

/// Result of a call, as shown to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// Status of the call.
    pub status: ObservationStatus,
    /// Output shown to the model; head and tail if it was too long.
    pub output: String,
    /// True size of the output in bytes.
    pub output_bytes: u64,
    /// Number of bytes that `output` leaves out; 0 if it is complete.
    #[serde(default)]
    pub omitted_bytes: u64,
    /// Location of the whole output, if it is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored_output: Option<StoredOutput>,
    /// Exit code, if the call ran a process to its end. The model reads it before the output; a
    /// program receives the output of any exit code as a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Confinement of the process, if the call ran one. Not shown to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<Arc<Confinement>>,
    /// Images shown to the model behind the output, at most [`Image::MAX_PER_RESULT`]. A program receives
    /// the output only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Files that the call changed. Not shown to the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangedFile>,
    /// Names of deferred tools that requests offer from now on. They count only in the result of
    /// [`SEARCH_TOOLS_TOOL`](crate::SEARCH_TOOLS_TOOL).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<String>,
    /// Name under which compactions retain the result with its call, as they retain lasting context:
    /// the latest one of a name, within a limit of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasting: Option<String>,
}

/// Record of the sandbox that confined a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confinement {
    /// Name of the profile, for example `workspace`.
    pub profile: String,
    /// Tier that enforced it; `off` if nothing did.
    pub tier: String,
    /// Mechanisms in force, for example `landlock abi 7 + seccomp`.
    pub mechanisms: String,
}

/// A complete output, stored outside the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredOutput {
    /// SHA-256 of its bytes, as 64 hexadecimal digits.
    pub sha256: String,
    /// Number of stored bytes.
    pub bytes: u64,
}

/// Status of an ended call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObservationStatus {
    /// The call ran and succeeded.
    Done,
    /// The call ran and failed, or could not run as requested.
    Failed,
    /// A policy, a hook or a person denied the call; it did not run.
    Denied,
    /// The call was cancelled while it ran.
    Aborted,
    /// The call started; its effect is unknown.
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
    /// The call may not run.
    Deny,
    /// A person must approve the call.
    Ask,
}

impl Observation {
    /// Returns an observation with a complete output.
    #[must_use]
    pub fn new(status: ObservationStatus, output: impl Into<String>) -> Self {
        let output = output.into();
        Self {
            status,
            output_bytes: output.len() as u64,
            omitted_bytes: 0,
            stored_output: None,
            exit_code: None,
            confinement: None,
            images: Vec::new(),
            changes: Vec::new(),
            offers: Vec::new(),
            lasting: None,
            output,
        }
    }
}
