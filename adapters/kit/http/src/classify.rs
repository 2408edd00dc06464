//! Classification: derives a `FailureKind` and retry advice from status, codes, class and message.
//!
//! A code with a single meaning decides first. The message is next, since many servers use one code
//! for every fault of a request. Codes that only name a kind of failure follow, and then the
//! status.

use windlass_core::{FailureKind, Retry};

use crate::reported_error::ReportedError;

/// Codes with a single meaning in any context. Case and word separators are ignored.
const DECISIVE: &[(FailureKind, &[&str])] = &[
    (
        FailureKind::ContextOverflow,
        &[
            "context_length_exceeded",
            "context_window_exceeded",
            "context_window_exceeded_error",
            "exceed_context_size_error",
            "model_max_prompt_tokens_exceeded",
            "tokens_limit_reached",
            "prompt_too_long",
            "request_too_large",
        ],
    ),
    (
        FailureKind::Quota,
        &[
            "insufficient_quota",
            "billing_hard_limit_reached",
            "billing_not_active",
            "billing_error",
            "insufficient_balance",
            "insufficient_credits",
            "payment_required",
            "usage_limit_reached",
            "usage_not_included",
            "exceeded_current_quota_error",
            "arrearage",
        ],
    ),
    (
        FailureKind::Authentication,
        &[
            "invalid_api_key",
            "api_key_invalid",
            "incorrect_api_key",
            "invalid_authentication",
            "invalid_authentication_error",
            "account_deactivated",
            "token_expired",
            "expired_token",
            "invalid_token",
        ],
    ),
    (
        FailureKind::NotFound,
        &["model_not_found", "invalid_model", "model_decommissioned", "deployment_not_found"],
    ),
    (
        FailureKind::ContentFilter,
        &[
            "content_filter",
            "content_policy_violation",
            "responsible_ai_policy_violation",
            "invalid_prompt",
            "data_inspection_failed",
            "prohibited_content",
        ],
    ),
    (
        FailureKind::Overloaded,
        &[
            "overloaded_error",
            "overloaded",
            "server_overloaded",
            "server_is_overloaded",
            "slow_down",
            "engine_overloaded",
            "engine_overloaded_error",
            "capacity_exceeded",
            "insufficient_system_resource",
        ],
    ),
    // The model, not the request, malformed its own call; another sample may not.
    (FailureKind::Server, &["tool_use_failed"]),
];

/// Codes that name a kind of failure, and are also used for others.
const GENERAL: &[(FailureKind, &[&str])] = &[
    (
        FailureKind::RateLimit,
        &[
            "rate_limit_exceeded",
            "rate_limit_error",
            "rate_limit_reached_error",
            "rate_limited",
            "tokens",
            "requests",
            "too_many_requests",
            "resource_exhausted",
            "request_limit_exceeded",
            "throttling",
            "throttling_exception",
            "throttling_rate_quota",
        ],
    ),
    (
        FailureKind::Authentication,
        &[
            "authentication_error",
            "permission_error",
            "permission_denied",
            "unauthorized",
            "unauthenticated",
        ],
    ),
    (FailureKind::NotFound, &["not_found_error", "not_found"]),
    (FailureKind::Overloaded, &["unavailable", "unavailable_error"]),
    (FailureKind::Timeout, &["timeout_error", "deadline_exceeded"]),
    (
        FailureKind::Server,
        &["server_error", "internal", "internal_error", "internal_server_error", "api_error"],
    ),
];

/// Phrases in lower case, and the statuses under which they count; they also count without a
/// status.
const WORDS: &[(FailureKind, &[u16], &[&str])] = &[
    (
        FailureKind::ContextOverflow,
        &[400, 413, 422, 500],
        &[
            "maximum context length",
            "maximum model length",
            "maximum prompt length",
            "context window",
            "context length",
            "context size",
            "context limit",
            "context_length",
            "context overflow",
            "context the overflows",
            "prompt is too long",
            "prompt too long",
            "input is too long",
            "input too long",
            "too many tokens",
            "exceeds the maximum number of tokens",
            "exceeded model token limit",
            "max_new_tokens` must be <=",
            "exceeds max length",
            "reduce the length of the messages",
            "reduce the length of your prompt",
            "range of input length should be",
        ],
    ),
    (
        FailureKind::ContentFilter,
        &[400, 403, 422, 451],
        &[
            "content management policy",
            "content filter",
            "content_filter",
            "content policy",
            "content exists risk",
            "inappropriate content",
            "safety system",
            "usage policy",
            "usage policies",
            "input was flagged",
            "prompt was flagged",
            "requires moderation",
        ],
    ),
    (
        FailureKind::Quota,
        &[400, 403, 429],
        &[
            "exceeded your current quota",
            "insufficient balance",
            "insufficient credit",
            "insufficient funds",
            "credit balance is too low",
            "have any credits",
            "available credits",
            "more credits",
            "out of credits",
            "not enough credits",
            "spending limit",
            "api usage limits",
            "billing hard limit",
            "余额不足",
        ],
    ),
    (
        FailureKind::Authentication,
        &[400],
        &[
            "api key not valid",
            "api key expired",
            "invalid api key",
            "invalid x-api-key",
            "incorrect api key",
            "no api key",
            "missing api key",
        ],
    ),
    (
        FailureKind::Overloaded,
        &[429, 500, 502, 503],
        &[
            "overloaded",
            "high demand",
            "at capacity",
            "server busy",
            "server is busy",
            "loading model",
            "model is loading",
            "currently loading",
        ],
    ),
    (
        FailureKind::RateLimit,
        &[400, 403, 500, 502, 503],
        &["rate limit", "rate-limit", "rate_limit", "too many requests"],
    ),
];

