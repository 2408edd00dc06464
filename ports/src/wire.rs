//! The wire port: sends one HTTP request, receives the head of one response, then its body in
//! chunks.
//!
//! A provider adapter that uses HTTP calls it, so that requests and responses can be recorded, and
//! replayed without a network.

use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use bytes::Bytes;
use windlass_core::Retry;

use crate::error::{ErrorKind, PortError};
use crate::socket::WireOpenOutcome;

/// Sends HTTP requests, and opens sockets if it can.
///
/// Laws:
/// - *one request*: one request or handshake per call, without retries inside; no redirect is
///   followed, a 3xx is a response like any other;
/// - *unchanged*: a body is returned as received, never decompressed; chunks arrive in order, and
///   an end that is not the response's own is an error;
/// - *cancellable*: dropping the future or the body ends the request;
/// - *confidential*: no error contains the value of a sensitive header or the query of a URL.
#[async_trait]
pub trait Wire: Send + Sync + 'static {
    /// Sends the request and waits for the head of the response, with any status.
    ///
    /// # Errors
    /// [`WireError`] when the request cannot be sent, or no head arrives in time.
    async fn send(&self, request: WireRequest) -> Result<WireResponse, WireError>;

    /// Requests a WebSocket at a `http` or `https` URL, and waits for the head of the response.
    /// Adds the handshake's own headers to those of the request. Messages of more than `most_bytes`
    /// are rejected. The default implementation has no sockets.
    ///
    /// # Errors
    /// [`WireError`] as of [`send`](Self::send), and of the kind `Unsupported` when this wire has
    /// no sockets.
    async fn open(
        &self,
        request: WireRequest,
        most_bytes: usize,
    ) -> Result<WireOpenOutcome, WireError> {
        let _ = (request, most_bytes);
        Err(WireError::new(WireErrorKind::Unsupported, "this wire has no sockets"))
    }
}

/// Body of a response, received in chunks.
pub trait WireBody: Send {
    /// Returns the next chunk unchanged; `None` at the response's own end. Not called again after
    /// the end or an error.
    ///
    /// A poll function instead of a future, because a model's answer has a chunk for nearly every
    /// word: a chunk then needs no allocation. Nothing is lost if the caller stops polling.
    ///
    /// # Errors
    /// [`WireError`] when the body is truncated.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, WireError>>;
}

impl dyn WireBody {
    /// Waits for the next chunk. Cancel-safe.
    ///
    /// # Errors
    /// [`WireError`] when the body is truncated.
    pub fn chunk(&mut self) -> impl Future<Output = Result<Option<Bytes>, WireError>> + '_ {
        poll_fn(|cx| self.poll_chunk(cx))
    }
}

/// HTTP request to send.
#[derive(Clone)]
pub struct WireRequest {
    /// Method, in capitals.
    pub method: &'static str,
    /// Complete URL. Its query may contain a key.
    pub url: String,
    /// Headers, in addition to those that the transport adds.
    pub headers: WireHeaders,
    /// Body, if it has one.
    pub body: Option<Segments>,
    /// Longest time until the head of the response, in milliseconds, connecting included.
    pub head_ms: u64,
}

/// Bytes of a body, in shared pieces. Small pieces are joined as a body grows, so a body of n bytes
/// has about log n of them.
#[derive(Clone, Default)]
pub struct Segments {
    pieces: Vec<Bytes>,
    bytes: usize,
}

impl Segments {
    /// Appends a piece. Over many calls each byte is copied about log n times at most.
    pub fn push(&mut self, piece: Bytes) {
        if piece.is_empty() {
            return;
        }
        self.bytes = self.bytes.saturating_add(piece.len());
        let mut piece = piece;
        // A piece is at most half as long as the one before it.
        while let Some(before) = self.pieces.pop_if(|before| before.len() < piece.len() * 2) {
            let mut joined = Vec::with_capacity(before.len().saturating_add(piece.len()));
            joined.extend_from_slice(&before);
            joined.extend_from_slice(&piece);
            piece = joined.into();
        }
        self.pieces.push(piece);
    }

    /// Returns the number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Returns true if it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Returns the last byte.
    #[must_use]
    pub fn last(&self) -> Option<u8> {
        self.pieces.last()?.last().copied()
    }

    /// Returns the pieces in order. None is empty.
    pub fn iter(&self) -> impl Iterator<Item = &Bytes> {
        self.pieces.iter()
    }

    /// Returns all bytes in one piece; copies them if there are several.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        match self.pieces.as_slice() {
            [] => Bytes::new(),
            [one] => one.clone(),
            several => several.concat().into(),
        }
    }
}

impl From<Bytes> for Segments {
    fn from(bytes: Bytes) -> Self {
        let mut segments = Self::default();
        segments.push(bytes);
        segments
    }
}

impl From<Vec<u8>> for Segments {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl IntoIterator for Segments {
    type Item = Bytes;
    type IntoIter = std::vec::IntoIter<Bytes>;

