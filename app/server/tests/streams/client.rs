//! A client of streams with nothing between it and the socket: what it sees is what was sent.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::world::{TOKEN, soon};

/// An answer, of which the head has come.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) socket: TcpStream,
    /// What has come and was not looked at, as it was sent.
    pub(crate) raw: Vec<u8>,
    /// The body so far, without what has been taken.
    body: Vec<u8>,
    /// Nothing more of the body comes.
    over: bool,
}

/// One event as a browser would see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) id: Option<u64>,
    pub(crate) event: String,
    pub(crate) data: String,
}

impl Seen {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap()
    }
}

/// Asks with a token and further headers, each a whole line.
pub(crate) async fn ask(
    address: SocketAddr,
    method: &str,
    path: &str,
    token: Option<&str>,
    headers: &[&str],
) -> Answer {
    let socket = TcpSocket::new_v4().unwrap();
    // Little is on its way to a client that does not read.
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    let socket = socket.connect(address).await.unwrap();
    asked(socket, address, method, path, token, headers).await
}

async fn asked(
    mut socket: TcpStream,
    address: SocketAddr,
    method: &str,
    path: &str,
    token: Option<&str>,
    headers: &[&str],
) -> Answer {
    let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\n");
    if let Some(token) = token {
        request.push_str(&format!("Authorization: Bearer {token}\r\n"));
    }
    for header in headers {
        request.push_str(header);
        request.push_str("\r\n");
    }
    if method == "POST" {
        request.push_str("Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}");
    } else {
        request.push_str("\r\n");
    }
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut raw = Vec::new();
    let end = loop {
        if let Some(end) = find(&raw, b"\r\n\r\n") {
            break end + 4;
        }
        assert!(soon(socket.read_buf(&mut raw)).await.unwrap() > 0, "no head");
    };
    let head = String::from_utf8(raw.drain(..end).collect()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_lowercase(), socket, raw, body: Vec::new(), over: false }
}

/// Asks for a session's events, with the usual token.
pub(crate) async fn follow(address: SocketAddr, session: &str, query: &str) -> Answer {
    let path = format!("/v1/sessions/{session}/events{query}");
    let answer = ask(address, "GET", &path, Some(TOKEN), &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.head);
    answer
}

impl Answer {
    /// Reads more of the body. Answers whether more may come.
    async fn more(&mut self) -> bool {
        while !self.chunk() {
            if self.over {
                return false;
            }
            match soon(self.socket.read_buf(&mut self.raw)).await {
                Ok(0) | Err(_) => return false,
                Ok(_) => {}
            }
        }
        true
    }

    /// Takes one chunk out of what has come, if it is whole.
    fn chunk(&mut self) -> bool {
        let Some(line) = find(&self.raw, b"\r\n") else {
            return false;
        };
        let size = std::str::from_utf8(&self.raw[..line]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        let end = line + 2 + size + 2;
        if self.raw.len() < end {
            return false;
        }
        self.over = size == 0;
        self.body.extend_from_slice(&self.raw[line + 2..end - 2]);
        self.raw.drain(..end);
        !self.over
    }

    /// The next block of the stream, as it was sent. `None` at its end.
    pub(crate) async fn block(&mut self) -> Option<String> {
        loop {
            if let Some(end) = find(&self.body, b"\n\n") {
                let block = self.body.drain(..end + 2).collect();
                return Some(String::from_utf8(block).unwrap());
            }
            if !self.more().await {
                return None;
            }
        }
    }

    /// The next event, by the rules of the format. `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Seen> {
        loop {
            let block = self.block().await?;
            let mut seen = Seen::default();
            for line in block.lines() {
                match line.split_once(": ") {
                    Some(("id", id)) => seen.id = Some(id.parse().unwrap()),
                    Some(("event", event)) => seen.event = event.to_owned(),
                    Some(("data", data)) => seen.data.push_str(data),
                    _ => {}
                }
            }
            if !seen.event.is_empty() {
                return Some(seen);
            }
        }
    }

    /// The next AG-UI event, with its position. `None` at the end of the stream.
    pub(crate) async fn agui(&mut self) -> Option<(Option<u64>, Value)> {
        loop {
            let block = self.block().await?;
            let mut id = None;
            for line in block.lines() {
                match line.split_once(": ") {
                    Some(("id", at)) => id = Some(at.parse().unwrap()),
                    Some(("data", data)) => return Some((id, serde_json::from_str(data).unwrap())),
                    _ => {}
                }
            }
        }
    }

    /// What is told up to and with the end of a run.
    pub(crate) async fn run(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        loop {
            let (_, event) = self.agui().await.expect("the stream ended before the run");
            let over = ["RUN_FINISHED", "RUN_ERROR"].map(|kind| event["type"] == kind);
            all.push(event);
            if over.contains(&true) {
                return all;
            }
        }
    }

    /// What is told up to and with the last fact of a turn.
    pub(crate) async fn up_to_settled(&mut self) -> Vec<Seen> {
        let mut all = Vec::new();
        loop {
            let seen = self.next().await.expect("the stream ended before the turn");
            let settled = seen.event == "fact" && seen.json()["kind"] == "TurnSettled";
            all.push(seen);
            if settled {
                return all;
            }
        }
    }

    /// The whole of a body that ends.
    pub(crate) async fn text(mut self) -> String {
        let length = self.head.split("content-length: ").nth(1);
        if let Some(length) = length.and_then(|rest| rest.split("\r\n").next()) {
            let length: usize = length.parse().unwrap();
            while self.raw.len() < length {
                assert!(soon(self.socket.read_buf(&mut self.raw)).await.unwrap() > 0);
            }
            return String::from_utf8(self.raw).unwrap();
        }
        while self.more().await {}
        String::from_utf8(self.body).unwrap()
    }

    /// The status, and the code of the problem that it is.
    pub(crate) async fn problem(self) -> (u16, String) {
        let form = "content-type: application/problem+json";
        assert!(self.head.contains(form), "{}", self.head);
        let status = self.status;
        let body: Value = serde_json::from_str(&self.text().await).unwrap();
        assert_eq!(body["status"], status);
        (status, body["code"].as_str().unwrap().to_owned())
    }
}

/// The data of the facts among what was seen, which are numbered one after another.
pub(crate) fn facts(seen: &[Seen]) -> Vec<String> {
    let facts = seen.iter().filter(|seen| seen.event == "fact");
    let told = |seen: &Seen| {
        assert_eq!(seen.json()["seq"], seen.id.unwrap());
        seen.data.clone()
    };
    facts.map(told).collect()
}

/// The text that deltas among what was seen come to.
pub(crate) fn text(seen: &[Seen]) -> String {
    let live = seen.iter().filter(|seen| seen.event == "live");
    let delta = |seen: &Seen| {
        let live = seen.json();
        assert_eq!((seen.id, live["seq"].is_null()), (None, true));
        let text = (live["kind"] == "TextDelta").then(|| live["body"]["text"].clone());
        text.map(|text| text.as_str().unwrap().to_owned())
    };
    live.filter_map(delta).collect()
}

fn find(all: &[u8], part: &[u8]) -> Option<usize> {
    memchr::memmem::find(all, part)
}
