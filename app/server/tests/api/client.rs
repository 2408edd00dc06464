//! A client with nothing between it and the socket: one request a connection.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The token of the first tenant's user.
pub(crate) const TOKEN: &str = "the token of ann";
/// The token of a user of another tenant.
pub(crate) const OTHER: &str = "the token of bob";
/// A token of the first tenant that may read, and nothing else.
pub(crate) const READER: &str = "the token of a reader";
/// A token of the first tenant that may run sessions, and answer no questions.
pub(crate) const RUNNER: &str = "the token of a runner";

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The value of a header that is there at most once.
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.head.iter().filter(|(known, _)| known == name);
        let first = found.next().map(|(_, value)| value.as_str());
        assert_eq!(found.next(), None, "{name} is there twice");
        first
    }

    /// The status and the code of a problem.
    #[track_caller]
    pub(crate) fn problem(&self) -> (u16, String) {
        let form = self.header("content-type");
        assert_eq!(form, Some("application/problem+json"), "{self:?}");
        let body = self.json();
        assert_eq!(body["status"], self.status, "{body}");
        let code = body["code"].as_str().unwrap_or_default();
        (self.status, code.to_owned())
    }

    /// The body of an answer with this status.
    #[track_caller]
    pub(crate) fn is(&self, status: u16) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        assert_eq!(self.status, status, "{text}");
        assert_eq!(self.header("content-type"), Some("application/json"));
        self.json()
    }
}

/// A request that is being made up.
pub(crate) struct Ask {
    address: SocketAddr,
    method: &'static str,
    path: String,
    token: Option<&'static str>,
    headers: Vec<String>,
    body: Option<String>,
}

impl Ask {
    pub(crate) fn new(address: SocketAddr, method: &'static str, path: &str) -> Self {
        Self {
            address,
            method,
            path: format!("/v1{path}"),
            token: Some(TOKEN),
            headers: Vec::new(),
            body: None,
        }
    }

    /// The same of a path that is not below `/v1`.
    #[cfg(feature = "mcp")]
    pub(crate) fn at_root(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    pub(crate) fn with(mut self, token: &'static str) -> Self {
        self.token = Some(token);
        self
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push(format!("{name}: {value}\r\n"));
        self
    }

    pub(crate) fn key(self, key: &str) -> Self {
        self.header("Idempotency-Key", key)
    }

    pub(crate) fn json(mut self, body: &Value) -> Self {
        self.body = Some(body.to_string());
        self.header("Content-Type", "application/json")
    }

    /// Sends it, and reads all of the answer.
    pub(crate) async fn send(self) -> Answer {
        let body = self.body.unwrap_or_default();
        let mut request = format!(
            "{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n",
            self.method,
            self.path,
            self.address,
            body.len()
        );
        if let Some(token) = self.token {
            request.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        request.extend(self.headers);
        request.push_str("\r\n");
        request.push_str(&body);
        let exchanged = async {
            let mut socket = TcpStream::connect(self.address).await.unwrap();
            socket.write_all(request.as_bytes()).await.unwrap();
            let mut raw = Vec::new();
            socket.read_to_end(&mut raw).await.unwrap();
            raw
        };
        let raw = soon(exchanged).await;
        read(&raw)
    }
}

/// What comes within a time that no test needs.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    let limit = Duration::from_secs(60);
    let came = tokio::time::timeout(limit, future).await;
    came.expect("nothing came within a minute")
}

fn read(raw: &[u8]) -> Answer {
    let end = find(raw, b"\r\n\r\n").expect("a head");
    let head = String::from_utf8(raw[..end].to_vec()).unwrap();
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let head: Vec<_> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let chunked = head.iter().any(|(name, _)| name == "transfer-encoding");
    let body = &raw[end + 4..];
    Answer {
        status: status.unwrap().parse().unwrap(),
        body: if chunked { joined(body) } else { body.to_vec() },
        head,
    }
}

fn joined(mut chunks: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(line) = find(chunks, b"\r\n") {
        let size = std::str::from_utf8(&chunks[..line]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        body.extend_from_slice(&chunks[line + 2..line + 2 + size]);
        chunks = &chunks[line + 2 + size + 2..];
    }
    body
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
