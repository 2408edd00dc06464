//! Heads of requests: too large, too many, too slow, not HTTP.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::advance;
use windlass_server::{Quota, ServerLimits};

use crate::still::Still;
use crate::world::{Running, read};

#[tokio::test]
async fn heads_have_bounds() {
    let server = Running::start().await;
    let at = server.at;
    let status = async |more: &str, path: &str| {
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n{more}\r\n");
        let answer = server.raw(&request).await;
        answer.split(' ').nth(1).unwrap_or("none").to_owned()
    };
    let large = format!("x: {}\r\n", "x".repeat(64 * 1024));
    assert_eq!(status(&large, "/v1/health").await, "431");
    let many: String = (0..200).map(|n| format!("x{n}: y\r\n")).collect();
    assert_eq!(status(&many, "/v1/health").await, "431");
    let fits: String = (0..90).map(|n| format!("x{n}: y\r\n")).collect();
    assert_eq!(status(&fits, "/v1/health").await, "200");
    // The numbers of the documentation, exactly. Host and Connection are two headers.
    let headers = |count: usize| (0..count - 2).map(|n| format!("x{n}: y\r\n")).collect::<String>();
    assert_eq!(status(&headers(100), "/v1/health").await, "200");
    assert_eq!(status(&headers(101), "/v1/health").await, "431");
    let frame =
        format!("GET /v1/health HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\nx: \r\n\r\n");
    let sized = |bytes: usize| format!("x: {}\r\n", "x".repeat(bytes - frame.len()));
    for (bytes, expected) in [(32 * 1024, "200"), (32 * 1024 + 1, "431"), (40_000, "431")] {
        assert_eq!(status(&sized(bytes), "/v1/health").await, expected, "{bytes}");
    }
    for bytes in [32 * 1024, 64 * 1024, 200_000] {
        let long = format!("/v1/{}", "x".repeat(bytes));
        assert_eq!(status("", &long).await, "431", "{bytes}");
    }
    for bad in ["x y: z\r\n", "x\r\n", " x: folded\r\n", "x: a\u{0}b\r\n", ": x\r\n"] {
        assert_eq!(status(bad, "/v1/health").await, "400", "{bad:?}");
    }
    // The server goes on.
    assert_eq!(status("", "/v1/health").await, "200");
}

#[tokio::test]
async fn what_is_no_http_is_closed() {
    let server = Running::start().await;
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    for bytes in
        ["\u{16}\u{3}\u{1}\u{2}\u{0}\r\n\r\n", "nonsense\r\n\r\n", preface, "GET / HTTP/3\r\n\r\n"]
    {
        let answer = server.raw(bytes).await;
        let refused = answer.is_empty() || answer.starts_with("HTTP/1.1 400");
        assert!(refused, "{bytes:?}: {answer}");
    }
}

#[tokio::test]
async fn a_head_that_does_not_come_is_not_waited_for() {
    let bounds = ServerLimits { header_ms: 200, ..ServerLimits::default() };
    let server = Running::with(bounds, Quota::default()).await;
    let mut silent = server.connect().await;
    let mut slow = server.connect().await;
    slow.write_all(b"GET /v1/health HTTP/1.1\r\nHo").await.unwrap();
    // Both are closed without a word.
    assert_eq!(read(&mut silent).await, "");
    assert_eq!(read(&mut slow).await, "");
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let _still = Still::new();
    let bounds = ServerLimits::default();
    let server = Running::with(bounds, Quota::default()).await;
    let mut idle = server.connect().await;
    let request = format!("GET /v1/health HTTP/1.1\r\nHost: {}\r\n\r\n", server.at);
    let mut answers = Vec::new();
    for _ in 0..2 {
        idle.write_all(request.as_bytes()).await.unwrap();
        while !answers.ends_with(b"\"store\":\"works\"}") {
            assert!(idle.read_buf(&mut answers).await.unwrap() > 0, "it is closed");
        }
        let answer = String::from_utf8(std::mem::take(&mut answers)).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1);
        // It is there for as long as it may be idle.
        advance(Duration::from_millis(bounds.idle_ms - 1)).await;
    }
    advance(Duration::from_millis(bounds.idle_ms)).await;
    assert_eq!(read(&mut idle).await, "");
}
