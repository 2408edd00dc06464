//! Clients of the measured server: plain sockets and the parsing of their bytes.

use std::net::SocketAddr;

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::pace::now_ns;
use super::serving::TOKEN;

/// Bytes that are read at once.
const READ: usize = 64 * 1024;

/// A connection for calls, one after another.
pub(super) struct Caller {
    socket: TcpStream,
    host: SocketAddr,
}

impl Caller {
    pub(super) async fn new(host: SocketAddr) -> anyhow::Result<Self> {
        let socket = TcpStream::connect(host).await?;
        socket.set_nodelay(true)?;
        Ok(Self { socket, host })
    }

    /// Opens a session with a model of this name, and answers its id.
    pub(super) async fn open(&mut self, model: &str) -> anyhow::Result<String> {
        let body = format!("{{\"model\":\"{model}\"}}");
        let answer = self.call("POST", "/v1/sessions", Some(&body)).await?;
        let view: serde_json::Value = serde_json::from_str(&answer)?;
        let id = view["id"].as_str().context("a session without an id")?;
        Ok(id.to_owned())
    }

    /// Asks for a turn.
    pub(super) async fn turn(&mut self, session: &str) -> anyhow::Result<()> {
        let path = format!("/v1/sessions/{session}/turns");
        self.call("POST", &path, Some("{\"text\":\"go\"}")).await?;
        Ok(())
    }

    /// Returns true when nothing runs in the session.
    pub(super) async fn idle(&mut self, session: &str) -> anyhow::Result<bool> {
        let path = format!("/v1/sessions/{session}");
        let answer = self.call("GET", &path, None).await?;
        let view: serde_json::Value = serde_json::from_str(&answer)?;
        Ok(view["state"] == "idle" && view["last"].as_u64() > Some(2))
    }

    async fn call(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> anyhow::Result<String> {
        let mut request = head(method, path, self.host);
        if let Some(body) = body {
            request += &format!(
                "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
        } else {
            request += "\r\n";
        }
        self.socket.write_all(request.as_bytes()).await?;
        let mut read = Vec::new();
        loop {
            anyhow::ensure!(self.socket.read_buf(&mut read).await? > 0, "no answer");
            let text = String::from_utf8_lossy(&read);
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            let length = head.to_lowercase();
            let length = length.split("content-length: ").nth(1);
            let length = length.and_then(|rest| rest.lines().next());
            let length: usize = length.context("an answer without a length")?.parse()?;
            if body.len() >= length {
                let status = head.split(' ').nth(1).unwrap_or_default();
                anyhow::ensure!(status.starts_with('2'), "{method} {path}: {status} {body}");
                return Ok(body.to_owned());
            }
        }
    }
}

fn head(method: &str, path: &str, host: SocketAddr) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\n")
}

/// A client that follows a session.
pub(super) struct Reader {
    socket: TcpStream,
    /// Bytes received and not yet parsed.
    read: Vec<u8>,
}

/// Events that a client received, counted.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Latency of each delta from model to client, in microseconds.
    pub(super) micros: Vec<u32>,
    /// Turns that settled while the client read.
    pub(super) settled: u32,
    /// Set when the server reported that the client lags.
    pub(super) lagged: bool,
}

impl Reader {
    /// Subscribes to a session and reads until the server confirms it.
    ///
    /// # Errors
    /// When the server refuses.
    pub(super) async fn new(
        host: SocketAddr,
        session: &str,
        buffer: Option<u32>,
    ) -> anyhow::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        if let Some(buffer) = buffer {
            socket.set_recv_buffer_size(buffer)?;
        }
        let mut socket = socket.connect(host).await?;
        let path = format!("/v1/sessions/{session}/events?after=now");
        let request = head("GET", &path, host) + "\r\n";
        socket.write_all(request.as_bytes()).await?;
        let mut read = Vec::new();
        while !read.windows(6).any(|window| window == b"retry:") {
            let some = socket.read_buf(&mut read).await?;
            let text = String::from_utf8_lossy(&read);
            anyhow::ensure!(some > 0 && text.starts_with("HTTP/1.1 200"), "{text}");
        }
        read.clear();
        Ok(Self { socket, read })
    }

    /// Reads until this many turns have settled, or the stream ends.
    pub(super) async fn follow(&mut self, turns: u32) -> anyhow::Result<Seen> {
        let mut seen = Seen::default();
        while seen.settled < turns && !seen.lagged {
            self.read.reserve(READ);
            if self.socket.read_buf(&mut self.read).await? == 0 {
                break;
            }
            self.look(&mut seen);
        }
        Ok(seen)
    }

    /// Looks at all whole lines that have come.
    fn look(&mut self, seen: &mut Seen) {
        let now = now_ns();
        let Some(end) = self.read.iter().rposition(|byte| *byte == b'\n') else {
            return;
        };
        for line in self.read[..end].split(|byte| *byte == b'\n') {
            if let Some(sent) = sent(line) {
                let nanos = now.saturating_sub(sent);
                seen.micros.push(u32::try_from(nanos / 1_000).unwrap_or(u32::MAX));
            } else if line.starts_with(b"event: lagged") {
                seen.lagged = true;
            } else if line.starts_with(b"data:") && has(line, b"\"kind\":\"TurnSettled\"") {
                seen.settled += 1;
            }
        }
        self.read.drain(..=end);
    }
}

/// The moment that a live delta holds.
fn sent(line: &[u8]) -> Option<u128> {
    let line = std::str::from_utf8(line).ok()?;
    if !line.contains("\"kind\":\"TextDelta\"") {
        return None;
    }
    line.split('@').nth(1)?.parse().ok()
}

fn has(line: &[u8], part: &[u8]) -> bool {
    line.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_holds_its_moment() {
        let line = br#"data: {"seq":null,"kind":"TextDelta","body":{"text":"@12@xx"}}"#;
        assert_eq!(sent(line), Some(12));
        assert_eq!(sent(br#"data: {"seq":7,"kind":"ItemAdded","text":"@12@"}"#), None);
    }
}
