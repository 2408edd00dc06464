//! Requests as clients make them: one a connection, each with a bound on how long it waits.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// Longest time of a whole request. The server answers `waits` before that.
pub(crate) const ANSWER: Duration = Duration::from_secs(40);
/// Longest time for a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// Token of all clients.
pub(crate) const TOKEN: &str = "soak";

/// A request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ask {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    /// Idempotency key.
    pub(crate) key: Option<String>,
    /// Position after which events begin.
    pub(crate) after: Option<u64>,
    pub(crate) body: String,
    /// True to send no token.
    pub(crate) anonymous: bool,
}

/// An answer, whole.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// What `Retry-After` says, in seconds.
    pub(crate) retry_after: Option<u64>,
    pub(crate) body: Value,
}

/// A body that comes piece by piece. Its connection ends when this is dropped.
pub(crate) struct Stream {
    body: Incoming,
    connection: AbortHandle,
}

impl Ask {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self { method: "GET", path: path.into(), ..Self::default() }
    }

    pub(crate) fn post(path: impl Into<String>, body: &Value) -> Self {
        let body = body.to_string();
        Self { method: "POST", path: path.into(), body, ..Self::default() }
    }

    pub(crate) fn key(self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    /// Sends the request and reads the whole answer.
    ///
    /// # Errors
    /// When no whole answer comes in time.
    pub(crate) async fn send(&self, at: SocketAddr) -> anyhow::Result<Answer> {
        let whole = async {
            let (status, retry_after, mut stream) = self.begin(at).await?;
            let body = (&mut stream.body).collect().await?.to_bytes();
            let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
            anyhow::Ok(Answer { status, retry_after, body })
        };
        timeout(ANSWER, whole).await.context("no whole answer in time")?
    }

    /// Sends the request and waits for the beginning of the answer.
    ///
    /// # Errors
    /// When there is no answer in time.
    pub(crate) async fn begin(&self, at: SocketAddr) -> anyhow::Result<(u16, Option<u64>, Stream)> {
        let socket = timeout(CONNECT, TcpStream::connect(at)).await.context("no connection")??;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(socket)).await?;
        let connection = tokio::spawn(connection).abort_handle();
        let mut request = Request::builder()
            .method(self.method)
            .uri(self.path.as_str())
            .header("Host", at.to_string())
            .header("Content-Type", "application/json");
        if !self.anonymous {
            request = request.header("Authorization", format!("Bearer {TOKEN}"));
        }
        if let Some(key) = &self.key {
            request = request.header("Idempotency-Key", key.as_str());
        }
        if let Some(after) = self.after {
            request = request.header("Last-Event-ID", after.to_string());
        }
        let request = request.body(Full::new(Bytes::from(self.body.clone())))?;
        let answer = timeout(ANSWER, sender.send_request(request)).await;
        let answer = answer.context("no answer in time").and_then(|answer| Ok(answer?));
        let (head, body) = match answer {
            Ok(answer) => answer.into_parts(),
            Err(error) => {
                connection.abort();
                return Err(error);
            }
        };
        let retry_after = head.headers.get("retry-after");
        let retry_after = retry_after.and_then(|text| text.to_str().ok()?.parse().ok());
        Ok((head.status.as_u16(), retry_after, Stream { body, connection }))
    }
}

impl Stream {
    /// The next piece. `None` at the end, when the connection is lost, or when nothing comes for this
    /// long.
    pub(crate) async fn next(&mut self, patience: Duration) -> Option<Bytes> {
        loop {
            let frame = timeout(patience, self.body.frame()).await.ok()??.ok()?;
            if let Ok(bytes) = frame.into_data() {
                return Some(bytes);
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.connection.abort();
    }
}
