//! Holds sockets to the laws of the port, with a server on this machine.

#![expect(clippy::unwrap_used, reason = "a test may stop")]

use bytes::Bytes;
use windlass_http::http_wire;
use windlass_ports::{
    Segments, WireErrorKind, WireHeaders, WireOpenOutcome, WireRequest, WireSocket,
};
use windlass_testkit::http::{Cut, Dialect, Ended, ModelServer, Reply, Script};
use windlass_testkit::{Answer, Gate};

const MOST: usize = 1024 * 1024;

fn request(server: &ModelServer) -> WireRequest {
    let mut headers = WireHeaders::default();
    headers.push("authorization", "Bearer sk-1", true);
    WireRequest {
        method: "GET",
        url: format!("{}/responses?key=sk-2", server.base_url()),
        headers,
        body: None,
        head_ms: 30_000,
    }
}

async fn opened(server: &ModelServer, most_bytes: usize) -> WireOpenOutcome {
    let wire = http_wire(&server.base_url()).unwrap();
    wire.open(request(server), most_bytes).await.unwrap()
}

/// A socket over which an answer has been asked for.
async fn asked(server: &ModelServer) -> Box<dyn WireSocket> {
    let WireOpenOutcome::Socket(mut socket) = opened(server, MOST).await else {
        unreachable!("the handshake was refused")
    };
    let mut text = Segments::default();
    text.push(Bytes::from_static(br#"{"type":"response.create","#));
    text.push(Bytes::from_static(br#""model":"m","input":"hi"}"#));
    socket.send(text).await.unwrap();
    socket
}

fn serve(script: impl Into<Script>) -> ModelServer {
    ModelServer::start(script).unwrap()
}

#[tokio::test]
async fn messages_come_whole_and_in_order_however_they_were_cut() {
    let answer = Answer::new().text("Größe \u{1f9ca}").pieces_of(1).id("resp_7").model("m");
    let events = Dialect::Responses.events(&answer);
    for size in [1, 2, 3, 125, 100_000] {
        let server = serve(Reply::answer(answer.clone()).split_every(size));
        let mut socket = asked(&server).await;
        for event in &events {
            let (_, data) = event.trim_end().split_once("\ndata: ").unwrap();
            let text = socket.text().await.unwrap().unwrap();
            assert_eq!(text, data.as_bytes());
        }
        let [sent] = server.requests().try_into().unwrap();
        assert_eq!(sent.json.unwrap()["input"], "hi");
        assert_eq!(sent.headers.iter().filter(|(_, value)| value.contains("sk-1")).count(), 1);
    }
}

#[tokio::test]
async fn what_nobody_takes_waits_and_is_not_lost() {
    let text = "x".repeat(4_000_000);
    let answer = Answer::new().text(text).pieces_of(1_000).id("resp_7");
    let mut events = Dialect::Responses.events(&answer);
    // What closes the text repeats all of it.
    events.retain(|event| event.len() < MOST);
    let server = serve(Reply::stream(events.concat()));
    let mut socket = asked(&server).await;
    for _ in 0..10_000 {
        tokio::task::yield_now().await;
    }
    for _ in &events {
        assert!(socket.text().await.unwrap().is_some());
    }
    assert_eq!(server.ended(0).await, Ended::Whole);
}

#[tokio::test]
async fn a_refused_handshake_has_its_status_and_its_body() {
    let refusal = |_| Some(Reply::error(401, "invalid_api_key", "no").header("x-request-id", "r"));
    let server = serve(Script::respond(|_| Reply::say("a")).refusing(refusal));
    let WireOpenOutcome::Refused(mut response) = opened(&server, MOST).await else {
        unreachable!("the handshake was taken")
    };
    assert_eq!((response.status, response.headers.text("x-request-id")), (401, Some("r")));
    let mut body = Vec::new();
    while let Some(chunk) = response.body.chunk().await.unwrap() {
        body.extend_from_slice(&chunk);
    }
    assert!(String::from_utf8(body).unwrap().contains("invalid_api_key"));
    assert_eq!(server.handshakes().len(), 1);
}

#[tokio::test]
async fn a_message_beyond_the_bound_is_an_error_of_its_own() {
    let server = serve(Reply::filled("", b'x', 64 * MOST as u64));
    let error = asked(&server).await.text().await.unwrap_err();
    assert_eq!(error.kind, WireErrorKind::TooLarge);
    assert_eq!(server.ended(0).await, Ended::HungUp);
}

#[tokio::test]
async fn a_break_is_an_error_without_a_word_of_the_key() {
    for cut in [Cut::Fin, Cut::Rst] {
        let server = serve(Reply::say("Hello.").cut_after(50, cut));
        let mut socket = asked(&server).await;
        let error = socket.text().await.unwrap_err();
        assert_eq!(error.kind, WireErrorKind::Broken, "{cut:?}");
        assert!(!format!("{error} {error:?}").contains("sk-"), "{error:?}");
        let again = socket.send(Bytes::from_static(b"{}").into()).await.unwrap_err();
        assert_eq!(again.kind, WireErrorKind::Broken);
    }
}

#[tokio::test]
async fn dropping_a_socket_closes_its_connection() {
    let gate = Gate::new();
    let server = serve(Reply::say("Hello.").pause_after(50, &gate));
    let socket = asked(&server).await;
    gate.reached().await;
    drop(socket);
    assert_eq!(server.ended(0).await, Ended::HungUp);
}

#[tokio::test]
async fn what_is_no_server_of_websockets_is_refused_or_an_error() {
    // It switches protocols without the key of the handshake.
    let switching = Reply::raw(101, "").header("upgrade", "websocket");
    let switching = switching.header("connection", "Upgrade");
    let script = Script::respond(|_| Reply::say("a")).refusing(move |_| Some(switching.clone()));
    let server = serve(script);
    let wire = http_wire(&server.base_url()).unwrap();
    let error = wire.open(request(&server), MOST).await.map(drop).unwrap_err();
    assert_eq!(error.kind, WireErrorKind::Unreachable, "{error}");
    assert!(!format!("{error:?}").contains("sk-"), "{error:?}");
}
