//! Facts about programs and their calls.

use alloc::string::String;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::CallId;
use crate::item::CallItem;
use crate::program::ProgramOutcome;

/// A program calls a tool. The call is named by this fact's position, and is one like any other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramCalled {
    /// The call that the program is.
    pub program: CallId,
    /// Content of the call.
    pub item: Arc<CallItem>,
}

/// A program has ended. Its `CallObserved`, which says what the model is told of it, comes next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramRun {
    /// The call that the program is.
    pub program: CallId,
    /// Outcome of the program.
    pub outcome: Arc<ProgramOutcome>,
    /// Violation of the contract by its return value, if there is one. Found before this becomes a
    /// fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}
