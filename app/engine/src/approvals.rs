//! Approvals: the open questions of a session, for whoever answers them later or elsewhere.

use std::sync::Arc;

use windlass_core::{
    ApprovalQuestion, CallId, CallProgress, CallState, Digest, History, Seq, Timestamp,
};

use crate::load::Loaded;

/// A question that is open: whether a call may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingApproval {
    /// Id of the call.
    pub call: CallId,
    /// Name of the tool.
    pub tool: String,
    /// The exact arguments, JSON text.
    pub arguments: Arc<str>,
    /// Their digest: an answer names it, so that it is about nothing else.
    pub digest: Digest,
    /// Position of the `ApprovalAsked`.
    pub asked: Seq,
    /// Number of times it was asked, from 1: a new process asks again.
    pub attempt: u32,
    /// When no answer is a denial, if there is such a moment.
    pub deadline: Option<Timestamp>,
}

/// The questions that are open in a session that was loaded. Nothing is opened for it.
#[must_use]
pub fn pending(loaded: &Loaded) -> Vec<PendingApproval> {
    let turn = loaded.session.turn();
    let calls = turn.map_or(&[][..], |turn| turn.calls()).iter();
    calls
        .filter_map(|call| of_call(&loaded.history, call))
        .collect()
}

/// The open question about a call, if there is one.
pub(crate) fn of_call(history: &History, call: &CallState) -> Option<PendingApproval> {
    let ApprovalQuestion {
        asked,
        attempt,
        deadline,
    } = question(call)?;
    Some(PendingApproval {
        call: call.id,
        tool: history.call(call.id)?.name.clone(),
        arguments: history.arguments(call.id)?,
        digest: call.arguments,
        asked,
        attempt,
        deadline,
    })
}

fn question(call: &CallState) -> Option<ApprovalQuestion> {
    match &call.progress {
        CallProgress::AwaitingApproval { question } => *question,
        CallProgress::Proposed
        | CallProgress::Allowed
        | CallProgress::Denied { .. }
        | CallProgress::Running { .. }
        | CallProgress::Reconciling { .. }
        | CallProgress::Done { .. } => None,
    }
}
