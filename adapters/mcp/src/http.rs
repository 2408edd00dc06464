//! Streamable HTTP over the wire port: one request for each message, answered by JSON or by a stream
//! of events.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use ::http::{HeaderName, HeaderValue, StatusCode};
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;
use windlass_kit_http::{Secret, SseCaps, SseParser};
use windlass_ports::{Segments, Wire, WireBody, WireError, WireHeaders, WireRequest, WireResponse};

use crate::lines::MAX_MESSAGE;
use crate::oauth::Login;

/// Most bytes that are read of an error's text.
const MAX_ERROR: usize = 16 * 1024;
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

type Events = BoxStream<'static, Result<Sse, SseError>>;
type HttpError = StreamableHttpError<WireError>;

/// Client over a wire. Each request has the user's headers, and their token or that of their login.
#[derive(Clone)]
pub(crate) struct WireClient {
    wire: Arc<dyn Wire>,
    headers: WireHeaders,
    /// Longest time until the head of a response, in milliseconds.
    head_ms: u64,
    login: Option<Arc<Login>>,
}

impl WireClient {
    pub(crate) fn new(
        wire: Arc<dyn Wire>,
        own: &std::collections::BTreeMap<String, String>,
        token: Option<&Secret>,
        head_ms: u64,
        login: Option<Arc<Login>>,
    ) -> Self {
        let mut headers = WireHeaders::default();
        for (name, value) in own {
            headers.push(name, value.clone(), true);
        }
        if let Some(token) = token {
            headers.push("authorization", format!("Bearer {}", token.expose()), true);
        }
        Self { wire, headers, head_ms, login }
    }

    async fn send(
        &self,
        (method, url): (&'static str, &str),
        more: HashMap<HeaderName, HeaderValue>,
        fixed: &[(&str, Option<&str>)],
        body: Option<Segments>,
    ) -> Result<WireResponse, HttpError> {
        let mut headers = self.headers.clone();
        for (name, value) in fixed {
            if let Some(value) = value {
                headers.push(name, (*value).to_owned(), false);
            }
        }
        for (name, value) in more {
            headers.push(name.as_str(), value.as_bytes().to_vec(), value.is_sensitive());
        }
        let (url, head_ms) = (url.to_owned(), self.head_ms);
        let request = WireRequest { method, url, headers, body, head_ms };
        let Some(login) = &self.login else {
            return self.once(request, None).await;
        };
        let token = login.token().await;
        let mut response = self.once(request.clone(), token.as_ref()).await?;
        // A server that refuses a token has not begun: the request is sent again, with a renewed one.
        if response.status == 401
            && let Some(token) = token
            && let Some(renewed) = login.renewed(&token).await
        {
            response = self.once(request, Some(&renewed)).await?;
        }
        let challenge = response.headers.text("www-authenticate").unwrap_or_default().to_owned();
        match login.wants_more(response.status, &challenge).await {
            true => Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge))),
            false => Ok(response),
        }
    }

    async fn once(
        &self,
        mut request: WireRequest,
        token: Option<&Secret>,
    ) -> Result<WireResponse, HttpError> {
        if let Some(token) = token {
            request.headers.push("authorization", format!("Bearer {}", token.expose()), true);
        }
        self.wire.send(request).await.map_err(StreamableHttpError::Client)
    }
}

