//! Bodies: too large, too slow, too deep, framed in two ways.

use tokio::io::AsyncWriteExt as _;
use windlass_server::{Quota, ServerLimits};

use crate::world::{Answer, JSON, OTHER, Running, TOKEN, read};

fn head(server: &Running, more: &str) -> String {
    format!(
        "POST /v1/sessions HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n{JSON}{more}\r\n",
        server.at
    )
}

#[tokio::test]
async fn json_has_one_reading_and_a_bounded_depth() {
    let server = Running::start().await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for body in [
        deep.as_str(),
        r#"{"mode":"build","mode":"plan"}"#,
        r#"{"mode":"build","m\u006fde":"plan"}"#,
        r#"{"what":1}"#,
        "[]",
        "{",
        "\u{0}",
        "{} {}",
    ] {
        let answer = server.ask("POST", "/v1/sessions", JSON, body).await;
        answer.is(400, "bad_request");
        assert!(answer.body.len() < 1_000, "{}", answer.body);
    }
    let answer = server.ask("POST", "/v1/sessions", JSON, "{}").await;
    assert_eq!(answer.status, 201);
}

#[tokio::test]
async fn a_body_over_the_limit_of_its_tenant_is_not_read() {
    let quota = Quota { request_bytes: 1_000, ..Quota::default() };
    let server = Running::with(ServerLimits::default(), quota).await;
    // Announced: it is refused before any of it comes.
    let answer = server.raw(&head(&server, "Content-Length: 1001\r\n")).await;
    Answer::of(&answer).is(413, "too_large");
    let answer = server.raw(&head(&server, "Content-Length: 99999999999\r\n")).await;
    Answer::of(&answer).is(413, "too_large");
    // In chunks: as soon as it is too much.
    let chunk = format!("3e9\r\n{}\r\n", " ".repeat(1_001));
    let chunked = head(&server, "Transfer-Encoding: chunked\r\n") + &chunk;
    Answer::of(&server.raw(&chunked).await).is(413, "too_large");
    let just = format!("{{}}{}", " ".repeat(998));
    assert_eq!(server.ask("POST", "/v1/sessions", JSON, &just).await.status, 201);
    // Another tenant has the server's own bound.
    let token = format!("Authorization: Bearer {OTHER}\r\n{JSON}");
    let more = format!("{{}}{}", " ".repeat(10_000));
    let answer = server.bare("POST", "/v1/sessions", &token, &more).await;
    assert_eq!(answer.status, 201);
}

#[tokio::test]
async fn a_body_of_the_documented_size_is_read_and_one_byte_more_is_not() {
    const MOST: usize = 8 * 1024 * 1024;
    let server = Running::start().await;
    assert_eq!(ServerLimits::default().body_bytes, MOST);
    let whole = format!("{{}}{}", " ".repeat(MOST - 2));
    assert_eq!(server.ask("POST", "/v1/sessions", JSON, &whole).await.status, 201);
    let more = format!("{whole} ");
    server.ask("POST", "/v1/sessions", JSON, &more).await.is(413, "too_large");
    let chunked = |body: &str| {
        let head = head(&server, "Transfer-Encoding: chunked\r\n");
        format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len())
    };
    assert_eq!(Answer::of(&server.raw(&chunked(&whole)).await).status, 201);
    Answer::of(&server.raw(&chunked(&more)).await).is(413, "too_large");
    // A tenant may have more than that.
    let quota = Quota { request_bytes: 12 * 1024 * 1024, ..Quota::default() };
    let server = Running::with(ServerLimits::default(), quota).await;
    assert_eq!(server.ask("POST", "/v1/sessions", JSON, &more).await.status, 201);
}

