//! Problems: errors as clients see them, in the form of RFC 9457 with a stable code.

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
    /// Something of the request does not read.
    BadRequest,
    /// A cursor that is no position, or lies behind the log's end.
    BadCursor,
    /// No token, an unknown one, or a ticket that is spent or over.
    Unauthorized,
    /// The token may not do this.
    Forbidden,
    /// An origin that is not served.
    ForeignOrigin,
    /// There is no such session for this scope.
    NoSession,
    /// The session has no such turn.
    NoTurn,
    /// The session has no such input.
    NoInput,
    /// The session has no such call, or nothing more of it is kept.
    NoCall,
    /// There is nothing at this path.
    NoRoute,
    /// The path does not take this method.
    NoMethod,
    /// The request did not come in time.
    SlowRequest,
    /// No turn is running.
    NothingRuns,
    /// No question is open.
    NothingWaits,
    /// Nobody is asked about this call.
    NotAsked,
    /// The answer is about other arguments.
    OtherArguments,
    /// The session cannot be forked at this point.
    NoForkHere,
    /// The turn is asked to stop, and has not ended yet.
    Stopping,
    /// Too many inputs wait.
    QueueFull,
    /// Another process drives the session.
    HeldElsewhere,
    /// It was not acted upon in time, and is not any more.
    Late,
    /// The session's log is not what was written, or not to be read by this release.
    Damaged,
    /// The body, or the input, is too large.
    TooLarge,
    /// The body is not JSON, or compressed.
    UnsupportedMedia,
    /// A host that is not served.
    ForeignHost,
    /// The request reads, and cannot be done.
    Refused,
    /// The idempotency key came before with another request.
    KeyReused,
    /// Too many requests of this scope.
    TooManyRequests,
    /// The scope has as many sessions as it may.
    TooManySessions,
    /// The scope has as many turns in flight as it may.
    TooManyTurns,
    /// A defect of the server.
    Defect,
    /// The server drives as many sessions as it may.
    Busy,
    /// The server is going away.
    Draining,
    /// It was accepted and will be done; what became of it is not known yet.
    Waits,
    /// The store does not answer.
    StoreAway,
    /// The store takes no more.
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
            Self::NothingWaits => (409, "Nothing waits"),
            Self::NotAsked => (409, "No question about this call is open"),
            Self::OtherArguments => (409, "The answer is about other arguments"),
            Self::NoForkHere => (409, "The session cannot be forked at this point"),
            Self::Stopping => (409, "The turn has not stopped yet"),
            Self::QueueFull => (409, "Too many inputs wait"),
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
            Self::TooManyTurns => (429, "Too many turns in flight"),
            Self::Defect => (500, "A defect of the server"),
            Self::Busy => (503, "The server drives too many sessions"),
            Self::Draining => (503, "The server is going away"),
            Self::Waits => (504, "The request was accepted, and waits"),
            Self::StoreAway => (503, "The store does not answer"),
            Self::StoreFull => (507, "The store is full"),
        }
    }

    /// The status that goes with it.
    pub(crate) fn status(self) -> StatusCode {
        let (status, _) = self.status_and_title();
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// An error as a client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) code: ProblemCode,
    /// The operation, its failure, and advice. Never holds data of another scope or a secret.
    pub(crate) detail: Cow<'static, str>,
    /// After how many seconds it is worth asking again.
    pub(crate) retry_after: Option<u64>,
}

/// The body of a problem.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemBody {
    /// Always the value `about:blank`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The code in words.
    title: &'static str,
    /// Status of the HTTP answer.
    status: u16,
    /// Stable code of the error.
    code: ProblemCode,
    /// Advice on the error.
    detail: String,
}

impl Problem {
    /// A problem with what to do about it.
    pub(crate) fn new(code: ProblemCode, detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            detail: detail.into(),
            retry_after: None,
        }
    }

    /// The same, worth asking again after so many seconds.
    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// A session that does not exist for this scope. The same words whatever the cause.
    pub(crate) fn no_session() -> Self {
        Self::new(
            ProblemCode::NoSession,
            "list the sessions with GET /v1/sessions",
        )
    }
}

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
