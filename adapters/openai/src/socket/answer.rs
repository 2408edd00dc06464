//! One answer over a WebSocket: each message is one event. Once it is whole its connection waits
//! for the next request of its session; otherwise the connection is closed.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::FutureExt as _;
use serde_json::Value;
use windlass_core::{
    FailureKind, Prompt, RequestRecord, RequestRoute, Retry, SessionId, StreamEvent,
};
use windlass_kit_http::{DecodeError, Dialect as _, ErrorContext, SseCaps, SseError};
use windlass_ports::{ProviderError, SampleStream, StreamState, WireError, WireHeaders};

use super::pool::{ConnectionPool, IdleConnection};
use super::server_context::ItemCollector;
use crate::decode::OpenAiDecoder;

/// Most messages already received that one call handles.
const MESSAGES: usize = 64;

/// The request that an answer belongs to.
pub(super) struct SentRequest {
    pub(super) pool: Arc<ConnectionPool>,
    pub(super) session: SessionId,
    pub(super) prompt: Prompt,
    pub(super) head: Bytes,
    pub(super) asked: RequestRecord,
}

/// One answer, read from a socket.
pub(super) struct SocketAnswer {
    /// Gone once the answer is whole or broken.
    open: Option<(IdleConnection, SentRequest)>,
    events: OpenAiDecoder,
    origin: ErrorContext,
    caps: SseCaps,
    bytes: u64,
    items: ItemCollector,
    request_record: Option<RequestRecord>,
    /// Events of the first message.
    ready: Vec<StreamEvent>,
}

impl SocketAnswer {
    pub(super) fn new(
        idle: IdleConnection,
        events: OpenAiDecoder,
        origin: ErrorContext,
        caps: SseCaps,
        taken: SentRequest,
    ) -> Self {
        Self {
            request_record: Some(taken.asked.clone()),
            open: Some((idle, taken)),
            events,
            origin,
            caps,
            bytes: 0,
            items: ItemCollector::default(),
            ready: Vec::new(),
        }
    }

    /// Takes the first message.
    pub(super) fn first(&mut self, message: &[u8]) -> Result<(), ProviderError> {
        let mut ready = Vec::new();
        let taken = self.handle_message(message, &mut ready);
        self.ready = ready;
        taken.map(drop)
    }

