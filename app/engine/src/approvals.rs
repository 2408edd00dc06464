//! Approvals: the open questions of a session, for whoever answers them later or elsewhere.

use std::sync::Arc;

use windlass_core::{CallId, Digest, Seq, Timestamp};

/// A question that is open: whether a call may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingApproval {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The exact arguments, JSON text.
    pub arguments: Arc<str>,
    /// Their digest: an answer names it, so that it is about nothing else.
    pub digest: Digest,
    /// The `ApprovalAsked`.
    pub asked: Seq,
    /// How often it has been asked, from 1: a new process asks again.
    pub attempt: u32,
    /// When no answer is a denial, if there is such a moment.
    pub deadline: Option<Timestamp>,
}
