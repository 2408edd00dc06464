//! Problems: errors as clients receive them, in the form of RFC 9457 with a stable code.

use std::borrow::Cow;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// Stable code of an error, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProblemCode {
    /// A part of the request is malformed.
    BadRequest,
    /// The cursor is no position, or is after the log's end.
    BadCursor,
    /// The token is missing or unknown, or the ticket is used or expired.
    Unauthorized,
    /// The token may not do this.
    Forbidden,
    /// The origin is not allowed.
    ForeignOrigin,
    /// The session does not exist for this scope.
    NoSession,
    /// The session does not have this turn.
    NoTurn,
    /// The session does not have this input.
    NoInput,
    /// The session does not have this call, or its full output is not stored.
    NoCall,
    /// The path does not exist.
    NoRoute,
    /// The path does not support this method.
    NoMethod,
    /// The request did not arrive in time.
    SlowRequest,
    /// No turn is running.
    NothingRuns,
    /// The turn that the request is meant for is not running.
    TurnOver,
    /// The input was accepted, blocked or withdrawn, or does not exist.
    InputNotWaiting,
    /// The input is being accepted, or a turn is open for it.
    InputLocked,
    /// No approval is open.
    NothingWaits,
    /// No approval of this call is open.
    NotAsked,
    /// The answer names other arguments.
    OtherArguments,
    /// No result of this call is awaited, or another one was returned.
    NotAwaited,
    /// The session cannot be forked at this position.
    NoForkHere,
    /// A turn runs.
    TurnRunning,
    /// The session cannot return to this position.
    NoRewindHere,
    /// The conversation at this position cannot be restored in place.
    RewindOutOfReach,
    /// The turn was asked to stop, and has not ended yet.
    Stopping,
    /// Too many inputs are waiting.
    QueueFull,
    /// The session has as many bytes as it may.
    SessionFull,
    /// Another process drives the session.
    HeldElsewhere,
    /// The command expired before it was executed.
    Late,
    /// The session's log is damaged, or this release cannot read it.
    Damaged,
    /// The body, or the input, is too large.
    TooLarge,
    /// The body is compressed, or not JSON.
    UnsupportedMedia,
    /// The host is not served.
    ForeignHost,
    /// The request is well-formed but cannot be executed.
    Refused,
    /// The idempotency key was used with another request.
    KeyReused,
    /// Too many requests of this scope.
    TooManyRequests,
    /// The tenant has as many sessions as it may.
    TooManySessions,
    /// The sessions of the tenant have as many bytes as they may.
    TooManyBytes,
    /// The tenant has as many running turns as it may.
    TooManyTurns,
    /// A defect of the server.
    Defect,
    /// The server drives as many sessions as it may.
    Busy,
    /// The server is draining.
    Draining,
    /// The command was accepted and is not acknowledged yet.
    Waits,
    /// The store is unavailable.
    StoreAway,
    /// The store is full.
    StoreFull,
}

impl ProblemCode {
    /// Returns the status and the title for people.
    fn status_and_title(self) -> (u16, &'static str) {
        match self {
            Self::BadRequest => (400, "The request is malformed"),
            Self::BadCursor => (400, "The cursor is not a position of this log"),
            Self::Unauthorized => (401, "A valid token is required"),
            Self::Forbidden => (403, "The token may not do this"),
            Self::ForeignOrigin => (403, "This origin is not served"),
            Self::NoSession => (404, "There is no such session"),
            Self::NoTurn => (404, "There is no such turn"),
            Self::NoInput => (404, "There is no such input"),
            Self::NoCall => (404, "There is no such call"),
            Self::NoRoute => (404, "There is nothing here"),
            Self::NoMethod => (405, "This method is not allowed here"),
            Self::SlowRequest => (408, "The request took too long to arrive"),
            Self::NothingRuns => (409, "No turn is running"),
            Self::TurnOver => (409, "The turn is not running"),
            Self::InputNotWaiting => (409, "The input does not wait"),
            Self::InputLocked => (409, "The input is being accepted"),
            Self::NothingWaits => (409, "Nothing waits"),
            Self::NotAsked => (409, "No question about this call is open"),
            Self::OtherArguments => (409, "The answer is about other arguments"),
            Self::NotAwaited => (409, "No such result of the call is awaited"),
            Self::NoForkHere => (409, "The session cannot be forked at this point"),
            Self::TurnRunning => (409, "A turn is running"),
            Self::NoRewindHere => (409, "The session cannot return to this point"),
            Self::RewindOutOfReach => (409, "This point cannot be restored in place"),
            Self::Stopping => (409, "The turn has not stopped yet"),
            Self::QueueFull => (409, "Too many inputs wait"),
            Self::SessionFull => (409, "The session is full"),
            Self::HeldElsewhere => (409, "Another process drives the session"),
            Self::Late => (409, "The request expired"),
            Self::Damaged => (409, "The session's log is damaged"),
            Self::TooLarge => (413, "Too large"),
            Self::UnsupportedMedia => (415, "The body must be plain JSON"),
            Self::ForeignHost => (421, "This host is not served"),
            Self::Refused => (422, "The request cannot be processed"),
            Self::KeyReused => (422, "The key was used with another request"),
            Self::TooManyRequests => (429, "Too many requests"),
            Self::TooManySessions => (429, "Too many sessions"),
            Self::TooManyBytes => (429, "Too many bytes in the store"),
            Self::TooManyTurns => (429, "Too many turns in flight"),
            Self::Defect => (500, "A defect of the server"),
            Self::Busy => (503, "The server drives too many sessions"),
            Self::Draining => (503, "The server is going away"),
            Self::Waits => (504, "The request was accepted, and waits"),
            Self::StoreAway => (503, "The store does not answer"),
            Self::StoreFull => (507, "The store is full"),
        }
    }

    /// Returns the status of the code.
    pub(crate) fn status(self) -> StatusCode {
        let (status, _) = self.status_and_title();
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// Error as a client receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) code: ProblemCode,
    /// The operation, its failure, and advice. Never holds data of another scope or a secret.
    pub(crate) detail: Cow<'static, str>,
    /// Seconds after which a retry is useful.
    pub(crate) retry_after: Option<u64>,
}

/// Body of a problem.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemBody {
    /// Always the value `about:blank`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Title of the code.
    title: &'static str,
    /// Status of the HTTP response.
    status: u16,
    /// Stable code of the error.
    code: ProblemCode,
    /// Advice on the error.
    detail: String,
}

impl Problem {
    /// Creates a problem with advice for the client.
    pub(crate) fn new(code: ProblemCode, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { code, detail: detail.into(), retry_after: None }
    }

    /// Adds the number of seconds after which a retry is useful.
    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Creates the problem of a session that does not exist for this scope. Its text is the same
    /// for every cause.
    pub(crate) fn no_session() -> Self {
        Self::new(ProblemCode::NoSession, "list the sessions with GET /v1/sessions")
    }
}

/// Marks a response to a request that the store failed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoreFailed;

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, title) = self.code.status_and_title();
        let body = ProblemBody {
            kind: "about:blank",
            title,
            status,
            code: self.code,
            detail: self.detail.into_owned(),
        };
        let mut response = (self.code.status(), Json(body)).into_response();
        let headers = response.headers_mut();
        let form = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, form);
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if matches!(self.code, ProblemCode::StoreAway | ProblemCode::StoreFull) {
            response.extensions_mut().insert(StoreFailed);
        }
        let headers = response.headers_mut();
        if self.code == ProblemCode::Unauthorized {
            let scheme = HeaderValue::from_static("Bearer realm=\"windlass\"");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
