//! Recovered calls: those that an earlier process allowed, as people are told of them.

use std::sync::Arc;

use windlass_core::{CallId, History, Session};

/// Most calls that are described.
const MOST: usize = 10;
/// Most characters of described arguments.
const ARGUMENTS: usize = 200;

/// Calls that an earlier process allowed and did not start, or started and may start again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecoveredCalls {
    /// The first ones.
    pub calls: Vec<RecoveredCall>,
    /// Number of further ones.
    pub more: usize,
}

/// A call that an earlier process allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredCall {
    /// Its id.
    pub id: CallId,
    /// Name of its tool.
    pub tool: String,
    /// Start of its arguments.
    pub arguments: String,
}

impl RecoveredCalls {
    /// Returns those of a session.
    #[must_use]
    pub fn of(session: &Session, history: &History) -> Self {
        let mut recovered = session.recovered_calls();
        let calls = recovered.by_ref().take(MOST).map(|call| {
            let arguments: Arc<str> = history.arguments(call.id).unwrap_or_default();
            let arguments = arguments.chars().take(ARGUMENTS).collect();
            RecoveredCall { id: call.id, tool: call.tool.to_string(), arguments }
        });
        let calls = calls.collect();
        Self { calls, more: recovered.count() }
    }
}
