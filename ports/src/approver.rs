//! The approver port: a person's word on a call. The engine does not ask it yet: permissions that
//! need a person's word deny, and say so.

use std::error::Error;

use async_trait::async_trait;
use windlass_core::{CallId, Digest, Scope, SessionId, Timestamp, TurnId};

/// Asks a person.
///
/// Laws: an answer is for the exact arguments whose digest was shown; asking again for the same
/// call is harmless, the first recorded answer counts; no answer by the deadline is a denial,
/// which the engine records.
#[async_trait]
pub trait Approver: Send + Sync + 'static {
    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// [`ApproverError`] when nobody can be asked.
    async fn ask(&self, request: ApprovalRequest) -> Result<Approval, ApproverError>;
}

/// What a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// On whose behalf the turn runs.
    pub scope: Scope,
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The call.
    pub call: CallId,
    /// The tool.
    pub name: String,
    /// The exact arguments, JSON text.
    pub arguments: String,
    /// Their digest.
    pub digest: Digest,
    /// When it is too late.
    pub deadline: Timestamp,
}

/// A person's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// The call may run.
    Allow,
    /// The call may not run.
    Deny {
        /// Why.
        reason: String,
    },
}

/// Why nobody could be asked.
#[derive(Debug, thiserror::Error)]
#[error("{context}")]
pub struct ApproverError {
    /// What went wrong, what to do.
    pub context: String,
    /// The cause.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}
