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
pub(crate) enum Code {
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

impl Code {
    /// The status that goes with it.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::BadRequest | Self::BadCursor => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden | Self::ForeignOrigin => StatusCode::FORBIDDEN,
            Self::NoSession | Self::NoTurn | Self::NoInput | Self::NoCall | Self::NoRoute => {
                StatusCode::NOT_FOUND
            }
            Self::NoMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::SlowRequest => StatusCode::REQUEST_TIMEOUT,
            Self::NothingRuns
            | Self::NothingWaits
            | Self::NotAsked
            | Self::OtherArguments
            | Self::NoForkHere
            | Self::Stopping
            | Self::QueueFull
            | Self::HeldElsewhere
            | Self::Late
            | Self::Damaged => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMedia => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::ForeignHost => StatusCode::MISDIRECTED_REQUEST,
            Self::Refused | Self::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TooManyRequests | Self::TooManySessions | Self::TooManyTurns => {
                StatusCode::TOO_MANY_REQUESTS
            }
            Self::Defect => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Draining | Self::Busy | Self::StoreAway => StatusCode::SERVICE_UNAVAILABLE,
            Self::Waits => StatusCode::GATEWAY_TIMEOUT,
            Self::StoreFull => StatusCode::INSUFFICIENT_STORAGE,
        }
    }

    /// Returns the title for people.
    fn title(self) -> &'static str {
        match self {
            Self::BadRequest => "The request does not read",
            Self::BadCursor => "The cursor is no position of this log",
            Self::Unauthorized => "A known token is needed",
            Self::Forbidden => "The token may not do this",
            Self::ForeignOrigin => "This origin is not served",
            Self::NoSession => "There is no such session",
            Self::NoTurn => "There is no such turn",
            Self::NoInput => "There is no such input",
            Self::NoCall => "There is no such call",
            Self::NoRoute => "There is nothing here",
            Self::NoMethod => "This method is not taken here",
            Self::SlowRequest => "The request took too long to come",
            Self::NothingRuns => "No turn runs",
            Self::NothingWaits => "Nothing waits",
            Self::NotAsked => "No question about this call is open",
            Self::OtherArguments => "The answer is about other arguments",
            Self::NoForkHere => "The session cannot be forked at this point",
            Self::Stopping => "The turn has not stopped yet",
            Self::QueueFull => "Too many inputs wait",
            Self::HeldElsewhere => "Another process drives the session",
            Self::Late => "It came too late",
            Self::Waits => "It was accepted, and waits to be done",
            Self::Damaged => "The session's log is damaged",
            Self::TooLarge => "Too large",
            Self::UnsupportedMedia => "The body must be plain JSON",
            Self::ForeignHost => "This host is not served",
            Self::Refused => "The request cannot be done",
            Self::KeyReused => "The key came before with another request",
            Self::TooManyRequests => "Too many requests",
            Self::TooManySessions => "Too many sessions",
            Self::TooManyTurns => "Too many turns in flight",
            Self::Defect => "A defect of the server",
            Self::Draining => "The server is going away",
            Self::Busy => "The server drives as many sessions as it may",
            Self::StoreAway => "The store does not answer",
            Self::StoreFull => "The store takes no more",
        }
    }
}

/// An error as a client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) code: Code,
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
    code: Code,
    /// Advice on the error.
    detail: String,
}

impl Problem {
    /// A problem with what to do about it.
    pub(crate) fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
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
        Self::new(Code::NoSession, "list the sessions with GET /v1/sessions")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.code.status();
        let body = ProblemBody {
            kind: "about:blank",
            title: self.code.title(),
            status: status.as_u16(),
            code: self.code,
            detail: self.detail.into_owned(),
        };
        let mut response = (status, Json(body)).into_response();
        let headers = response.headers_mut();
        let form = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, form);
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.code == Code::Unauthorized {
            let scheme = HeaderValue::from_static("Bearer realm=\"windlass\"");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
