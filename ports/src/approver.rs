//! Approver port: approval of calls by a person.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use sha2::Digest as _;
use windlass_core::{
    ApprovalReason, ArgumentsDigest, CallId, GrantLifetime, Retry, Scope, SessionId, Sha256,
    Timestamp, TurnId,
};

use crate::cancel::CancelSignal;
use crate::error::{ErrorKind, PortError};
use crate::tools::FileChange;

/// Asks people to approve calls.
///
/// Laws:
/// - *exact*: an answer is for the exact arguments whose digest was shown;
/// - *repeatable*: asking again for the same call is harmless; the first recorded answer counts;
/// - *cancellable*: it stops asking soon after its signal is cancelled or its future is dropped.
///   Reasons are another answer, an interrupt, or the deadline, which the engine records as a
///   denial.
#[async_trait]
pub trait Approver: Send + Sync + 'static {
    /// Asks, and waits for the answer. An approver whose answers arrive elsewhere waits for ever.
    ///
    /// # Errors
    /// [`ApproverError`] when nobody can be asked: the call is denied, and the model learns the
    /// error's text as the reason.
    async fn ask(&self, request: ApprovalRequest) -> Result<Approval, ApproverError>;
}

/// Returns the SHA-256 of arguments, as decisions and answers name them.
#[must_use]
pub fn arguments_sha256(arguments: &str) -> Sha256 {
    Sha256(sha2::Sha256::digest(arguments).into())
}

/// Returns the digest of arguments in the form of another digest, to compare the two.
#[must_use]
pub fn arguments_digest(form: ArgumentsDigest, arguments: &str) -> ArgumentsDigest {
    match form {
        ArgumentsDigest::Sha256(_) => ArgumentsDigest::Sha256(arguments_sha256(arguments)),
        ArgumentsDigest::Digest(_) => ArgumentsDigest::without_sha256(arguments),
    }
}

/// Question to a person about one call.
#[derive(Clone)]
pub struct ApprovalRequest {
    /// Scope that the turn runs in.
    pub scope: Arc<Scope>,
    /// Session of the call.
    pub session: SessionId,
    /// Turn of the call.
    pub turn: TurnId,
    /// Call that needs the approval.
    pub call: CallId,
    /// Name of the called tool.
    pub name: String,
    /// Exact arguments, as JSON text.
    pub arguments: Arc<str>,
    /// Change that the call would make to a file, as far as its tool can tell.
    pub change: Option<FileChange>,
    /// Digest of these arguments.
    pub digest: ArgumentsDigest,
    /// Reason for the question.
    pub reason: ApprovalReason,
    /// Output of the same call in the sandbox, if the question is about running it outside and it
    /// failed before.
    pub earlier: Option<Arc<str>>,
    /// Calls that the person may allow beyond this one.
    pub offer: GrantOffer,
    /// Number of this question for the call, from 1.
    pub attempt: u32,
    /// Deadline for the answer, if there is one.
    pub deadline: Option<Timestamp>,
    /// Fires when the answer is no longer needed.
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

/// Offer to a person to allow calls like the one that is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantOffer {
    /// The person may allow these calls, in words.
    Offered {
        /// Calls, for example "commands that begin with `git log`".
        text: String,
    },
    /// The person may allow this call alone.
    Withheld {
        /// Reason in words.
        reason: String,
    },
}

/// Answer of a person, with the person's scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// Scope of the person who answered.
    pub by: Scope,
    /// Answer to the question.
    pub answer: ApprovalDecision,
}

/// Decision of a person about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalDecision {
    /// Allows the call to run.
    Allow {
        /// Edited arguments as JSON text, if the person changed them.
        arguments: Option<String>,
    },
    /// Allows the call to run, and the offered calls for as long. Without an offer it allows this
    /// call alone.
    Grant {
        /// Lifetime of the grant.
        lifetime: GrantLifetime,
    },
    /// The call may not run.
    Deny {
        /// Reason of the denial.
        reason: String,
    },
}

impl ApprovalDecision {
    /// Allows the call to run with the arguments that were shown.
    #[must_use]
    pub fn allow() -> Self {
        Self::Allow { arguments: None }
    }

    /// Denies the call. The model reads the reason.
    #[must_use]
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: reason.into() }
    }
}

/// Waits for ever: the answers arrive through another interface.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExternalApprover;

#[async_trait]
impl Approver for ExternalApprover {
    async fn ask(&self, request: ApprovalRequest) -> Result<Approval, ApproverError> {
        request.cancel.cancelled().await;
        Err(ApproverError::withdrawn())
    }
}

/// Denies every question: nobody can be asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoApprover;

#[async_trait]
impl Approver for NoApprover {
    async fn ask(&self, _request: ApprovalRequest) -> Result<Approval, ApproverError> {
        Err(ApproverError::unavailable("this process has no approver"))
    }
}

/// Failure to get an answer from a person.
pub type ApproverError = PortError<ApproverErrorKind>;

/// Classes of approver errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApproverErrorKind {
    /// Nobody can be asked.
    Unavailable,
    /// The question was withdrawn.
    Withdrawn,
}

impl ErrorKind for ApproverErrorKind {
    fn retry(&self) -> Retry {
        match self {
            Self::Unavailable | Self::Withdrawn => Retry::Never,
        }
    }
}

impl ApproverError {
    /// Creates the error for a question that nobody can answer.
    #[must_use]
    pub fn unavailable(context: impl Into<String>) -> Self {
        Self::new(ApproverErrorKind::Unavailable, context)
    }

    /// Creates the error of a question whose signal was cancelled.
    #[must_use]
    pub fn withdrawn() -> Self {
        Self::new(ApproverErrorKind::Withdrawn, "nobody needs the answer any more")
    }
}