impl StreamableHttpClient for WireClient {
    type Error = WireError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let body = serde_json::to_vec(&message)?;
        let fixed = [
            ("accept", Some("application/json, text/event-stream")),
            ("content-type", Some(JSON)),
            ("mcp-session-id", session.as_deref()),
        ];
        let response = self.send(("POST", &uri), headers, &fixed, Some(body.into())).await?;
        answered(response, &message, session.is_some()).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        let fixed = [("mcp-session-id", Some(&*session))];
        let response = self.send(("DELETE", &uri), headers, &fixed, None).await?;
        match StatusCode::from_u16(response.status) {
            Ok(status) if status.is_success() || status == StatusCode::METHOD_NOT_ALLOWED => Ok(()),
            _ => Err(unexpected(response.status, "")),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, HttpError> {
        let fixed = [
            ("accept", Some(EVENTS)),
            ("mcp-session-id", session.as_deref()),
            ("last-event-id", last_event.as_deref()),
        ];
        let response = self.send(("GET", &uri), headers, &fixed, None).await?;
        if response.status == StatusCode::METHOD_NOT_ALLOWED.as_u16() {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        if let Some(error) = refused(&response) {
            return Err(error);
        }
        match response.status {
            200..=299 if is_kind(&response, EVENTS) => Ok(events(response.body)),
            200..=299 => Err(StreamableHttpError::UnexpectedContentType(kind(&response))),
            status => Err(unexpected(status, "")),
        }
    }
}

/// Reads the answer to a message.
async fn answered(
    response: WireResponse,
    message: &ClientJsonRpcMessage,
    in_session: bool,
) -> Result<StreamableHttpPostResponse, HttpError> {
    if let Some(error) = refused(&response) {
        return Err(error);
    }
    let status = StatusCode::from_u16(response.status).unwrap_or(StatusCode::BAD_GATEWAY);
    if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    if status == StatusCode::NOT_FOUND && in_session {
        return Err(StreamableHttpError::SessionExpired);
    }
    let awaits = matches!(message, JsonRpcMessage::Request(_));
    if !status.is_success() {
        return failed(response, status, message, in_session).await;
    }
    let session = response.headers.text("mcp-session-id").map(str::to_owned);
    if is_kind(&response, EVENTS) {
        return Ok(StreamableHttpPostResponse::Sse(events(response.body), session));
    }
    if !awaits {
        // Nothing in the answer to a notification matters.
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    if !is_kind(&response, JSON) {
        return Err(StreamableHttpError::UnexpectedContentType(kind(&response)));
    }
    let body = whole(response.body, MAX_MESSAGE).await?;
    Ok(StreamableHttpPostResponse::Json(serde_json::from_slice(&body)?, session))
}

/// Reads the answer of a status that is no success: an error of the protocol, or words.
async fn failed(
    response: WireResponse,
    status: StatusCode,
    message: &ClientJsonRpcMessage,
    in_session: bool,
) -> Result<StreamableHttpPostResponse, HttpError> {
    let denied = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let retry_after = response.headers.text("retry-after").map(str::to_owned);
    let body = match is_kind(&response, JSON) && !denied {
        true => whole(response.body, MAX_MESSAGE).await?,
        false => beginning(response.body, MAX_ERROR).await,
    };
    let said = serde_json::from_slice(&body).ok();
    let said = said.filter(|said| matches!(said, ServerJsonRpcMessage::Error(_)) && !denied);
    // A server of the older era refuses what it does not know before it reads the id.
    if let JsonRpcMessage::Request(request) = message
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
        && status.is_client_error()
        && !denied
        && !in_session
    {
        let error = match said {
            Some(ServerJsonRpcMessage::Error(error)) => error.error,
            _ => ErrorData::invalid_request(format!("HTTP {status}"), None),
        };
        let said = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(said, None));
    }
    match said {
        Some(said) => Ok(StreamableHttpPostResponse::Json(said, None)),
        None if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() => {
            Err(HttpStatusError::new(status.as_u16(), retry_after).into())
        }
        None => Err(unexpected(status.as_u16(), &String::from_utf8_lossy(&body))),
    }
}

/// Returns the error of a server that wants to know who asks.
fn refused(response: &WireResponse) -> Option<HttpError> {
    let challenge = response.headers.text("www-authenticate")?.to_owned();
    match response.status {
        401 => Some(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge))),
        403 => {
            let error = InsufficientScopeError::new(challenge, None);
            Some(StreamableHttpError::InsufficientScope(error))
        }
        _ => None,
    }
}

fn unexpected(status: u16, words: &str) -> HttpError {
    let words = words.get(..words.floor_char_boundary(400)).unwrap_or_default().trim();
    let words = if words.is_empty() { String::new() } else { format!(": {words}") };
    StreamableHttpError::UnexpectedServerResponse(Cow::Owned(format!("HTTP {status}{words}")))
}

