//! Tests of the forms in which providers report failures.

use super::*;

fn parsed(body: &str) -> (String, String, String) {
    let reported = ReportedError::parse(body.as_bytes()).unwrap();
    (reported.message, reported.class, reported.code)
}

fn said(message: &str, class: &str, code: &str) -> (String, String, String) {
    (message.to_owned(), class.to_owned(), code.to_owned())
}

#[test]
fn reads_the_usual_shapes() {
    let nested = r#"{"error":{"message":"m","type":"t","code":7}}"#;
    assert_eq!(parsed(nested), said("m", "t", "7"));
    assert_eq!(parsed(r#"{"error":"m","code":"c"}"#), said("m", "", "c"));
    assert_eq!(parsed(r#"{"message":"m","type":"t","code":400}"#), said("m", "t", "400"));
    let list = r#"[{"error":{"code":429,"message":"m","status":"S"}}]"#;
    assert_eq!(parsed(list), said("m", "", "429"));
    assert_eq!(parsed(r#"{"detail":[{"msg":"m","type":"t"}]}"#), said("m", "t", ""));
    let message = r#"{"object":"error","message":{"detail":[{"msg":"m","type":"u"}]},"type":"t"}"#;
    assert_eq!(parsed(message), said("m", "u", ""));
    let envelope = r#"{"type":"error","error":{"message":"m"},"request_id":"r"}"#;
    assert_eq!(parsed(envelope), said("m", "", ""));
    assert_eq!(parsed(r#"{"type":"error"}"#), said("", "error", ""));
    assert_eq!(ReportedError::parse(b"{\"error\":null}"), None);
    assert_eq!(ReportedError::parse(b"<html>"), None);
}

#[test]
fn a_failure_behind_a_router_is_told_with_the_one_in_front() {
    let raw = r#"{\"error\":{\"message\":\"too long\",\"code\":\"context_length_exceeded\"}}"#;
    let body = format!(
        r#"{{"error":{{"message":"Provider returned error","code":400,
            "metadata":{{"raw":"{raw}","provider_name":"P"}}}}}}"#
    );
    let reported = ReportedError::parse(body.as_bytes()).unwrap();
    assert_eq!(reported.own_message(), "Provider returned error");
    assert_eq!(reported.message, "Provider returned error: too long");
    assert_eq!(reported.code, "400");
    assert_eq!(reported.other_codes, ["context_length_exceeded"]);
    let words = r#"{"error":{"message":"m","code":429,"metadata":{"raw":"slow, retry in 2s"}}}"#;
    let reported = ReportedError::parse(words.as_bytes()).unwrap();
    assert_eq!(reported.message, "m: slow, retry in 2s");
    assert_eq!(reported.retry_ms, Some(2_000));
}

#[test]
fn what_is_nested_without_end_is_read_only_so_far() {
    let mut body = String::from(r#"{"error":{"message":"x"}}"#);
    for _ in 0..8 {
        let raw = serde_json::to_string(&body).unwrap();
        body = format!(r#"{{"error":{{"message":"x","metadata":{{"raw":{raw}}}}}}}"#);
    }
    let reported = ReportedError::parse(body.as_bytes()).unwrap();
    assert_eq!(reported.message, "x: x: x");
    assert_eq!(reported.own_message(), "x");
}

#[test]
fn details_and_inner_errors_hold_codes_and_waits() {
    let google = r#"[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[
        {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED"},
        {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"30.5s"}]}}]"#;
    let reported = ReportedError::parse(google.as_bytes()).unwrap();
    assert_eq!(reported.other_codes, ["RESOURCE_EXHAUSTED", "RATE_LIMIT_EXCEEDED"]);
    assert_eq!(reported.retry_ms, Some(30_500));
    let azure = r#"{"error":{"message":"m","code":"x","innererror":{"code":"Outer",
        "innererror":{"code":"Inner"}}}}"#;
    let reported = ReportedError::parse(azure.as_bytes()).unwrap();
    assert_eq!(reported.other_codes, ["Outer", "Inner"]);
    for (body, ms) in [
        (r#"{"message":"m","retry_after":1.5}"#, Some(1_500)),
        (r#"{"error":{"message":"m"},"retry_after":"2"}"#, Some(2_000)),
        (r#"{"message":"m","retry_after_ms":20}"#, Some(20)),
        (r#"{"message":"m","retry_after":-1}"#, None),
        (r#"{"message":"Please try again in 6m0.5s."}"#, Some(360_500)),
        (r#"{"message":"m","retry_after":1e99}"#, Some(86_400_000)),
    ] {
        let reported = ReportedError::parse(body.as_bytes()).unwrap();
        assert_eq!(reported.retry_ms, ms, "{body}");
    }
}

#[test]
fn a_failure_is_told_from_what_is_none() {
    let told = |body: &str| {
        let value = serde_json::from_str(body).unwrap();
        ReportedError::from_value(&value).map(|reported| reported.message)
    };
    for (body, words) in [
        (r#"{"error":"m"}"#, "m"),
        (r#"{"error":{"code":500}}"#, ""),
        (r#"{"detail":"m"}"#, "m"),
        (r#"{"object":"error","message":"m","type":"BadRequestError","code":400}"#, "m"),
        (r#"{"type":"error"}"#, ""),
        (r#"{"code":400,"message":"m","type":"Bad Request"}"#, "m"),
        (r#"{"success":false,"code":500,"msg":"m"}"#, "m"),
        (r#"{"message":"m","type":"server_error"}"#, "m"),
        (r#"{"__type":"ThrottlingException","message":"m"}"#, "m"),
        (r#"[{"error":{"message":"m"}}]"#, "m"),
    ] {
        assert_eq!(told(body).as_deref(), Some(words), "{body}");
    }
    for body in [
        r#"{"id":"r","choices":[],"error":null}"#,
        r#"{"error":{},"choices":[]}"#,
        r#"{"error":"","detail":[]}"#,
        r#"{"error":false}"#,
        r#"{"code":200,"message":"ok"}"#,
        r#"{"code":"0","msg":"success"}"#,
        r#"{"status":"queued","message":"wait"}"#,
        r#"{"type":"x.future.event","message":"m"}"#,
        r#"{"id":"r","code":1,"message":"m","choices":[{}]}"#,
        r#"{"type":"ping"}"#,
        r#"{}"#,
        r#"[]"#,
        r#""m""#,
        "7",
    ] {
        assert_eq!(told(body), None, "{body}");
    }
}
