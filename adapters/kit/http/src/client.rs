//! Client of one endpoint: sends a request over the wire, receives the head of the response, and
//! returns a response that is no success as an error.

use std::sync::Arc;
use std::time::Duration;

use url::Url;
use windlass_core::{FailureKind, Retry};
use windlass_ports::{
    ProviderError, Segments, Wire, WireBody, WireErrorKind, WireHeaders, WireOpenOutcome,
    WireRequest, WireSocket,
};

use crate::address::{base, is_loopback};
use crate::error::{ERROR_BODY_BYTES, ErrorContext};
use crate::headers::Headers;
use crate::secret::Secret;

/// Longest time for reading the body of an error response.
const REFUSAL: Duration = Duration::from_secs(10);

/// Sends requests to one endpoint.
pub struct Client {
    wire: Arc<dyn Wire>,
    base: Url,
    /// Headers of a request without a body.
    bare: WireHeaders,
    /// Headers of a request for a stream.
    streaming: WireHeaders,
    secrets: Vec<Secret>,
    keyed: bool,
}

/// Body of a successful response, with the context for its errors.
pub type OpenResponse = (Box<dyn WireBody>, ErrorContext);

impl Client {
    /// Creates a client of the endpoint at `base_url`. `keyed` is true if the headers include a
    /// key.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `InvalidRequest` when the base URL is unusable.
    pub fn new(
        base_url: &str,
        headers: &Headers,
        keyed: bool,
        wire: Arc<dyn Wire>,
    ) -> Result<Self, ProviderError> {
        let base = base(base_url)?;
        let bare = headers.sent();
        let mut streaming = bare.clone();
        streaming.push("content-type", "application/json", false);
        streaming.push("accept", "text/event-stream", false);
        let secrets = headers.secrets().to_vec();
        if base.scheme() == "http" && keyed && !is_loopback(&base) {
            tracing::warn!(host = base.host_str(), "the API key is sent without encryption");
        }
        Ok(Self { wire, base, bare, streaming, secrets, keyed })
    }

    /// Returns the endpoint as it is shown to people and recorded with items: without a query,
    /// which may hold a key.
    #[must_use]
    pub fn endpoint(&self) -> String {
        let mut shown = self.base.clone();
        shown.set_query(None);
        shown.as_str().trim_end_matches('/').to_owned()
    }

    /// Returns the URL of a call, with the context for its errors.
    #[must_use]
    pub fn call(&self, path: &[&str]) -> (Url, ErrorContext) {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        let mut shown = url.clone();
        shown.set_query(None);
        (url, ErrorContext::new(shown, self.secrets.clone(), self.keyed))
    }

    /// Sends a request, with a body if it requests a stream, and waits at most `wait` for the head
    /// of the response. A response that is not a success is an error.
    ///
    /// # Errors
    /// [`ProviderError`] when the request cannot be sent, no head arrives in time, or the response
    /// is an error.
    pub async fn send(
        &self,
        method: &'static str,
        url: &Url,
        origin: &ErrorContext,
        body: Option<Segments>,
        wait: Duration,
    ) -> Result<OpenResponse, ProviderError> {
        let headers = match body {
            Some(_) => &self.streaming,
            None => &self.bare,
        };
        let request = WireRequest {
            method,
            url: url.as_str().to_owned(),
            headers: headers.clone(),
            body,
            head_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        };
        let response = match self.wire.send(request).await {
            Ok(response) => response,
            Err(error) if error.kind == WireErrorKind::HeadTimeout => {
                let context = origin.slow(wait);
                return Err(origin.error(FailureKind::Timeout, Retry::Soon, context));
            }
            Err(error) => return Err(origin.unreachable(error)),
        };
        let (status, headers) = (response.status, response.headers);
        let origin = origin.answered(status, &headers);
        if !(200..300).contains(&status) {
            let body = refusal(response.body).await;
            return Err(origin.refused(&headers, &body));
        }
        if let Some(coding) = headers.get("content-encoding")
            && coding != b"identity"
        {
            let context = origin.unexpected_compression();
            return Err(origin.error(FailureKind::Protocol, Retry::Never, context));
        }
        Ok((response.body, origin))
    }

    /// Opens a WebSocket, and waits at most `wait` for the response. The socket rejects messages of
    /// more than `most_bytes`.
    ///
    /// # Errors
    /// [`ProviderError`] when it cannot be opened, classified as by [`send`](Self::send); of kind
    /// `Unsupported` when the wire has no sockets.
    pub async fn open(
        &self,
        url: &Url,
        origin: &ErrorContext,
        wait: Duration,
        most_bytes: usize,
    ) -> Result<Box<dyn WireSocket>, ProviderError> {
        let request = WireRequest {
            method: "GET",
            url: url.as_str().to_owned(),
            headers: self.bare.clone(),
            body: None,
            head_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        };
        let response = match self.wire.open(request, most_bytes).await {
            Ok(WireOpenOutcome::Socket(socket)) => return Ok(socket),
            Ok(WireOpenOutcome::Refused(response)) => response,
            Err(error) if error.kind == WireErrorKind::HeadTimeout => {
                let context = origin.slow(wait);
                return Err(origin.error(FailureKind::Timeout, Retry::Soon, context));
            }
            Err(error) => return Err(origin.unreachable(error)),
        };
        let (status, headers) = (response.status, response.headers);
        let body = refusal(response.body).await;
        Err(origin.answered(status, &headers).refused(&headers, &body))
    }
}

/// Reads the first bytes of an error response, as far as they arrive in time.
async fn refusal(mut sent: Box<dyn WireBody>) -> Vec<u8> {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(bytes)) = sent.chunk().await {
            let room = ERROR_BODY_BYTES.saturating_sub(body.len());
            body.extend_from_slice(bytes.get(..room).unwrap_or(&bytes));
            if body.len() >= ERROR_BODY_BYTES {
                break;
            }
        }
    };
    // A partial body suffices, since the status decides.
    let _ = tokio::time::timeout(REFUSAL, read).await;
    body
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