    /// Takes a message. The connection is let go of when the answer is whole, or there is an error.
    fn handle_message(
        &mut self,
        message: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, ProviderError> {
        match self.event(message, out) {
            Ok(StreamState::More) => Ok(StreamState::More),
            Ok(StreamState::End) => {
                self.release();
                Ok(StreamState::End)
            }
            Err(fault) => {
                let (error, against) = failed(&self.origin, fault, message);
                Err(self.fail(error, against))
            }
        }
    }

    fn event(
        &mut self,
        message: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, DecodeError> {
        self.bytes = self.bytes.saturating_add(message.len() as u64);
        if self.bytes > self.caps.stream {
            let error = SseError::Stream(self.caps.stream);
            return Err(DecodeError::TooLarge(error.to_string()));
        }
        let before = out.len();
        let streaming = self.events.event(b"", message, out)?;
        let last = self.open.as_ref().and_then(|(idle, _)| idle.last.as_deref());
        for event in out.iter().skip(before) {
            self.items.push(event);
            if let StreamEvent::Opened { response_id: Some(id), .. } = event
                && last == Some(id)
            {
                let what = "an event of the answer before came in this one";
                return Err(DecodeError::Protocol(what.into()));
            }
        }
        Ok(streaming)
    }

    /// Has the connection wait for the next request.
    fn release(&mut self) {
        let said = std::mem::take(&mut self.items);
        let Some((mut idle, taken)) = self.open.take() else {
            return;
        };
        tracing::debug!(ignored = self.events.ignored(), "the answer is whole");
        idle.last = said.response_id().map(str::to_owned);
        // What the model did beside what it said, the server knows and the prompt does not.
        let strange = self.events.foreign();
        let known = said.into_context(taken.prompt, taken.head, taken.asked.lowered);
        idle.known = known.filter(|_| !strange);
        taken.pool.put(taken.session, idle);
    }

    /// The answer breaks off.
    fn broken(&mut self, error: Option<WireError>) -> ProviderError {
        let error = match error {
            Some(error) => self.origin.broken(error),
            None => self.origin.fault(DecodeError::Truncated),
        };
        self.fail(error, true)
    }

    /// Gives the connection up; a failed whole request speaks against the next one.
    fn fail(&mut self, error: ProviderError, against: bool) -> ProviderError {
        if let Some((_, taken)) = self.open.take()
            && against
            && taken.asked.route == RequestRoute::Socket
        {
            taken.pool.avoid(&taken.session);
        }
        error
    }
}

#[async_trait]
impl SampleStream for SocketAnswer {
    fn request_record(&mut self) -> Option<RequestRecord> {
        self.request_record.take()
    }

    async fn next(&mut self, events: &mut Vec<StreamEvent>) -> Result<StreamState, ProviderError> {
        if !self.ready.is_empty() {
            events.append(&mut self.ready);
            return Ok(match self.open {
                Some(_) => StreamState::More,
                None => StreamState::End,
            });
        }
        let Some((idle, _)) = &mut self.open else {
            return Ok(StreamState::End);
        };
        let mut read = idle.socket.text().await;
        let mut taken = 0;
        loop {
            match read {
                Ok(Some(message)) => {
                    if self.handle_message(&message, events)? == StreamState::End {
                        return Ok(StreamState::End);
                    }
                }
                Ok(None) => return Err(self.broken(None)),
                Err(error) => return Err(self.broken(Some(error))),
            }
            taken += 1;
            let Some((idle, _)) = self.open.as_mut().filter(|_| taken < MESSAGES) else {
                return Ok(StreamState::More);
            };
            match idle.socket.text().now_or_never() {
                Some(more) => read = more,
                None => return Ok(StreamState::More),
            }
        }
    }
}

/// The error of a message that is no part of an answer, and whether it speaks against sockets.
fn failed(origin: &ErrorContext, fault: DecodeError, message: &[u8]) -> (ProviderError, bool) {
    let DecodeError::Reported(reported) = fault else {
        return (origin.fault(fault), true);
    };
    let code = reported.code.clone();
    // An error event with a status says what a response over HTTP would have said.
    let mut error = match refusal(message) {
        Some((status, headers)) => origin.answered(status, &headers).refused(&headers, message),
        None => origin.fault(DecodeError::Reported(reported)),
    };
    // Nothing was generated yet, and another request can be.
    let instead = match code.as_str() {
        "previous_response_not_found" => "the next attempt sends the whole conversation",
        "websocket_connection_limit_reached" => "the next attempt opens a new connection",
        _ => {
            let elsewhere = matches!(
                error.kind,
                FailureKind::RateLimit
                    | FailureKind::Overloaded
                    | FailureKind::Quota
                    | FailureKind::Authentication
                    | FailureKind::ContextOverflow
                    | FailureKind::ContentFilter
            );
            return (error, !elsewhere);
        }
    };
    (error.kind, error.retry) = (FailureKind::Unavailable, Retry::Soon);
    error.context = format!("{}; {instead}", error.context);
    (error, false)
}

/// The status and the headers that an error over a WebSocket says it would have over HTTP.
fn refusal(message: &[u8]) -> Option<(u16, WireHeaders)> {
    let told: Value = serde_json::from_slice(message).ok()?;
    let status = told.get("status").or_else(|| told.get("status_code"))?;
    let status = u16::try_from(status.as_u64()?).ok()?;
    let mut headers = WireHeaders::default();
    let named = told.get("headers").and_then(Value::as_object);
    for (name, value) in named.into_iter().flatten() {
        if let Some(value) = value.as_str() {
            headers.push(name, value.to_owned(), false);
        }
    }
    (400..600).contains(&status).then_some((status, headers))
}
