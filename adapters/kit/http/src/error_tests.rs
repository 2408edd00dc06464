//! Tests of the error mapping.

use super::*;

fn origin() -> ErrorContext {
    let secrets = vec![Secret::new("sk-secret-123")];
    ErrorContext::new("http://host/v1/responses", secrets, true)
}

fn refused(status: u16, pairs: &[(&'static str, &'static str)], body: &str) -> ProviderError {
    let mut headers = WireHeaders::default();
    for (name, value) in pairs {
        headers.push(name, *value, false);
    }
    origin().answered(status, &headers).refused(&headers, body.as_bytes())
}

#[test]
fn keeps_status_request_id_and_words() {
    let body = r#"{"error":{"message":"no such model","code":"model_not_found"}}"#;
    let error = refused(404, &[("x-request-id", "req_1")], body);
    assert_eq!(error.kind, FailureKind::NotFound);
    assert_eq!(error.retry, Retry::Never);
    assert_eq!(error.details.status, Some(404));
    assert_eq!(error.details.request_id.as_deref(), Some("req_1"));
    assert_eq!(
        error.context,
        "http://host/v1/responses answered 404: no such model (model_not_found); \
         check the model's name and the base URL"
    );
}

#[test]
fn a_key_that_comes_back_is_not_shown() {
    for body in [
        r#"{"error":{"message":"bad key sk-secret-123!"}}"#,
        "denied: sk-secret-123",
        "<html><title>sk-secret-123</title></html>",
    ] {
        let error = refused(401, &[("x-request-id", "sk-secret-123")], body);
        assert_eq!(error.kind, FailureKind::Authentication);
        assert!(!format!("{error:?}").contains("sk-secret"), "{error:?}");
        assert!(error.context.contains("[redacted]"), "{}", error.context);
    }
}

#[test]
fn a_key_at_the_bound_is_not_shown_in_part() {
    let body = format!("{}sk-secret-123", "x".repeat(SHOWN_CHARS - 8));
    assert!(!refused(500, &[], &body).context.contains("sk-s"));
}

#[test]
fn foreign_text_is_bounded_and_escaped() {
    let body = format!("a\u{1b}[31m\u{202e}{}", "b".repeat(100_000));
    let context = refused(500, &[], &body).context;
    assert!(context.len() < 1_000 && context.contains("a\\u{1b}[31m\\u{202e}b"), "{context}");
}

#[test]
fn waits_as_long_as_asked_and_not_at_all_where_it_is_no_use() {
    let limited = r#"{"error":{"message":"slow down","type":"tokens"}}"#;
    let wait = [("retry-after", "2")];
    assert_eq!(refused(429, &wait, limited).retry, Retry::AfterMs(2_000));
    assert_eq!(refused(429, &wait, limited).kind, FailureKind::RateLimit);
    assert_eq!(refused(503, &[], "").retry, Retry::Soon);
    assert_eq!(refused(503, &[("x-should-retry", "false")], "").retry, Retry::Never);
    assert_eq!(refused(401, &wait, "").retry, Retry::Never);
    let broke = r#"{"error":{"message":"","code":"insufficient_quota"}}"#;
    assert_eq!(refused(429, &wait, broke).kind, FailureKind::Quota);
    assert_eq!(refused(429, &wait, broke).retry, Retry::Never);
}

#[test]
fn a_redirect_says_where_to_without_its_query() {
    let error = refused(307, &[("location", "https://evil.example/x?token=1")], "");
    assert_eq!((error.kind, error.retry), (FailureKind::Protocol, Retry::Never));
    assert!(error.context.contains("https://evil.example/x,"), "{}", error.context);
    assert!(!error.context.contains("token"), "{}", error.context);
}

#[test]
fn pages_and_whole_bodies_are_recognised() {
    let page = b"<!doctype html><title>Sign in</title>".to_vec();
    let error = origin().fault(DecodeError::NotAStream(page));
    assert_eq!(error.kind, FailureKind::Protocol);
    assert!(error.context.contains("an HTML page: a page titled \"Sign in\""), "{error}");
    let body = br#"{"error":{"message":"busy","code":"overloaded"}}"#.to_vec();
    assert_eq!(origin().fault(DecodeError::NotAStream(body)).kind, FailureKind::Overloaded);
    let body = br#"{"id":"x","choices":[]}"#.to_vec();
    assert_eq!(origin().fault(DecodeError::NotAStream(body)).kind, FailureKind::Protocol);
}

#[test]
fn errors_inside_a_stream_are_classed_by_code() {
    let kind = |body: &str| {
        let reported = ReportedError::parse(body.as_bytes()).unwrap();
        origin().fault(DecodeError::Reported(reported)).kind
    };
    assert_eq!(kind(r#"{"code":"context_length_exceeded"}"#), FailureKind::ContextOverflow);
    assert_eq!(kind(r#"{"error":{"code":429,"message":"x"}}"#), FailureKind::RateLimit);
    assert_eq!(kind(r#"{"error":"whatever"}"#), FailureKind::Server);
    assert_eq!(
        kind(r#"{"message":"x","type":"invalid_request_error"}"#),
        FailureKind::InvalidRequest
    );
}
