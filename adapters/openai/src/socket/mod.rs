//! Responses over a WebSocket: which way a request goes, and one request over one connection.
//!
//! A request that was sent is never sent again here, by whichever way. Its error says that another
//! attempt may come, and that one goes a safer way: the whole conversation over a new connection,
//! and then over HTTP.

mod answer;
mod known;
mod pool;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use url::Url;
use windlass_core::{Asked, FailureKind, Retry, Sent};
use windlass_kit_http::{Bodies, Client, Origin, SseCaps, Written};
use windlass_ports::{
    ProviderError, SampleRequest, SampleStream, Segments, WireError, WireErrorKind,
};

use self::answer::{SocketAnswer, Taken};
use self::known::{Known, Why};
use self::pool::{Idle, Pool};
use crate::config::Api;
use crate::decode::Events;
use crate::encode::Writer;

/// The longest that a handshake may take; HTTP has the rest of the time.
const HANDSHAKE: Duration = Duration::from_secs(15);

/// Longest recorded part of a reason, in characters.
const SHOWN_CHARS: usize = 300;

/// Asks for Responses over WebSockets.
pub(crate) struct Sockets {
    bodies: Bodies<Writer>,
    pool: Arc<Pool>,
    caps: SseCaps,
}

/// One request, and where it goes.
pub(crate) struct Ask<'a> {
    pub(crate) client: &'a Client,
    pub(crate) url: &'a Url,
    pub(crate) origin: &'a Origin,
    pub(crate) request: &'a SampleRequest,
    /// Record of the request, without its route.
    pub(crate) asked: Asked,
}

/// Result of sending a request over a socket.
pub(crate) enum Went {
    /// It went over a socket.
    Over(Box<dyn SampleStream>),
    /// Nothing was sent, for this reason.
    Not(String),
}

/// A request that is ready to be sent, over the connection for it.
struct Ready {
    idle: Idle,
    message: Segments,
    head: Bytes,
    asked: Asked,
}

impl Sockets {
    pub(crate) fn new(writer: Writer, caps: SseCaps) -> Self {
        Self {
            bodies: Bodies::new(writer),
            pool: Arc::default(),
            caps,
        }
    }

    pub(crate) fn with_caps(self, caps: SseCaps) -> Self {
        Self { caps, ..self }
    }

    /// Sends a request over the connection of its session, or a new one, and waits for the first
    /// event of its answer.
    ///
    /// # Errors
    /// [`ProviderError`] when the key is refused, or the request was sent and has no answer.
    pub(crate) async fn sample(&self, ask: Ask<'_>) -> Result<Went, ProviderError> {
        let request = ask.request;
        let wait = Duration::from_millis(request.limits.connect_ms);
        let until = Instant::now() + wait;
        if let Some(why) = self.pool.shut(&request.session, !request.failed.is_empty()) {
            return Ok(Went::Not(why));
        }
        let (idle, why) = match self.pool.take(&request.session) {
            Ok(idle) => (idle, None),
            Err(why) => match self.open(&ask, HANDSHAKE.min(wait / 2)).await {
                Ok(idle) => (idle, Some(why)),
                Err(error) if is_final(&error) => return Err(error.of(ask.asked)),
                Err(error) => {
                    let ever = error.kind == FailureKind::Unsupported;
                    let why: String = error.context.chars().take(SHOWN_CHARS).collect();
                    self.pool.close(&why, ever);
                    return Ok(Went::Not(why));
                }
            },
        };
        let ready = self.ready(idle, why, request, ask.asked.clone()).await?;
        let asked = ready.asked.clone();
        let begun = self.begin(ready, &ask, until).await;
        begun.map_err(|error| error.of(asked))
    }

    /// Sends the message and takes the first one of the answer.
    async fn begin(
        &self,
        ready: Ready,
        ask: &Ask<'_>,
        until: Instant,
    ) -> Result<Went, ProviderError> {
        let (request, origin) = (ask.request, ask.origin);
        let Ready {
            mut idle,
            message,
            head,
            asked,
        } = ready;
        let exchanged = async {
            idle.socket.send(message).await?;
            idle.socket.text().await
        };
        let error = match tokio::time::timeout_at(until, exchanged).await {
            Ok(Ok(Some(first))) => {
                let events = Events::new(Api::Responses, &asked.endpoint, &asked.model);
                let taken = Taken {
                    pool: self.pool.clone(),
                    session: request.session.clone(),
                    prompt: request.prompt.clone(),
                    head,
                    asked,
                };
                let mut answer = SocketAnswer::new(idle, events, origin.clone(), self.caps, taken);
                answer.first(&first)?;
                return Ok(Went::Over(Box::new(answer)));
            }
            Ok(Ok(None)) => gone(origin, None, &asked),
            Ok(Err(error)) => gone(origin, Some(error), &asked),
            Err(_) => {
                let wait = Duration::from_millis(request.limits.connect_ms);
                origin.error(FailureKind::Timeout, Retry::Soon, origin.slow(wait))
            }
        };
        if asked.sent == Sent::Socket {
            self.pool.shun(&request.session);
        }
        Err(error)
    }

    async fn open(&self, ask: &Ask<'_>, wait: Duration) -> Result<Idle, ProviderError> {
        let most = self.caps.event;
        let socket = ask.client.open(ask.url, ask.origin, wait, most).await?;
        Ok(Idle {
            socket,
            opened: Instant::now(),
            last: None,
            known: None,
        })
    }

    /// Writes what the server does not know yet, or all, and says which.
    async fn ready(
        &self,
        mut idle: Idle,
        why: Option<Why>,
        request: &SampleRequest,
        mut asked: Asked,
    ) -> Result<Ready, ProviderError> {
        let known = idle.known.take();
        let rest = match (&known, why) {
            (_, Some(why)) => Err(why),
            (None, None) => Err("the answer before was not whole"),
            (Some(known), None) => known.rest(&request.prompt).map(|from| (known, from)),
        };
        let (message, head) = match rest {
            Ok((known, from)) => {
                let written = self.rest(request, known, from).await?;
                asked.sent = Sent::SocketRest;
                asked.lowered = written.lowered;
                (written.body, known.head.clone())
            }
            Err(why) => {
                let written = self.bodies.body(request).await?;
                asked.sent = Sent::Socket;
                asked.instead = Some(why.into());
                asked.kept_bytes = written.kept_bytes;
                asked.lowered = written.lowered;
                let head = self.bodies.head(&request.prompt.settings)?;
                (written.body, head)
            }
        };
        asked.bytes = message.len() as u64;
        Ok(Ready {
            idle,
            message,
            head,
            asked,
        })
    }

    /// Returns the new part of a request, with the response that it continues.
    async fn rest(
        &self,
        request: &SampleRequest,
        known: &Known,
        from: usize,
    ) -> Result<Written, ProviderError> {
        let mut head = br#"{"previous_response_id":"#.to_vec();
        windlass_kit_http::request::write(&mut head, &known.response_id)?;
        head.push(b',');
        head.extend_from_slice(known.head.get(1..).unwrap_or_default());
        self.bodies
            .rest(request, head.into(), from, &known.lowered)
            .await
    }
}

/// Returns true if HTTP would fail in the same way: the key is invalid, or the quota is used up.
fn is_final(error: &ProviderError) -> bool {
    error.details.status == Some(401) || error.kind == FailureKind::Quota
}

/// The connection was lost before the answer began. Whether the model was asked is not known.
fn gone(origin: &Origin, error: Option<WireError>, asked: &Asked) -> ProviderError {
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
