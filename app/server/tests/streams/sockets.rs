//! WebSockets: the same events, one envelope a message; nothing that a client sends is taken.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::advance;
use windlass_engine::ports::StoreErrorKind;
use windlass_server::windlass_engine;
use windlass_testkit::faulty::{Fault, FaultyStore, Operation};
use windlass_testkit::provider::say;

use crate::client::{Answer, ask, follow};
use crate::falling::{flooded, flooding};
use crate::still::Still;
use crate::world::{TOKEN, World, hello, soon};

/// What asks for a WebSocket.
pub(crate) const UPGRADE: &[&str] = &[
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

/// Longer than any test takes.
const NEVER_MS: u64 = 86_400_000;

const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

pub(crate) struct Socket(Answer);

/// What a server sends: a text, or a control frame with its payload.
#[derive(Debug, PartialEq, Eq)]
enum Frame {
    Text(String),
    Close(u16),
    Ping,
    Pong,
}

impl Socket {
    pub(crate) async fn open(address: std::net::SocketAddr, session: &str, query: &str) -> Self {
        let path = format!("/v1/sessions/{session}/ws{query}");
        let answer = ask(address, "GET", &path, Some(TOKEN), UPGRADE).await;
        assert_eq!(answer.status, 101, "{}", answer.head);
        Self(answer)
    }

    /// The next text. `None` at the end of the connection.
    pub(crate) async fn text(&mut self) -> Option<String> {
        loop {
            match self.next().await? {
                Frame::Text(text) => return Some(text),
                Frame::Ping | Frame::Pong => {}
                Frame::Close(_) => return None,
            }
        }
    }

    /// The next frame. `None` at the end of the connection.
    async fn next(&mut self) -> Option<Frame> {
        let [first, length] = self.take(2).await?[..] else {
            return None;
        };
        assert_eq!(first & 0xf0, 0x80, "it is whole");
        let length = match length {
            126 => {
                let bytes = self.take(2).await?;
                usize::from(u16::from_be_bytes(bytes.try_into().unwrap()))
            }
            127 => {
                let bytes = self.take(8).await?;
                usize::try_from(u64::from_be_bytes(bytes.try_into().unwrap())).unwrap()
            }
            length => usize::from(length),
        };
        let payload = self.take(length).await?;
        Some(match first & 0x0f {
            TEXT => Frame::Text(String::from_utf8(payload).unwrap()),
            CLOSE => Frame::Close(u16::from_be_bytes([payload[0], payload[1]])),
            PING => Frame::Ping,
            PONG => Frame::Pong,
            other => panic!("a frame of kind {other}"),
        })
    }

    async fn take(&mut self, bytes: usize) -> Option<Vec<u8>> {
        while self.0.raw.len() < bytes {
            match soon(self.0.socket.read_buf(&mut self.0.raw)).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
        Some(self.0.raw.drain(..bytes).collect())
    }

    /// Sends a frame, masked with zeros as the form wants it to be masked.
    async fn send(&mut self, kind: u8, payload: &[u8]) {
        let mut frame = vec![0x80 | kind];
        match u16::try_from(payload.len()) {
            Ok(length) if length < 126 => frame.push(0x80 | payload.len() as u8),
            Ok(length) => {
                frame.push(0x80 | 126);
                frame.extend(length.to_be_bytes());
            }
            Err(_) => {
                frame.push(0x80 | 127);
                frame.extend((payload.len() as u64).to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend(payload);
        // A server that has closed already is what some tests are about.
        let _ = self.0.socket.write_all(&frame).await;
    }

    /// The envelopes up to and with the last fact of a turn.
    async fn up_to_settled(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            match self.next().await {
                Some(Frame::Text(text)) => {
                    let settled = text.contains("\"kind\":\"TurnSettled\"");
                    all.push(text);
                    if settled {
                        return all;
                    }
                }
                Some(Frame::Ping) => self.send(PONG, &[]).await,
                other => panic!("{other:?}"),
            }
        }
    }

    /// The code that it is closed with. Texts on the way are handed on.
    async fn closed(&mut self) -> (Vec<String>, u16) {
        let mut texts = Vec::new();
        loop {
            match self.next().await {
                Some(Frame::Text(text)) => texts.push(text),
                Some(Frame::Close(code)) => return (texts, code),
                Some(Frame::Ping | Frame::Pong) => {}
                None => panic!("it was cut without a word"),
            }
        }
    }
}

fn told(texts: &[String]) -> Value {
    serde_json::from_str(texts.last().unwrap()).unwrap()
}

#[tokio::test]
async fn a_socket_tells_what_the_stream_tells() {
    let world = World::new([say("there"), say("again")]);
    let server = world.serve().await;
    server.turn("s").await;
    let mut socket = Socket::open(server.address, "s", "?after=0").await;
    let mut stream = follow(server.address, "s", "").await;
    assert_eq!(socket.up_to_settled().await, world.exported("s"));
    stream.up_to_settled().await;
    server.turn("s").await;
    let streamed = stream.up_to_settled().await.into_iter().map(|seen| seen.data);
    assert_eq!(socket.up_to_settled().await, streamed.collect::<Vec<_>>());
}

#[tokio::test]
async fn what_a_client_sends_closes_its_socket() {
    // All of it between two heartbeats.
    let world = World::new([say("there")]).bounded(|bounds| bounds.heartbeat_ms = NEVER_MS);
    let server = world.serve().await;
    server.turn("s").await;
    let huge = vec![b'x'; 1 << 20];
    for (kind, payload) in [(TEXT, &b"hello"[..]), (2, b"\0"), (TEXT, &huge), (3, b"")] {
        let mut socket = Socket::open(server.address, "s", "?after=now").await;
        socket.send(kind, payload).await;
        assert_eq!(socket.closed().await.1, 1008, "{kind}");
    }
    let mut socket = Socket::open(server.address, "s", "?after=now").await;
    socket.send(PING, b"there").await;
    assert_eq!(socket.next().await, Some(Frame::Pong));
    for _ in 0..100 {
        socket.send(PING, b"").await;
    }
    assert_eq!(socket.closed().await.1, 1008, "more of them than anybody needs");
}

#[tokio::test]
async fn a_socket_is_pinged_and_cut_when_nobody_answers() {
    let world = World::new([say("there")]);
    // Timers go by whole milliseconds, and are never early.
    let beat = Duration::from_millis(world.bounds.heartbeat_ms + 1);
    let server = world.serve().await;
    server.turn("s").await;
    let _still = Still::new();
    let mut socket = Socket::open(server.address, "s", "?after=now").await;
    advance(beat).await;
    // Each answer is there when it is looked for, and not before.
    for _ in 0..20 {
        assert_eq!(socket.next().await, Some(Frame::Ping));
        socket.send(PONG, &[]).await;
        advance(beat).await;
    }
    assert_eq!(socket.next().await, Some(Frame::Ping));
    advance(beat).await;
    assert_eq!(socket.next().await, None);
}

#[tokio::test]
async fn a_socket_ends_with_a_word_and_a_code() {
    let world = World::new([say("there")]);
    let mut server = world.serve().await;
    server.turn("s").await;
    let mut socket = Socket::open(server.address, "s", "").await;
    assert_eq!(socket.up_to_settled().await, world.exported("s"));
    server.drain();
    let (texts, code) = socket.closed().await;
    assert_eq!(told(&texts), json!({ "control": "end", "reason": "draining" }));
    assert_eq!(code, 1001);
}

/// A world whose store takes the end of an answer only after it has failed for a moment.
pub(crate) fn failing_for_a_moment() -> World {
    let mut world = World::new([say("there"), say("there")]);
    world.store = FaultyStore::responding(|operation, number| match operation {
        Operation::Append if number == 3 => vec![Fault::Fail(StoreErrorKind::Full)],
        Operation::Probe if number < 3 => vec![Fault::Fail(StoreErrorKind::Io)],
        Operation::Append
        | Operation::Claim
        | Operation::Read
        | Operation::Release
        | Operation::Probe => Vec::new(),
    });
    world
}

#[tokio::test]
async fn a_store_that_fails_for_a_moment_is_told_and_the_turn_settles() {
    let world = failing_for_a_moment();
    let server = world.serve().await;
    let conversation = server.open("s").await;
    conversation.flush().await.unwrap();
    let mut socket = Socket::open(server.address, "s", "?live=false").await;
    conversation.send(hello()).await.unwrap();
    let mut states = Vec::new();
    loop {
        let Some(Frame::Text(text)) = soon(socket.next()).await else { continue };
        let message: Value = serde_json::from_str(&text).unwrap();
        if message["control"] == "store" {
            states.push(message.clone());
        }
        if message["kind"] == "TurnSettled" {
            break;
        }
    }
    let failed = |reason: &str| json!({"control": "store", "status": "failed", "reason": reason});
    let works = json!({"control": "store", "status": "works"});
    assert_eq!(states.first(), Some(&failed("full")), "{states:?}");
    assert!(states.contains(&failed("io")), "{states:?}");
    let told = |state: &Value| *state == works || state["status"] == "failed";
    assert!(states.iter().all(told), "{states:?}");
}

#[tokio::test]
async fn a_socket_that_falls_behind_is_told() {
    let world = flooding();
    let server = world.serve().await;
    server.open("s").await.flush().await.unwrap();
    let mut socket = Socket::open(server.address, "s", "").await;
    flooded(&server).await;
    let (texts, code) = socket.closed().await;
    let word = told(&texts);
    assert_eq!((code, &word["control"]), (1013, &json!("lagged")));
    assert!(word["missed"].as_u64().unwrap() > 0);
    let seq = |text: &String| serde_json::from_str::<Value>(text).unwrap()["seq"].as_u64();
    assert_eq!(word["after"].as_u64(), texts.iter().filter_map(seq).max());
}

#[tokio::test]
async fn a_socket_that_is_not_read_is_cut() {
    // Not because a ping goes without an answer.
    let mut world = flooding().bounded(|bounds| {
        bounds.stall_ms = 100;
        bounds.heartbeat_ms = NEVER_MS;
    });
    world.quota.streams = 1;
    let server = world.serve().await;
    server.open("s").await.flush().await.unwrap();
    let socket = Socket::open(server.address, "s", "").await;
    let path = "/v1/sessions/s/events";
    let second = ask(server.address, "GET", path, Some(TOKEN), &[]).await;
    assert_eq!(second.status, 429, "there is room for one");
    flooded(&server).await;
    let room = async {
        while ask(server.address, "GET", path, Some(TOKEN), &[]).await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    soon(room).await;
    drop(socket);
}

#[tokio::test]
async fn what_asks_for_no_socket_gets_none() {
    let world = World::new([say("there")]);
    let server = world.serve().await;
    server.turn("s").await;
    let path = "/v1/sessions/s/ws";
    let plain = ask(server.address, "GET", path, Some(TOKEN), &[]).await;
    assert_eq!(plain.problem().await, (400, "bad_request".to_owned()));
}
