//! Failures of a sample, by class.

use alloc::string::String;

use serde::{Deserialize, Serialize};

/// Class of a sample's failure, for policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The key is missing, wrong, or lacks permission.
    Authentication,
    /// The model or the endpoint does not exist.
    NotFound,
    /// The provider rejected the request as malformed.
    InvalidRequest,
    /// The request is larger than the model's context.
    ContextOverflow,
    /// Too many requests at present.
    RateLimit,
    /// The account's quota or credit is used up.
    Quota,
    /// The provider is overloaded.
    Overloaded,
    /// The provider failed internally.
    Server,
    /// A content filter rejected the request or truncated the answer.
    ContentFilter,
    /// The provider cannot be reached.
    Unavailable,
    /// The response violates the protocol.
    Protocol,
    /// The stream ended without its terminal event.
    Truncated,
    /// The answer exceeded a size limit of this engine.
    TooLarge,
    /// A time limit passed: of connecting, the first byte, the next byte, or the whole request.
    Timeout,
    /// The sample was cancelled.
    Cancelled,
    /// The process of the sample ended.
    Restart,
    /// The user sent a steering input while the model answered.
    Steered,
    /// No sample: a hook failed, or exceeded its context budget.
    Hook,
    /// The request needs a capability that the provider does not declare; nothing was sent.
    Unsupported,
    /// The model's program reported failure.
    Program,
    /// No sample: a compaction that a user requested failed.
    Compaction,
}

impl FailureKind {
    /// Returns the name, as logs spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Authentication => "authentication",
            Self::NotFound => "not_found",
            Self::InvalidRequest => "invalid_request",
            Self::ContextOverflow => "context_overflow",
            Self::RateLimit => "rate_limit",
            Self::Quota => "quota",
            Self::Overloaded => "overloaded",
            Self::Server => "server",
            Self::ContentFilter => "content_filter",
            Self::Unavailable => "unavailable",
            Self::Protocol => "protocol",
            Self::Truncated => "truncated",
            Self::TooLarge => "too_large",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Restart => "restart",
            Self::Steered => "steered",
            Self::Hook => "hook",
            Self::Unsupported => "unsupported",
            Self::Program => "program",
            Self::Compaction => "compaction",
        }
    }

    /// Returns true if a provider may bill a sample that failed like this: it may have begun to
    /// answer.
    #[must_use]
    pub fn is_billed(self) -> bool {
        match self {
            Self::Server
            | Self::ContentFilter
            | Self::Protocol
            | Self::Truncated
            | Self::TooLarge
            | Self::Timeout
            | Self::Cancelled
            | Self::Restart
            | Self::Steered => true,
            Self::Authentication
            | Self::NotFound
            | Self::InvalidRequest
            | Self::ContextOverflow
            | Self::RateLimit
            | Self::Quota
            | Self::Overloaded
            | Self::Unavailable
            | Self::Hook
            | Self::Unsupported
            | Self::Program
            | Self::Compaction => false,
        }
    }
}

/// Advice on retrying, and on its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// A retry would fail again.
    Never,
    /// A retry may succeed at once: a fallback is available.
    Now,
    /// A retry may succeed soon; the engine's own backoff decides when.
    Soon,
    /// The provider asked to wait this long, in milliseconds.
    AfterMs(u64),
}

/// A failed sample: a description, and advice on retries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleFailure {
    /// Class of the failure.
    pub kind: FailureKind,
    /// The operation, its failure, and advice. Bounded and escaped; never contains a key.
    pub message: String,
    /// Advice on retrying.
    pub retry: Retry,
    /// HTTP status, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The provider's request id, for support requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl SampleFailure {
    /// Returns a failure without a status and request id.
    #[must_use]
    pub fn new(kind: FailureKind, retry: Retry, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry, status: None, request_id: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_billed_where_the_model_may_have_begun_to_answer() {
        for billed in [
            FailureKind::Server,
            FailureKind::ContentFilter,
            FailureKind::Protocol,
            FailureKind::Truncated,
            FailureKind::TooLarge,
            FailureKind::Timeout,
            FailureKind::Cancelled,
            FailureKind::Restart,
            FailureKind::Steered,
        ] {
            assert!(billed.is_billed(), "{billed:?}");
        }
        for free in [
            FailureKind::Authentication,
            FailureKind::NotFound,
            FailureKind::InvalidRequest,
            FailureKind::ContextOverflow,
            FailureKind::RateLimit,
            FailureKind::Quota,
            FailureKind::Overloaded,
            FailureKind::Unavailable,
            FailureKind::Hook,
            FailureKind::Unsupported,
            FailureKind::Program,
            FailureKind::Compaction,
        ] {
            assert!(!free.is_billed(), "{free:?}");
        }
    }
}
