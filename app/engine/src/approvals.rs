//! Approvals: the open approvals of a session, for a process that answers them later or elsewhere.

use std::sync::Arc;

use windlass_core::{
    ApprovalQuestion, ApprovalReason, ArgumentsDigest, CallId, CallProgress, CallState, History,
    Seq, Session, Timestamp,
};
use windlass_ports::{GrantedCalls, arguments_digest};

use crate::grants::calls_like;
use crate::load::Loaded;
use crate::outside;

/// Open approval of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingApproval {
    /// Id of the call.
    pub call: CallId,
    /// Name of the tool.
    pub tool: String,
    /// Exact arguments as JSON text.
    pub arguments: Arc<str>,
    /// Digest of the arguments. An answer names it, so it applies to no other arguments.
    pub digest: ArgumentsDigest,
    /// Reason for the question.
    pub reason: ApprovalReason,
    /// Calls that a grant about this one would cover, or the reason why there can be none.
    pub covers: Result<GrantedCalls, String>,
    /// Output of the same call in the sandbox, if the question is about running it outside and it
    /// failed before.
    pub earlier: Option<Arc<str>>,
    /// Position of the `ApprovalAsked`.
    pub asked: Seq,
    /// Number of requests so far, from 1. A new process asks again.
    pub attempt: u32,
    /// Time after which a missing answer counts as a denial, if there is one.
    pub deadline: Option<Timestamp>,
}

/// Returns the open approvals of a loaded session. Opens nothing.
#[must_use]
pub fn pending(loaded: &Loaded) -> Vec<PendingApproval> {
    let turn = loaded.session.turn();
    let calls = turn.map_or(&[][..], |turn| turn.calls()).iter();
    calls.filter_map(|call| of_call(&loaded.session, &loaded.history, call)).collect()
}

/// Returns the open approval of a call, if there is one.
pub(crate) fn of_call(
    session: &Session,
    history: &History,
    call: &CallState,
) -> Option<PendingApproval> {
    let ApprovalQuestion { asked, attempt, deadline } = question(call)?;
    let arguments = history.arguments(call.id)?;
    let tool = history.call(call.id)?.name.clone();
    let (settings, workspace) = (&session.turn()?.settings, session.workspace.as_deref());
    Some(PendingApproval {
        call: call.id,
        reason: call.approval_reason(),
        earlier: call
            .outside_sandbox
            .and_then(|_| outside::earlier_failure(history, settings, &tool, &arguments)),
        covers: calls_like(settings, workspace, &tool, &arguments),
        tool,
        // Not the log's own: an answer fits no call whose log states the digest of other arguments.
        digest: arguments_digest(call.arguments_digest(), &arguments),
        arguments,
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
        | CallProgress::AwaitingResult { .. }
        | CallProgress::Reconciling { .. }
        | CallProgress::Done { .. } => None,
    }
}