fn kind(response: &WireResponse) -> Option<String> {
    response.headers.text("content-type").map(str::to_owned)
}

/// Returns true if the body is of this media type, whatever its parameters are.
fn is_kind(response: &WireResponse, wanted: &str) -> bool {
    let kind = response.headers.text("content-type").and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case(wanted))
}

/// Reads a whole body of at most `most` bytes.
pub(crate) async fn whole(mut body: Box<dyn WireBody>, most: usize) -> Result<Vec<u8>, HttpError> {
    let mut read = Vec::new();
    while let Some(chunk) = body.chunk().await.map_err(StreamableHttpError::Client)? {
        if chunk.len() > most.saturating_sub(read.len()) {
            return Err(StreamableHttpError::ResponseBodyTooLarge { max_size: most });
        }
        read.extend_from_slice(&chunk);
    }
    Ok(read)
}

/// Reads the beginning of a body, which only serves for words.
async fn beginning(mut body: Box<dyn WireBody>, most: usize) -> Vec<u8> {
    let mut read = Vec::new();
    while read.len() < most
        && let Ok(Some(chunk)) = body.chunk().await
    {
        read.extend_from_slice(&chunk);
    }
    read.truncate(most);
    read
}

/// A stream of events that is read.
struct EventReader {
    body: Box<dyn WireBody>,
    parser: SseParser,
    /// Bytes that were received and not parsed.
    waiting: Bytes,
    /// Id and pause that the last event carried.
    told: (Option<String>, Option<u64>),
    ended: bool,
}

fn events(body: Box<dyn WireBody>) -> Events {
    let bound =
        SseCaps { stream: u64::MAX, lines: u64::MAX, events: u64::MAX, ..SseCaps::of(MAX_MESSAGE) };
    let reader = EventReader {
        body,
        parser: SseParser::new(bound),
        waiting: Bytes::new(),
        told: (None, None),
        ended: false,
    };
    let next = |mut reader: EventReader| async move {
        if reader.ended {
            return None;
        }
        let next = reader.next().await;
        reader.ended |= matches!(next, Some(Err(_)) | None);
        next.map(|next| (next, reader))
    };
    stream::unfold(reader, next).boxed()
}

impl EventReader {
    async fn next(&mut self) -> Option<Result<Sse, SseError>> {
        loop {
            match self.parsed() {
                Ok(Some(event)) => return Some(Ok(event)),
                Ok(None) => {}
                Err(error) => return Some(Err(error)),
            }
            match self.body.chunk().await {
                Ok(Some(chunk)) => self.waiting = chunk,
                Ok(None) => {
                    self.ended = true;
                    return self.untold().map(Ok);
                }
                Err(error) => return Some(Err(SseError::Body(Box::new(error)))),
            }
        }
    }

    /// Parses what waits, up to the next event.
    fn parsed(&mut self) -> Result<Option<Sse>, SseError> {
        while !self.waiting.is_empty() {
            let parsed = self.parser.next(&self.waiting);
            let (used, event) = parsed.map_err(|error| SseError::Body(Box::new(error)))?;
            let event = event.map(|event| {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                (text(event.name), text(event.data))
            });
            drop(self.waiting.split_to(used));
            if let Some((name, data)) = event {
                self.told = self.tells();
                let (id, retry) = self.told.clone();
                let event = (!name.is_empty()).then_some(name);
                return Ok(Some(Sse { event, data: Some(data), id, retry }));
            }
            // An id without data is told at once: the stream may end here, to be resumed.
            if let Some(event) = self.untold() {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn tells(&self) -> (Option<String>, Option<u64>) {
        let id = self.parser.last_id();
        let id = (!id.is_empty()).then(|| String::from_utf8_lossy(id).into_owned());
        (id, self.parser.retry_ms())
    }

    /// Returns an id or a pause that no event has carried yet.
    fn untold(&mut self) -> Option<Sse> {
        let now = self.tells();
        if now == self.told {
            return None;
        }
        self.told = now.clone();
        Some(Sse { event: None, data: None, id: now.0, retry: now.1 })
    }
}
