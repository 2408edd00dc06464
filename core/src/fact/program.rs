//! Facts about programs and their calls.

use alloc::string::String;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::CallId;
use crate::item::CallItem;
use crate::program::ProgramOutcome;

/// A program called a tool. This fact's position identifies the call, which is one like any other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramCalled {
    /// Call that runs the program.
    pub program: CallId,
    /// Content of the call.
    pub item: Arc<CallItem>,
}

/// A program ended. Its `CallObserved` follows, with the result for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramRun {
    /// Call that runs the program.
    pub program: CallId,
    /// Outcome of the program.
    pub outcome: Arc<ProgramOutcome>,
    /// Violation of the output schema by its return value, if there is one. Found before the fact
    /// is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}
