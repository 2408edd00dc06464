//! Tests of the classification of failures as servers report them.

use windlass_core::FailureKind as Kind;

use super::*;

fn class(status: u16, body: &str) -> Kind {
    let status = (status > 0).then_some(status);
    let said = ReportedError::parse(body.as_bytes());
    classify(status, &said.unwrap_or_default())
}

#[test]
fn a_code_counts_more_than_a_status() {
    for (status, body, kind) in [
        (400, r#"{"error":{"code":"model_not_found","message":"m"}}"#, Kind::NotFound),
        (
            429,
            r#"{"error":{"code":"insufficient_quota","type":"insufficient_quota"}}"#,
            Kind::Quota,
        ),
        (
            400,
            r#"{"error":{"code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
            Kind::ContentFilter,
        ),
        (
            400,
            r#"{"error":{"code":"BadRequest","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
            Kind::ContentFilter,
        ),
        (
            400,
            r#"{"error":{"type":"exceed_context_size_error","code":400,"n_ctx":4096,"message":"m"}}"#,
            Kind::ContextOverflow,
        ),
        (
            400,
            r#"{"object":"error","message":"Invalid model: x","type":"invalid_model","code":"1500"}"#,
            Kind::NotFound,
        ),
        (404, r#"{"error":{"code":"DeploymentNotFound","message":"m"}}"#, Kind::NotFound),
        (400, r#"{"error":{"code":"unknown_model","message":"m"}}"#, Kind::NotFound),
        (
            400,
            r#"{"error":{"code":"too_many_prompt_tokens","message":"m"}}"#,
            Kind::ContextOverflow,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#,
            Kind::Authentication,
        ),
        (400, r#"{"code":"InvalidApiKey","message":"m"}"#, Kind::Authentication),
        (400, r#"{"code":"Arrearage","message":"m"}"#, Kind::Quota),
        (
            413,
            r#"{"error":{"message":"Request too large for model","type":"tokens","code":"rate_limit_exceeded"}}"#,
            Kind::RateLimit,
        ),
        (
            403,
            r#"{"error":{"code":"forbidden","type":"invalid_request_error"}}"#,
            Kind::Authentication,
        ),
        (
            400,
            r#"{"error":{"code":"tool_use_failed","type":"invalid_request_error"}}"#,
            Kind::Server,
        ),
        (429, r#"{"error":{"type":"server_error","message":"m"}}"#, Kind::RateLimit),
        (503, r#"{"error":{"type":"server_error","message":"m"}}"#, Kind::Overloaded),
        (400, r#"{"error":{"type":"internal_error","message":"m"}}"#, Kind::Server),
        (
            401,
            r#"{"error":{"message":"Unauthorized","type":"api_error","code":null}}"#,
            Kind::Authentication,
        ),
    ] {
        assert_eq!(class(status, body), kind, "{status} {body}");
    }
}

#[test]
fn words_tell_what_a_common_code_does_not() {
    for (status, words, kind) in [
        (
            400,
            "This model's maximum context length is 8192 tokens. However, you requested 9000.",
            Kind::ContextOverflow,
        ),
        (
            500,
            "the request exceeds the available context size, try increasing it",
            Kind::ContextOverflow,
        ),
        (
            400,
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
            Kind::ContextOverflow,
        ),
        (
            400,
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            Kind::ContextOverflow,
        ),
        (
            400,
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            Kind::ContextOverflow,
        ),
        (
            400,
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            Kind::ContextOverflow,
        ),
        (400, "prompt token count of 135012 exceeds the limit of 128000", Kind::ContextOverflow),
        (400, "Input tokens exceed the configured limit of 272000 tokens.", Kind::ContextOverflow),
        (400, "Input is too long for requested model.", Kind::ContextOverflow),
        (400, "The conversation has become too long.", Kind::ContextOverflow),
        (422, "Your messages are too long for this model", Kind::ContextOverflow),
        (500, "request (9001 tokens) too long", Kind::ContextOverflow),
        (400, "'messages[1].tool_calls[0].name' is too long", Kind::InvalidRequest),
        (400, "string too long in 'messages[3].id'", Kind::InvalidRequest),
        (500, "The request took too long to process", Kind::Server),
        (500, "The request was queued for too long", Kind::Server),
        (500, "Your prompt waits in line for too long", Kind::Server),
        (400, "Bad request: metadata value too long", Kind::InvalidRequest),
        (400, "The prompt for this model is too long", Kind::ContextOverflow),
        (401, "The input is too long", Kind::Authentication),
        (400, "Your credit balance is too low to access the API.", Kind::Quota),
        (403, "Your newly created team doesn't have any credits yet.", Kind::Quota),
        (400, "You have reached your specified API usage limits.", Kind::Quota),
        (402, "Insufficient Balance", Kind::Quota),
        (429, "余额不足或无可用资源包,请充值。", Kind::Quota),
        (400, "The provided model identifier is invalid.", Kind::NotFound),
        (400, "Content Exists Risk", Kind::ContentFilter),
        (
            403,
            "m requires moderation on P. Your input was flagged for \"violence\"",
            Kind::ContentFilter,
        ),
        (400, "Output blocked by content filtering policy", Kind::ContentFilter),
        (400, "Incorrect API key provided: xx***yy.", Kind::Authentication),
        (400, "API key not valid. Please pass a valid API key.", Kind::Authentication),
        (400, "foo/bar is not a valid model ID", Kind::NotFound),
        (400, "Model Not Exist", Kind::NotFound),
        (400, "The requested model is not supported.", Kind::NotFound),
        (400, "Unsupported model: x", Kind::NotFound),
        (400, "The `model` is not supported or contains a typo.", Kind::NotFound),
        (400, "model `x.y-1:0` isn't supported on this route", Kind::NotFound),
        (422, "Model x is not available", Kind::NotFound),
        (400, "Image input is not supported with this model", Kind::InvalidRequest),
        (400, "This model does not support tools", Kind::InvalidRequest),
        (400, "The model `x` has been decommissioned", Kind::NotFound),
        (429, "The engine is currently overloaded, please try again later", Kind::Overloaded),
        (503, "Loading model", Kind::Overloaded),
        (403, "API rate limit exceeded for user", Kind::RateLimit),
        (
            429,
            "You exceeded your current quota, please check your plan and billing details.",
            Kind::Quota,
        ),
        (429, "You exceeded your current quota. Please retry in 23.5s.", Kind::RateLimit),
        (400, "No tool output found for tool call call-a.", Kind::InvalidRequest),
        (400, "Thinking mode does not support this tool_choice", Kind::InvalidRequest),
        (401, "Rate limit of this key is unknown", Kind::Authentication),
    ] {
        let body = serde_json::json!({ "error": {
            "message": words, "type": "invalid_request_error", "code": "invalid_request_error"
        } });
        assert_eq!(class(status, &body.to_string()), kind, "{status} {words}");
    }
}

#[test]
fn a_text_beyond_its_cap_is_a_long_conversation_or_a_long_name() {
    let long = |most: &str| {
        let words = format!(
            "Invalid 'x': string too long. Expected a string with maximum length {most}, but got more."
        );
        let error = serde_json::json!({ "message": words, "code": "string_above_max_length" });
        class(400, &serde_json::json!({ "error": error }).to_string())
    };
    assert_eq!(long("10485760"), Kind::ContextOverflow);
    assert_eq!(long("40"), Kind::InvalidRequest);
    assert_eq!(long("99999999999999999999999"), Kind::InvalidRequest);
}

#[test]
fn without_a_status_a_numeric_code_is_one() {
    for (body, kind) in [
        (r#"{"error":{"code":502,"message":"m"}}"#, Kind::Server),
        (r#"{"error":{"code":"429","message":"m"}}"#, Kind::RateLimit),
        (r#"{"error":{"code":503,"message":"m","status":"UNAVAILABLE"}}"#, Kind::Overloaded),
        (r#"{"error":{"type":"BadRequestError","message":"m"}}"#, Kind::InvalidRequest),
        (r#"{"error":{"type":"invalid_request_error","message":"m"}}"#, Kind::InvalidRequest),
        (
            r#"{"error":{"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"code\":429}}"}}}"#,
            Kind::RateLimit,
        ),
        (r#"{"error":{"type":"overloaded_error"}}"#, Kind::Overloaded),
        (r#"{}"#, Kind::Server),
    ] {
        assert_eq!(class(0, body), kind, "{body}");
    }
}

#[test]
fn a_status_alone_decides_where_nothing_is_said() {
    for (status, kind) in [
        (401, Kind::Authentication),
        (402, Kind::Quota),
        (403, Kind::Authentication),
        (404, Kind::NotFound),
        (408, Kind::Timeout),
        (413, Kind::ContextOverflow),
        (418, Kind::InvalidRequest),
        (429, Kind::RateLimit),
        (498, Kind::Overloaded),
        (500, Kind::Server),
        (502, Kind::Server),
        (503, Kind::Overloaded),
        (504, Kind::Timeout),
        (520, Kind::Server),
        (522, Kind::Unavailable),
        (529, Kind::Overloaded),
        (199, Kind::Protocol),
    ] {
        assert_eq!(class(status, ""), kind, "{status}");
    }
}

#[test]
fn the_wait_is_the_one_of_the_headers_then_the_one_of_the_words() {
    let words = "Rate limit reached. Please try again in 1.2s. Visit our page.";
    let said = ReportedError::of(&words.into()).unwrap();
    let after = |kind, asked| again(kind, Some(429), &said, asked);
    assert_eq!(after(Kind::RateLimit, None), Retry::AfterMs(1_200));
    assert_eq!(after(Kind::RateLimit, Some(5)), Retry::AfterMs(5));
    assert_eq!(after(Kind::Quota, Some(5)), Retry::Never);
    let none = ReportedError::default();
    assert_eq!(again(Kind::Server, Some(500), &none, None), Retry::Soon);
    assert_eq!(again(Kind::Server, Some(501), &none, None), Retry::Never);
    let large = ReportedError::of(&"Request too large for m on tokens per min".into()).unwrap();
    assert_eq!(again(Kind::RateLimit, Some(429), &large, Some(5)), Retry::Never);
}

#[test]
fn a_code_that_is_no_status_does_not_hide_one_that_is() {
    let body = r#"{"error":{"code":3051,"message":"m"},"status_code":429}"#;
    assert_eq!(class(0, body), Kind::RateLimit);
    let behind = r#"{"error":{"code":400,"message":"m","metadata":{"raw":"too many tokens"}}}"#;
    assert_eq!(class(400, behind), Kind::ContextOverflow);
}
