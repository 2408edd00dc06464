//! A model that streams at a fixed pace: each delta holds its time of sending.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep_until};

use xtask::say::say;

/// Pace named by a model: number of deltas, deltas a second, bytes of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace {
    pub(super) deltas: u32,
    pub(super) a_second: u32,
    pub(super) bytes: usize,
}

impl Pace {
    /// The name of a model of this pace.
    pub(super) fn name(self) -> String {
        format!("pace-{}-{}-{}", self.deltas, self.a_second, self.bytes)
    }

    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix("pace-")?.split('-');
        Some(Self {
            deltas: parts.next()?.parse().ok()?,
            a_second: parts.next()?.parse().ok()?,
            bytes: parts.next()?.parse().ok()?,
        })
    }
}

/// Nanoseconds since the epoch, the same clock in every process.
pub(super) fn now_ns() -> u128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_nanos()
}

/// Serves until standard input ends. The address is the first line of standard output.
///
/// # Errors
/// When no loopback port can be had.
pub(crate) fn run() -> anyhow::Result<()> {
    super::ends_with_input();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        say(listener.local_addr()?);
        loop {
            let (socket, _) = listener.accept().await?;
            // A server that goes away in the middle is its own loss.
            tokio::spawn(async move { answer(socket).await.ok() });
        }
    })
}

async fn answer(mut socket: TcpStream) -> anyhow::Result<()> {
    socket.set_nodelay(true)?;
    let pace = asked(&mut socket).await?;
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    socket.write_all(head.as_bytes()).await?;
    let every = Duration::from_secs(1) / pace.a_second.max(1);
    let filling = "x".repeat(pace.bytes);
    let mut at = Instant::now();
    for _ in 0..pace.deltas {
        sleep_until(at).await;
        at += every;
        let text = format!("@{}@{filling}", now_ns());
        socket.write_all(chunk(&text, "null").as_bytes()).await?;
    }
    let end = chunk("", "\"stop\"") + "data: [DONE]\n\n";
    socket.write_all(end.as_bytes()).await?;
    socket.shutdown().await?;
    Ok(())
}

fn chunk(text: &str, reason: &str) -> String {
    format!(
        "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\
         \"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\
         \"finish_reason\":{reason}}}]}}\n\n"
    )
}

/// Reads a request and the pace that its model names.
async fn asked(socket: &mut TcpStream) -> anyhow::Result<Pace> {
    let mut read = Vec::new();
    loop {
        anyhow::ensure!(socket.read_buf(&mut read).await? > 0, "no request");
        let text = String::from_utf8_lossy(&read);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let head = head.to_lowercase();
        let length = head.split("content-length: ").nth(1);
        let length = length.and_then(|rest| rest.lines().next());
        let length: usize = length.context("a request without a length")?.parse()?;
        if body.len() >= length {
            let name = body.split("\"model\":\"").nth(1);
            let name = name.and_then(|rest| rest.split('"').next());
            return name.and_then(Pace::parse).context("no pace is named");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_a_pace() {
        let pace = Pace { deltas: 500, a_second: 50, bytes: 0 };
        assert_eq!(Pace::parse(&pace.name()), Some(pace));
        assert_eq!(Pace::parse("pace-1-2"), None);
    }

    #[test]
    fn a_chunk_is_json() {
        let text = chunk("@1@x", "null");
        let json = text.strip_prefix("data: ").unwrap();
        let json: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(json["choices"][0]["delta"]["content"], "@1@x");
    }
}
