//! Tables of the codes and phrases by which servers name a failure.

use windlass_core::FailureKind;

/// Codes with a single meaning in any context. Case and word separators are ignored.
pub(crate) const DECISIVE: &[(FailureKind, &[&str])] = &[
    (
        FailureKind::ContextOverflow,
        &[
            "context_length_exceeded",
            "context_window_exceeded",
            "context_window_exceeded_error",
            "exceed_context_size_error",
            "model_max_prompt_tokens_exceeded",
            "too_many_prompt_tokens",
            "too_many_input_tokens",
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
        &[
            "model_not_found",
            "invalid_model",
            "invalid_model_id",
            "invalid_model_name",
            "unknown_model",
            "unsupported_model",
            "model_not_supported",
            "model_not_available",
            "model_decommissioned",
            "deployment_not_found",
        ],
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
pub(crate) const GENERAL: &[(FailureKind, &[&str])] = &[
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
pub(crate) const WORDS: &[(FailureKind, &[u16], &[&str])] = &[
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
            "too many input tokens",
            "too many prompt tokens",
            "prompt token count of",
            "input tokens exceed",
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
pub(crate) const MISSING: &[&str] = &[
    "not found",
    "does not exist",
    "not exist",
    "no such",
    "unknown model",
    "unsupported model",
    "unrecognized model",
    "no model named",
    "invalid model",
    "not a valid model",
    "model identifier is invalid",
    "decommissioned",
];

/// Phrases after the word model, or after a model's name, that say that it is not offered.
pub(crate) const NOT_OFFERED: &[&str] = &[
    "is not supported",
    "isn't supported",
    "not supported",
    "is unsupported",
    "is not available",
    "isn't available",
    "not available",
    "is unknown",
];

/// Words for a whole conversation, of which one may be said to be too long.
pub(crate) const CONVERSATION: &[&str] =
    &["prompt", "input", "inputs", "conversation", "messages", "context", "history"];

/// Words by which "too long" is about a wait.
pub(crate) const WAITING: &[&str] = &[
    "took", "takes", "taking", "taken", "waited", "waiting", "ran", "running", "queue", "queued",
    "pending", "idle",
];
