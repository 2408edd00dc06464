//! Classes of failure: from status, code, class and words to a `FailureKind`, and what is worth
//! another try.

use windlass_core::{FailureKind, Retry};

use crate::reported::Reported;

/// The class of a failure. Without a status (an error inside a stream) a numeric code counts as
/// one.
pub fn classify(status: Option<u16>, reported: &Reported) -> FailureKind {
    let code = reported.code.to_ascii_lowercase();
    let class = reported.class.to_ascii_lowercase();
    let message = reported.message.to_ascii_lowercase();
    let status = status.or_else(|| code.parse().ok().filter(|code| (400..600).contains(code)));
    by_code(&code)
        .or_else(|| by_words(status, &message))
        .or_else(|| by_code(&class))
        .or_else(|| status.map(by_status))
        .unwrap_or(match class.as_str() {
            "invalid_request_error" | "validation" => FailureKind::InvalidRequest,
            _ => FailureKind::Server,
        })
}

/// Whether asking again makes sense, where the provider does not say.
pub fn retry(kind: FailureKind, status: Option<u16>) -> Retry {
    match kind {
        FailureKind::Server if matches!(status, Some(501 | 505)) => Retry::Never,
        FailureKind::RateLimit
        | FailureKind::Overloaded
        | FailureKind::Server
        | FailureKind::Unavailable
        | FailureKind::Truncated
        | FailureKind::Timeout => Retry::Soon,
        FailureKind::Authentication
        | FailureKind::NotFound
        | FailureKind::InvalidRequest
        | FailureKind::ContextOverflow
        | FailureKind::Quota
        | FailureKind::ContentFilter
        | FailureKind::Protocol
        | FailureKind::TooLarge
        | FailureKind::Cancelled
        | FailureKind::Restart
        | FailureKind::Steered
        | FailureKind::Hook
        | FailureKind::Unsupported => Retry::Never,
    }
}

fn by_code(code: &str) -> Option<FailureKind> {
    let kind = match code {
        "context_length_exceeded" | "string_above_max_length" => FailureKind::ContextOverflow,
        "insufficient_quota"
        | "billing_hard_limit_reached"
        | "billing_not_active"
        | "insufficient_balance"
        | "usage_limit_reached"
        | "usage_not_included" => FailureKind::Quota,
        "rate_limit_exceeded"
        | "rate_limit_error"
        | "tokens"
        | "requests"
        | "too_many_requests"
        | "resource_exhausted" => FailureKind::RateLimit,
        "invalid_api_key"
        | "authentication_error"
        | "permission_error"
        | "permission_denied"
        | "unauthorized"
        | "unauthenticated"
        | "account_deactivated" => FailureKind::Authentication,
        "model_not_found" | "not_found_error" | "not_found" | "deploymentnotfound" => {
            FailureKind::NotFound
        }
        "content_filter"
        | "content_policy_violation"
        | "responsibleaipolicyviolation"
        | "invalid_prompt" => FailureKind::ContentFilter,
        "overloaded_error"
        | "overloaded"
        | "server_overloaded"
        | "server_is_overloaded"
        | "slow_down"
        | "engine_overloaded"
        | "unavailable"
        | "insufficient_system_resource" => FailureKind::Overloaded,
        // The model, not the request, broke its own call: another sample may not.
        "tool_use_failed" => FailureKind::Server,
        "server_error" | "internal_error" | "internal_server_error" => FailureKind::Server,
        _ => return None,
    };
    Some(kind)
}

fn by_words(status: Option<u16>, message: &str) -> Option<FailureKind> {
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    let of_request = matches!(status, None | Some(400 | 413 | 422 | 500));
    let too_long = [
        "maximum context length",
        "context window",
        "context length",
        "context size",
        "context_length",
        "prompt is too long",
        "input is too long",
        "max_new_tokens` must be <=",
    ];
    if of_request && says(&too_long) {
        return Some(FailureKind::ContextOverflow);
    }
    let missing = ["not found", "does not exist", "not exist", "unknown model"];
    if status == Some(400) && message.contains("model") && says(&missing) {
        return Some(FailureKind::NotFound);
    }
    if matches!(status, Some(400)) && says(&["api key not valid", "invalid api key"]) {
        return Some(FailureKind::Authentication);
    }
    if status == Some(429) && says(&["exceeded your current quota", "insufficient balance"]) {
        return Some(FailureKind::Quota);
    }
    None
}

fn by_status(status: u16) -> FailureKind {
    match status {
        401 | 403 | 407 => FailureKind::Authentication,
        402 => FailureKind::Quota,
        404 | 410 => FailureKind::NotFound,
        408 | 504 | 524 => FailureKind::Timeout,
        409 | 425 => FailureKind::Server,
        413 => FailureKind::ContextOverflow,
        429 => FailureKind::RateLimit,
        503 | 529 => FailureKind::Overloaded,
        400..=499 => FailureKind::InvalidRequest,
        500..=599 => FailureKind::Server,
        _ => FailureKind::Protocol,
    }
}