    fn into_iter(self) -> Self::IntoIter {
        self.pieces.into_iter()
    }
}

impl fmt::Debug for Segments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segments")
            .field("pieces", &self.pieces.len())
            .field("bytes", &self.bytes)
            .finish()
    }
}

/// Head of a response, with its unread body.
pub struct WireResponse {
    /// Status code of the response.
    pub status: u16,
    /// Headers of the response.
    pub headers: WireHeaders,
    /// Unread body.
    pub body: Box<dyn WireBody>,
}

/// Headers in the order in which they are sent. Cheap to clone, because a client sends the same
/// ones each time.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct WireHeaders(Arc<Vec<WireHeader>>);

/// Header of a request or response.
#[derive(Clone, PartialEq, Eq)]
pub struct WireHeader {
    /// Name, in lower case.
    pub name: String,
    /// Value. Often text, but not necessarily UTF-8.
    pub value: Bytes,
    /// True if the value must never be shown or recorded.
    pub sensitive: bool,
}

impl WireHeaders {
    /// Appends a header. The name is converted to lower case.
    pub fn push(&mut self, name: &str, value: impl Into<Bytes>, sensitive: bool) {
        Arc::make_mut(&mut self.0).push(WireHeader {
            name: name.to_ascii_lowercase(),
            value: value.into(),
            sensitive,
        });
    }

    /// Returns the value of the first header of this name, which is given in lower case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        let header = self.0.iter().find(|header| header.name == name)?;
        Some(&header.value)
    }

    /// Returns the same value as text, if it is UTF-8.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.get(name)?).ok()
    }

    /// Returns all headers in order.
    pub fn iter(&self) -> impl Iterator<Item = &WireHeader> {
        self.0.iter()
    }
}

impl FromIterator<WireHeader> for WireHeaders {
    fn from_iter<I: IntoIterator<Item = WireHeader>>(headers: I) -> Self {
        Self(Arc::new(headers.into_iter().collect()))
    }
}

impl fmt::Debug for WireHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = match self.sensitive {
            true => "[redacted]".into(),
            false => String::from_utf8_lossy(&self.value),
        };
        f.debug_tuple(&self.name).field(&value).finish()
    }
}

impl fmt::Debug for WireHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl fmt::Debug for WireRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.split(['?', '#']).next().unwrap_or_default();
        f.debug_struct("WireRequest")
            .field("method", &self.method)
            .field("url", &url)
            .field("headers", &self.headers)
            .field("body_bytes", &self.body.as_ref().map(Segments::len))
            .field("head_ms", &self.head_ms)
            .finish()
    }
}

impl fmt::Debug for WireResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WireResponse")
            .field("status", &self.status)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

/// Failure to get a response, or all of one.
pub type WireError = PortError<WireErrorKind>;

/// Classes of wire errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireErrorKind {
    /// The request is invalid: its URL or a header cannot be sent.
    Invalid,
    /// No server was reached, or it closed the connection without a response.
    Unreachable,
    /// The client rejected the server's certificate or TLS version, or the server rejected the
    /// client's.
    Untrusted,
    /// Connecting took longer than the transport allows.
    ConnectTimeout,
    /// No head arrived within the request's `head_ms`.
    HeadTimeout,
    /// The body was truncated.
    Broken,
    /// The wire has no network and no recording of the request.
    Unrecorded,
    /// The wire does not support the request and never will: use another one.
    Unsupported,
    /// A message is larger than allowed.
    TooLarge,
}

impl ErrorKind for WireErrorKind {
    fn retry(&self) -> Retry {
        match self {
            Self::Unreachable | Self::ConnectTimeout | Self::HeadTimeout | Self::Broken => {
                Retry::Soon
            }
            Self::Invalid
            | Self::Untrusted
            | Self::Unrecorded
            | Self::Unsupported
            | Self::TooLarge => Retry::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_of_a_request_holds_no_secret() {
        let mut headers = WireHeaders::default();
        headers.push("Authorization", "Bearer sk-1", true);
        headers.push("accept", "text/event-stream", false);
        let request = WireRequest {
            method: "POST",
            url: "http://h/v1?key=sk-2".into(),
            headers,
            body: Some(Bytes::from("sk-3").into()),
            head_ms: 1,
        };
        let shown = format!("{request:?}");
        assert!(!shown.contains("sk-"), "{shown}");
        assert!(shown.contains("authorization") && shown.contains("http://h/v1"));
        assert_eq!(request.headers.text("accept"), Some("text/event-stream"));
    }

    #[test]
    fn what_has_no_recording_is_not_asked_again() {
        let error = WireError::new(WireErrorKind::Unrecorded, "");
        assert_eq!(error.retry, Retry::Never);
        assert_eq!(WireError::new(WireErrorKind::Broken, "").retry, Retry::Soon);
        let unsupported = WireError::new(WireErrorKind::Unsupported, "");
        assert_eq!(unsupported.retry, Retry::Never);
    }
}
