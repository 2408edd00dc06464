//! The approver port: a person's word on a call.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{CallId, Digest, Scope, SessionId, Timestamp, TurnId};

use crate::cancel::CancelSignal;

/// Asks a person.
///
/// Laws: an answer is for the exact arguments whose digest was shown; asking again for the same
/// call is harmless, the first recorded answer counts; it stops asking soon after its signal is
/// cancelled or its future is dropped: somebody else has answered, the turn was asked to stop, or
/// the deadline has passed, which the engine records as a denial.
#[async_trait]
pub trait Approver: Send + Sync + 'static {
    /// Asks, and waits for the answer. One that others answer elsewhere waits for ever.
    ///
    /// # Errors
    /// [`ApproverError`] when nobody can be asked: the call is denied, with these words.
    async fn ask(&self, request: ApprovalRequest) -> Result<Approval, ApproverError>;
}

/// What a person is asked.
#[derive(Clone)]
pub struct ApprovalRequest {
    /// On whose behalf the turn runs.
    pub scope: Arc<Scope>,
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The call.
    pub call: CallId,
    /// The tool.
    pub name: String,
    /// The exact arguments, JSON text.
    pub arguments: Arc<str>,
    /// Their digest.
    pub digest: Digest,
    /// How often this has been asked, from 1.
    pub attempt: u32,
    /// When it is too late, if there is such a moment.
    pub deadline: Option<Timestamp>,
    /// Fires when nobody needs the answer any more.
    pub cancel: CancelSignal,
}

impl fmt::Debug for ApprovalRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalRequest")
            .field("session", &self.session)
            .field("call", &self.call)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A person's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// Who answered.
    pub by: Scope,
    /// What.
    pub answer: Approved,
}

/// What a person says of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approved {
    /// It may run.
    Allow {
        /// With these arguments instead: JSON text.
        arguments: Option<String>,
    },
    /// It may not run.
    Deny {
        /// Why.
        reason: String,
    },
}

/// Leaves every question to whoever answers elsewhere: it waits for ever.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnsweredElsewhere;

#[async_trait]
impl Approver for AnsweredElsewhere {
    async fn ask(&self, request: ApprovalRequest) -> Result<Approval, ApproverError> {
        request.cancel.cancelled().await;
        Err(ApproverError::new("nobody needs the answer any more"))
    }
}

/// Nobody can be asked: every question is a denial.
#[derive(Debug, Clone, Copy, Default)]
pub struct NobodyAsked;

#[async_trait]
impl Approver for NobodyAsked {
    async fn ask(&self, _request: ApprovalRequest) -> Result<Approval, ApproverError> {
        Err(ApproverError::new(
            "this call needs a person's approval, and nobody can be asked here",
        ))
    }
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

impl ApproverError {
    /// An error without a cause.
    #[must_use]
    pub fn new(context: impl Into<String>) -> Self {
        Self {
            context: context.into(),
            source: None,
        }
    }
}
