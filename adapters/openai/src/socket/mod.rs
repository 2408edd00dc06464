//! Responses over a WebSocket: which way a request goes, and one request over one connection.
//!
//! A request that was sent is never sent again here, by whichever way. Its error says that another
//! attempt may come, and that one goes a safer way: the whole conversation over a new connection,
//! and then over HTTP.

mod answer;
mod pool;
mod server_context;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use url::Url;
use windlass_core::{FailureKind, RequestRecord, RequestRoute, Retry};
use windlass_kit_http::{Bodies, Client, ErrorContext, RequestBody, SseCaps};
use windlass_ports::{
    ProviderError, SampleRequest, SampleStream, Segments, WireError, WireErrorKind,
};

use self::answer::{SentRequest, SocketAnswer};
use self::pool::{ConnectionPool, IdleConnection};
use self::server_context::{ResendReason, ServerContext};
use crate::config::Api;
use crate::decode::OpenAiDecoder;
use crate::encode::OpenAiEncoder;

/// The longest that a handshake may take; HTTP has the rest of the time.
const HANDSHAKE: Duration = Duration::from_secs(15);

/// Longest recorded part of a reason, in characters.
const SHOWN_CHARS: usize = 300;

/// Asks for Responses over WebSockets.
pub(crate) struct Sockets {
    bodies: Bodies<OpenAiEncoder>,
    pool: Arc<ConnectionPool>,
    caps: SseCaps,
}

/// One request, and where it goes.
pub(crate) struct SocketRequest<'a> {
    pub(crate) client: &'a Client,
    pub(crate) url: &'a Url,
    pub(crate) origin: &'a ErrorContext,
    pub(crate) request: &'a SampleRequest,
    /// Record of the request, without its route.
    pub(crate) asked: RequestRecord,
}

/// Result of sending a request over a socket.
pub(crate) enum SocketOutcome {
    /// It went over a socket.
    Answered(Box<dyn SampleStream>),
    /// Nothing was sent, for this reason.
    Unavailable(String),
}

/// A request that is ready to be sent, over the connection for it.
struct ReadyRequest {
    idle: IdleConnection,
    message: Segments,
    head: Bytes,
    asked: RequestRecord,
}

impl Sockets {
    pub(crate) fn new(writer: OpenAiEncoder, caps: SseCaps) -> Self {
        Self { bodies: Bodies::new(writer), pool: Arc::default(), caps }
    }

    pub(crate) fn with_caps(self, caps: SseCaps) -> Self {
        Self { caps, ..self }
    }

    /// Sends a request over the connection of its session, or a new one, and waits for the first
    /// event of its answer.
    ///
    /// # Errors
    /// [`ProviderError`] when the key is refused, or the request was sent and has no answer.
    pub(crate) async fn sample(
        &self,
        ask: SocketRequest<'_>,
    ) -> Result<SocketOutcome, ProviderError> {
        let request = ask.request;
        let wait = Duration::from_millis(request.limits.connect_ms);
        let until = Instant::now() + wait;
        if let Some(why) =
            self.pool.unavailable_reason(&request.session, !request.failed.is_empty())
        {
            return Ok(SocketOutcome::Unavailable(why));
        }
        let (idle, why) = match self.pool.take(&request.session) {
            Ok(idle) => (idle, None),
            Err(why) => match self.open(&ask, HANDSHAKE.min(wait / 2)).await {
                Ok(idle) => (idle, Some(why)),
                Err(error) if is_final(&error) => return Err(error.with_request(ask.asked)),
                Err(error) => {
                    let ever = error.kind == FailureKind::Unsupported;
                    let why: String = error.context.chars().take(SHOWN_CHARS).collect();
                    self.pool.close(&why, ever);
                    return Ok(SocketOutcome::Unavailable(why));
                }
            },
        };
        let ready = self.ready(idle, why, request, ask.asked.clone()).await?;
        let asked = ready.asked.clone();
        let begun = self.begin(ready, &ask, until).await;
        begun.map_err(|error| error.with_request(asked))
    }