#[tokio::test]
async fn bodies_of_all_have_a_bound_together() {
    let bounds = ServerLimits { bodies_bytes: 4 * 1024, ..ServerLimits::default() };
    let server = Running::with(bounds, Quota::default()).await;
    let large = format!("{{}}{}", " ".repeat(5_000));
    let answer = server.ask("POST", "/v1/sessions", JSON, &large).await;
    answer.is(429, "too_many_requests");
    // What was refused holds no room, and what was answered holds none.
    let small = format!("{{}}{}", " ".repeat(3_000));
    for _ in 0..3 {
        let answer = server.ask("POST", "/v1/sessions", JSON, &small).await;
        assert_eq!(answer.status, 201, "{answer:?}");
    }
}

#[tokio::test]
async fn a_compressed_body_is_refused() {
    let server = Running::start().await;
    for coding in ["gzip", "br", "identity, gzip"] {
        let headers = format!("{JSON}Content-Encoding: {coding}\r\n");
        let answer = server.ask("POST", "/v1/sessions", &headers, "{}").await;
        answer.is(415, "unsupported_media");
    }
    let answer = server.ask("POST", "/v1/sessions", "", "{}").await;
    answer.is(415, "unsupported_media");
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let bounds = ServerLimits { body_ms: 200, ..ServerLimits::default() };
    let server = Running::with(bounds, Quota::default()).await;
    let mut slow = server.connect().await;
    let sent = head(&server, "Content-Length: 10\r\n") + "{";
    slow.write_all(sent.as_bytes()).await.unwrap();
    let answer = Answer::of(&read(&mut slow).await);
    answer.is(408, "slow_request");
    assert!(answer.head.contains("connection: close"), "{}", answer.head);
}

#[tokio::test]
async fn who_has_no_token_is_not_asked_for_a_body() {
    let server = Running::start().await;
    let mut socket = server.connect().await;
    let sent = format!(
        "POST /v1/sessions HTTP/1.1\r\nHost: {}\r\n{JSON}Content-Length: 100000000\r\n\
         Expect: 100-continue\r\n\r\n",
        server.at
    );
    socket.write_all(sent.as_bytes()).await.unwrap();
    let answer = read(&mut socket).await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    assert!(!answer.contains("100 Continue"), "{answer}");
}

#[tokio::test]
async fn a_body_framed_in_two_ways_smuggles_no_request() {
    let server = Running::start().await;
    let hidden = format!(
        "POST /v1/sessions HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n{JSON}\
         Content-Length: 2\r\n\r\n{{}}",
        server.at
    );
    // The chunks count, and nothing that follows them does.
    let two = head(&server, "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n");
    let answer = server.raw(&format!("{two}2\r\n{{}}\r\n0\r\n\r\n{hidden}")).await;
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert!(answer.to_lowercase().contains("connection: close"), "{answer}");
    let one = head(&server, "Transfer-Encoding: chunked\r\n");
    let answer = server.raw(&format!("{one}2\r\n{{}}\r\n0\r\n\r\n{hidden}")).await;
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    for framing in [
        "Content-Length: 2\r\nContent-Length: 3\r\n",
        "Content-Length: 2, 3\r\n",
        "Content-Length: +2\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 0x2\r\n",
        "Content-Length: 99999999999999999999999\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding: gzip\r\nContent-Length: 2\r\n",
    ] {
        let answer = server.raw(&format!("{}{{}}{hidden}", head(&server, framing))).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{framing}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{framing}: {answer}");
    }
    for chunks in [
        "x\r\n{}\r\n0\r\n\r\n",
        "-2\r\n{}\r\n0\r\n\r\n",
        "2 2\r\n{}\r\n0\r\n\r\n",
        "fffffffffffffffff\r\n{}\r\n0\r\n\r\n",
        "2\r\n{}0\r\n\r\n",
        "2\n{}\n0\n\n",
    ] {
        let chunked = head(&server, "Transfer-Encoding: chunked\r\n") + chunks;
        let answer = server.raw(&format!("{chunked}{hidden}")).await;
        let first = Answer::of(&answer);
        first.is(400, "bad_request");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{chunks:?}: {answer}");
    }
}