/// Phrases that say that something does not exist.
const MISSING: &[&str] = &[
    "not found",
    "does not exist",
    "not exist",
    "no such",
    "unknown model",
    "invalid model",
    "not a valid model",
    "model identifier is invalid",
    "decommissioned",
];

/// Length limit on names and descriptions. A limit above this one concerns the conversation.
const LONG_TEXT: u64 = 64 * 1024;

/// Classifies a failure. Without a status (an error inside a stream) a numeric code counts as one.
#[must_use]
pub fn classify(status: Option<u16>, reported: &ReportedError) -> FailureKind {
    let codes = || {
        let others = reported.other_codes.iter();
        [&reported.code, &reported.class].into_iter().chain(others)
    };
    let message = reported.message.to_ascii_lowercase();
    let mut numeric = codes().filter_map(|code| code.parse().ok());
    let status = status.or_else(|| numeric.find(|code| (400..600).contains(code)));
    codes()
        .find_map(|code| listed(DECISIVE, code))
        .or_else(|| by_length(reported, &message))
        .or_else(|| by_words(status, &message, reported.retry_ms.is_some()))
        .or_else(|| codes().find_map(|code| general(status, code)))
        .or_else(|| status.map(by_status))
        .unwrap_or_else(|| {
            let invalid = |code: &String| {
                let code = squeezed(code);
                code.contains("invalid")
                    || code.contains("validation")
                    || code.starts_with("badrequest")
            };
            match codes().any(invalid) {
                true => FailureKind::InvalidRequest,
                false => FailureKind::Server,
            }
        })
}

/// Returns the retry advice for a failure if the provider gives none.
#[must_use]
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
        | FailureKind::Unsupported
        | FailureKind::Program => Retry::Never,
    }
}

/// Returns the retry advice for a failure, from everything that the provider reports. `asked_ms` is
/// the wait from its headers, which takes precedence over the one in its message.
#[must_use]
pub fn again(
    kind: FailureKind,
    status: Option<u16>,
    reported: &ReportedError,
    asked_ms: Option<u64>,
) -> Retry {
    // A request that exceeds the limit by itself will always exceed it.
    let message = reported.message.to_ascii_lowercase();
    if kind == FailureKind::RateLimit && message.contains("request too large") {
        return Retry::Never;
    }
    match (retry(kind, status), asked_ms.or(reported.retry_ms)) {
        (Retry::Never, _) => Retry::Never,
        (_, Some(ms)) => Retry::AfterMs(ms),
        (soon, None) => soon,
    }
}

/// Returns the letters and digits of a code, in lower case.
fn squeezed(code: &str) -> String {
    let kept = code.chars().filter(char::is_ascii_alphanumeric);
    kept.map(|c| c.to_ascii_lowercase()).collect()
}

fn listed(list: &[(FailureKind, &[&str])], code: &str) -> Option<FailureKind> {
    let code = squeezed(code);
    let named = |name: &&str| squeezed(name) == code;
    let found = list.iter().find(|(_, names)| names.iter().any(named));
    found.filter(|_| !code.is_empty()).map(|(kind, _)| *kind)
}

fn general(status: Option<u16>, code: &str) -> Option<FailureKind> {
    let kind = listed(GENERAL, code)?;
    // For a server failure the status is more specific, unless it is a general one.
    let vague = matches!(status, None | Some(400 | 409 | 422));
    (vague || kind != FailureKind::Server).then_some(kind)
}

/// Classifies a text beyond its limit: a conversation or a name that is too long.
fn by_length(reported: &ReportedError, message: &str) -> Option<FailureKind> {
    if squeezed(&reported.code) != "stringabovemaxlength" {
        return None;
    }
    let (_, rest) = message.split_once("maximum length ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let long = digits.parse().is_ok_and(|most: u64| most >= LONG_TEXT);
    Some(match long {
        true => FailureKind::ContextOverflow,
        false => FailureKind::InvalidRequest,
    })
}

/// Classifies by the message. `waits` is true if the provider names a wait, so that a quota is one
/// that refills.
fn by_words(status: Option<u16>, message: &str, waits: bool) -> Option<FailureKind> {
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    let under = |statuses: &[u16]| status.is_none_or(|status| statuses.contains(&status));
    for (kind, statuses, words) in WORDS {
        if under(statuses) && says(words) {
            let fills_up = *kind == FailureKind::Quota && waits;
            return Some(if fills_up { FailureKind::RateLimit } else { *kind });
        }
    }
    if under(&[400, 422]) && message.contains("model") && says(MISSING) {
        return Some(FailureKind::NotFound);
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
        498 | 503 | 529 => FailureKind::Overloaded,
        // A proxy in front of the provider cannot reach it.
        521..=523 | 530 => FailureKind::Unavailable,
        400..=499 => FailureKind::InvalidRequest,
        500..=599 => FailureKind::Server,
        _ => FailureKind::Protocol,
    }
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
