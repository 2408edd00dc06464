//! Requests as clients make them: one a connection, each with a bound on how long it waits.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// How long a client waits for a connection.
const CONNECT: Duration = Duration::from_secs(1);
/// How long a client waits for an answer before it asks another node.
pub(crate) const ANSWER: Duration = Duration::from_secs(8);

/// The token of all clients.
pub(crate) const TOKEN: &str = "drill";

/// An answer, whole.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// A body that comes piece by piece; its connection ends when this is dropped.
pub(crate) struct Stream {
    body: Incoming,
    connection: AbortHandle,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl Stream {
    /// The next piece; `None` at the end, or where the connection was lost, or nothing came for this
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

/// Sends a request, and waits for the beginning of the answer.
pub(crate) async fn begin(
    at: SocketAddr,
    what: (&str, &str),
    headers: &[(&str, &str)],
    body: &str,
    patience: Duration,
) -> Result<(u16, Stream), String> {
    let (method, path) = what;
    let lost = |error: hyper::Error| format!("{method} {path}: {error}");
    let slow = |_| format!("{method} {path}: no answer within {patience:?}");
    let connecting = timeout(CONNECT, TcpStream::connect(at)).await;
    let stream = connecting.map_err(slow)?.map_err(|e| e.to_string())?;
    let shaken = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut send, connection) = shaken.map_err(lost)?;
    let connection = tokio::spawn(connection).abort_handle();
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("Host", at.to_string())
        .header("Authorization", format!("Bearer {TOKEN}"))
        .header("Content-Type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::from(body.to_owned()))).unwrap();
    let answer = timeout(patience, send.send_request(request)).await;
    match answer {
        Ok(Ok(answer)) => {
            let (head, body) = answer.into_parts();
            Ok((head.status.as_u16(), Stream { body, connection }))
        }
        Ok(Err(error)) => {
            connection.abort();
            Err(lost(error))
        }
        Err(late) => {
            connection.abort();
            Err(slow(late))
        }
    }
}

/// Sends a request, and reads the whole answer.
pub(crate) async fn ask(
    at: SocketAddr,
    what: (&str, &str),
    headers: &[(&str, &str)],
    body: &str,
) -> Result<Answer, String> {
    let whole = async {
        let (status, stream) = begin(at, what, headers, body, ANSWER).await?;
        let mut stream = stream;
        let body = (&mut stream.body).collect().await;
        let body = body.map_err(|error| format!("{what:?}: {error}"))?.to_bytes();
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        Ok(Answer { status, body })
    };
    let late = |_| format!("{what:?}: no whole answer within {ANSWER:?}");
    timeout(ANSWER, whole).await.map_err(late)?
}
