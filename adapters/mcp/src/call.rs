//! One call of a tool, from its request to its result.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, InputRequiredResult,
    ServerResult, Task,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio::time::timeout;
use windlass_ports::{CancelSignal, ProgressSink, WireError, WireErrorKind};

use crate::connection::unauthorized;
use crate::excerpt::clipped;
use crate::handler::{LiveQuestion, ProgressEntry, QuestionEntry};
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
    /// The server wants to know something from the user, and to be called again with it.
    InputRequired(Box<InputRequiredResult>),
    /// The server goes on with the call as a task.
    Task(Box<Task>),
    /// The server asks the user, and waits for the answer.
    Asks(LiveQuestion),
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

/// A call that is under way. Dropping it cancels its request, as far as the server obeys.
pub(crate) struct RunningCall {
    request: PendingRequest,
    pub(crate) link: Link,
    progress: Option<ProgressEntry>,
    questions: QuestionEntry,
}

impl RunningCall {
    /// Calls a tool once.
    pub(crate) async fn begin(link: &Link, params: CallToolRequestParams) -> Result<Self, CallEnd> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let request = send(link, request).await?;
        let questions = link.handler.questions.add(request.progress_token.clone());
        let request = PendingRequest(Some(request));
        Ok(Self { request, link: link.clone(), progress: None, questions })
    }

    /// Waits for the end of the call, or for a question of its server.
    pub(crate) async fn wait(
        &mut self,
        (within, cancel): (Duration, &CancelSignal),
        progress: Arc<dyn ProgressSink>,
    ) -> CallEnd {
        self.progress = None;
        let token = self.request.0.as_ref().map(|request| request.progress_token.clone());
        self.progress = token.map(|token| self.link.handler.progress.add(token, progress));
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                self.request.cancel("the user cancelled the call").await;
                CallEnd::Cancelled
            }
            Some(question) = self.questions.next() => CallEnd::Asks(question),
            answer = self.request.answer(&self.link) => answer,
            () = tokio::time::sleep(within) => {
                self.request.cancel("the time of the call is up").await;
                CallEnd::TimedOut
            }
        }
    }
}

/// Sends a request. Its answer comes later.
pub(crate) async fn send(
    link: &Link,
    request: ClientRequest,
) -> Result<RequestHandle<RoleClient>, CallEnd> {
    let sent = link.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
    // The task of the connection has ended: nothing was sent.
    sent.map_err(|error| CallEnd::Lost { words: error.to_string(), sent: false, broken: true })
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

    async fn cancel(&mut self, reason: &str) {
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
    if let ServerResult::InputRequiredResult(required) = result {
        return CallEnd::InputRequired(Box::new(required));
    }
    if let ServerResult::CreateTaskResult(created) = result {
        return CallEnd::Task(Box::new(created.task));
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