    /// Sends the message and takes the first one of the answer.
    async fn begin(
        &self,
        ready: ReadyRequest,
        ask: &SocketRequest<'_>,
        until: Instant,
    ) -> Result<SocketOutcome, ProviderError> {
        let (request, origin) = (ask.request, ask.origin);
        let ReadyRequest { mut idle, message, head, asked } = ready;
        let exchanged = async {
            idle.socket.send(message).await?;
            idle.socket.text().await
        };
        let error = match tokio::time::timeout_at(until, exchanged).await {
            Ok(Ok(Some(first))) => {
                let mut events = OpenAiDecoder::new(Api::Responses, &asked.endpoint, &asked.model);
                let settings = &request.prompt.settings;
                let quirks = self.bodies.encoder().quirks(settings);
                if quirks.strict_tools {
                    events = events.with_strict_tools(settings.clone());
                }
                if quirks.grammars {
                    events = events.with_grammars(settings.clone());
                }
                let taken = SentRequest {
                    pool: self.pool.clone(),
                    session: request.session.clone(),
                    prompt: request.prompt.clone(),
                    head,
                    asked,
                };
                let mut answer = SocketAnswer::new(idle, events, origin.clone(), self.caps, taken);
                answer.first(&first)?;
                return Ok(SocketOutcome::Answered(Box::new(answer)));
            }
            Ok(Ok(None)) => gone(origin, None, &asked),
            Ok(Err(error)) => gone(origin, Some(error), &asked),
            Err(_) => {
                let wait = Duration::from_millis(request.limits.connect_ms);
                origin.error(FailureKind::Timeout, Retry::Soon, origin.slow(wait))
            }
        };
        if asked.route == RequestRoute::Socket {
            self.pool.avoid(&request.session);
        }
        Err(error)
    }

    async fn open(
        &self,
        ask: &SocketRequest<'_>,
        wait: Duration,
    ) -> Result<IdleConnection, ProviderError> {
        let most = self.caps.event;
        let socket = ask.client.open(ask.url, ask.origin, wait, most).await?;
        Ok(IdleConnection { socket, opened: Instant::now(), last: None, known: None })
    }

    /// Writes what the server does not know yet, or all, and says which.
    async fn ready(
        &self,
        mut idle: IdleConnection,
        why: Option<ResendReason>,
        request: &SampleRequest,
        mut asked: RequestRecord,
    ) -> Result<ReadyRequest, ProviderError> {
        let known = idle.known.take();
        let rest = match (&known, why) {
            (_, Some(why)) => Err(why),
            (None, None) => Err("the answer before was not whole"),
            (Some(known), None) => known.first_new_item(&request.prompt).map(|from| (known, from)),
        };
        let (message, head) = match rest {
            Ok((known, from)) => {
                let written = self.continuation(request, known, from).await?;
                asked.route = RequestRoute::SocketDelta;
                asked.lowered = written.lowered;
                (written.body, known.head.clone())
            }
            Err(why) => {
                let written = self.bodies.body(request).await?;
                asked.route = RequestRoute::Socket;
                asked.fallback_reason = Some(why.into());
                asked.shared_prefix_bytes = written.reused_bytes;
                asked.lowered = written.lowered;
                let head = self.bodies.head(&request.prompt.settings)?;
                (written.body, head)
            }
        };
        asked.bytes = message.len() as u64;
        Ok(ReadyRequest { idle, message, head, asked })
    }

    /// Returns the new part of a request, with the response that it continues.
    async fn continuation(
        &self,
        request: &SampleRequest,
        known: &ServerContext,
        from: usize,
    ) -> Result<RequestBody, ProviderError> {
        let mut head = br#"{"previous_response_id":"#.to_vec();
        windlass_kit_http::request::write(&mut head, &known.response_id)?;
        head.push(b',');
        head.extend_from_slice(known.head.get(1..).unwrap_or_default());
        self.bodies.rest(request, head.into(), from, &known.lowered).await
    }
}

/// Returns true if HTTP would fail in the same way: the key is invalid, or the quota is used up.
fn is_final(error: &ProviderError) -> bool {
    error.details.status == Some(401) || error.kind == FailureKind::Quota
}

/// The connection was lost before the answer began. Whether the model was asked is not known.
fn gone(origin: &ErrorContext, error: Option<WireError>, asked: &RequestRecord) -> ProviderError {
    let Some(error) = error else {
        let context = format!(
            "{} closed the WebSocket before it answered; the next attempt goes another way",
            asked.endpoint
        );
        return origin.error(FailureKind::Unavailable, Retry::Soon, context);
    };
    match error.kind {
        WireErrorKind::TooLarge | WireErrorKind::Unrecorded => origin.broken(error),
        WireErrorKind::Invalid
        | WireErrorKind::Unreachable
        | WireErrorKind::ConnectTimeout
        | WireErrorKind::HeadTimeout
        | WireErrorKind::Broken
        | WireErrorKind::Untrusted
        | WireErrorKind::Unsupported => origin.unreachable(error),
    }
}
