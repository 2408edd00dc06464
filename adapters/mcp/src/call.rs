//! One call of a tool, from its request to its result.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, InputRequiredResult,
    JsonObject, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio::time::timeout;
use windlass_ports::{CancelSignal, ProgressSink, WireError, WireErrorKind};

use crate::connection::unauthorized;
use crate::excerpt::clipped;
use crate::server::Link;

/// Longest time to send a cancellation.
const CANCEL: Duration = Duration::from_secs(1);
/// Longest message of an error, in bytes.
const MAX_WORDS: usize = 4 * 1024;

/// End of a call.
pub(crate) enum CallEnd {
    /// The server answered with a result.
    Result(CallToolResult),
    /// The server answered with an error of the protocol.
    Refused(String),
    /// The server wants to know something from the user before it goes on.
    InputRequired(String),
    /// The call was cancelled.
    Cancelled,
    /// The time was up.
    TimedOut,
    /// No answer came, and none will.
    Lost {
        words: String,
        /// True if the server may have begun.
        sent: bool,
        /// True if the connection is of no further use.
        broken: bool,
    },
}

/// Calls a tool once. Dropping the future cancels the request, as far as the server obeys.
pub(crate) async fn call(
    link: &Link,
    tool: &str,
    arguments: JsonObject,
    (within, cancel): (Duration, &CancelSignal),
    progress: Arc<dyn ProgressSink>,
) -> CallEnd {
    let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let sent = link.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
    let request = match sent {
        Ok(request) => request,
        // The task of the connection has ended: nothing was sent.
        Err(error) => {
            return CallEnd::Lost { words: error.to_string(), sent: false, broken: true };
        }
    };
    let _reported = link.handler.progress.add(request.progress_token.clone(), progress);
    let mut request = PendingRequest(Some(request));
    tokio::select! {
        biased;
        () = cancel.cancelled() => {
            request.cancel("the user cancelled the call").await;
            CallEnd::Cancelled
        }
        answer = request.answer(link) => answer,
        () = tokio::time::sleep(within) => {
            request.cancel("the time of the call is up").await;
            CallEnd::TimedOut
        }
    }
}

/// A request that waits for its answer. Its drop cancels it.
struct PendingRequest(Option<RequestHandle<RoleClient>>);

impl PendingRequest {
    async fn answer(&mut self, link: &Link) -> CallEnd {
        let Some(request) = &mut self.0 else {
            return std::future::pending().await;
        };
        let answer = (&mut request.rx).await;
        self.0 = None;
        match answer {
            Ok(Ok(result)) => answered(result),
            Ok(Err(error)) => failed(&error, link),
            // The connection ended with the request under way.
            Err(_) => lost("the connection ended before the answer".into()),
        }
    }

    async fn cancel(mut self, reason: &str) {
        if let Some(request) = self.0.take() {
            // A server that does not read will not be told.
            let _ = timeout(CANCEL, request.cancel(Some(reason.to_owned()))).await;
        }
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        if let Some(request) = self.0.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let cancel = request.cancel(Some("the call was abandoned".into()));
            runtime.spawn(timeout(CANCEL, cancel));
        }
    }
}

fn answered(result: ServerResult) -> CallEnd {
    if let ServerResult::CallToolResult(result) = result {
        return CallEnd::Result(result);
    }
    if let ServerResult::InputRequiredResult(required) = &result {
        return CallEnd::InputRequired(asked(required));
    }
    if let ServerResult::EmptyResult(_) = result {
        // A result without any content.
        return CallEnd::Result(CallToolResult::default());
    }
    let words = "it answered with something that is no result of a call".into();
    CallEnd::Lost { words, sent: true, broken: false }
}

/// Returns what a server asks for, as JSON.
pub(crate) fn asked(required: &InputRequiredResult) -> String {
    let asked = serde_json::to_string(&required.input_requests).unwrap_or_default();
    clipped(&asked, MAX_WORDS)
}

/// Returns the end of a request that failed.
pub(crate) fn failed(error: &ServiceError, link: &Link) -> CallEnd {
    if let ServiceError::McpError(error) = error {
        let words = clipped(&error.message, MAX_WORDS);
        return CallEnd::Refused(format!("{words} ({})", error.code.0));
    }
    let ServiceError::TransportSend(error) = error else {
        return lost(error.to_string());
    };
    let cause: &(dyn std::error::Error + 'static) = error.error.as_ref();
    match cause.downcast_ref::<StreamableHttpError<WireError>>() {
        Some(error) => over_http(error, link),
        None => lost(deepest(cause)),
    }
}

/// Returns the end of a call whose message could not be sent over HTTP, or was not answered.
fn over_http(error: &StreamableHttpError<WireError>, link: &Link) -> CallEnd {
    let end = |words: String, sent, broken| CallEnd::Lost { words, sent, broken };
    if let StreamableHttpError::SessionExpired = error {
        return end("its session has ended".into(), false, true);
    }
    if let StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) = error
    {
        return end(unauthorized(link.login.as_deref()), false, false);
    }
    if let StreamableHttpError::Client(error) = error {
        return end(error.to_string(), was_sent(error.kind), true);
    }
    if let StreamableHttpError::HttpStatus(error) = error {
        // Too many requests: it was refused. Any other status may come from the middle of the call.
        return end(error.to_string(), error.status != 429, false);
    }
    end(clipped(&error.to_string(), MAX_WORDS), true, false)
}

/// Returns true if a request that failed in this way may have reached the server.
fn was_sent(kind: WireErrorKind) -> bool {
    match kind {
        WireErrorKind::ConnectTimeout
        | WireErrorKind::Untrusted
        | WireErrorKind::Invalid
        | WireErrorKind::Unrecorded
        | WireErrorKind::Unsupported => false,
        WireErrorKind::Unreachable
        | WireErrorKind::HeadTimeout
        | WireErrorKind::Broken
        | WireErrorKind::TooLarge => true,
    }
}

fn lost(words: String) -> CallEnd {
    CallEnd::Lost { words, sent: true, broken: true }
}

fn deepest(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    clipped(&cause.to_string(), MAX_WORDS)
}
