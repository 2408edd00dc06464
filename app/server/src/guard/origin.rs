//! The origin: a browser says from which page a request comes, and a page of elsewhere may not make
//! any. No CORS header is sent but to the origins that are configured.

use axum::extract::Request;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
    VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::problem::{Problem, ProblemCode};

/// Origin of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestOrigin {
    /// From no page, or from one of the server's own.
    Own,
    /// From a page of a configured origin.
    Configured(HeaderValue),
}

/// Goes on only if the request comes from no page, from one of this host, or from a configured
/// origin.
pub(super) fn check(app: &App, request: &Request, host: &str) -> Result<RequestOrigin, Problem> {
    let mut said = request.headers().get_all(ORIGIN).iter();
    let (first, more) = (said.next(), said.next());
    let Some(origin) = first else {
        return Ok(RequestOrigin::Own);
    };
    let words = origin.to_str().unwrap_or_default().to_ascii_lowercase();
    let at = words
        .strip_prefix("https://")
        .or(words.strip_prefix("http://"));
    if more.is_none() && at == Some(host) {
        return Ok(RequestOrigin::Own);
    }
    if more.is_none() && app.origins.contains(&words) {
        return Ok(RequestOrigin::Configured(origin.clone()));
    }
    let detail = "pages of this origin are not allowed: add it to origins of the configuration";
    Err(Problem::new(ProblemCode::ForeignOrigin, detail))
}

impl RequestOrigin {
    /// The answer to a browser that asks before it sends. It has no token then.
    pub(super) fn preflight(&self, request: &Request) -> Option<Response> {
        let asks = request.method() == Method::OPTIONS
            && request
                .headers()
                .contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        match self {
            Self::Configured(_) if asks => {
                let headers = [
                    (ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST"),
                    (
                        ACCESS_CONTROL_ALLOW_HEADERS,
                        "authorization, content-type, idempotency-key, last-event-id, prefer",
                    ),
                    (ACCESS_CONTROL_MAX_AGE, "600"),
                ];
                Some((StatusCode::NO_CONTENT, headers).into_response())
            }
            Self::Configured(_) | Self::Own => None,
        }
    }

    /// Lets the page see the answer.
    pub(super) fn allow(&self, headers: &mut HeaderMap) {
        match self {
            Self::Own => {}
            Self::Configured(origin) => {
                headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
                let exposed = HeaderValue::from_static("location, preference-applied, retry-after");
                headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
            }
        }
        // An answer that somebody keeps is for the origin that it was for.
        headers.append(VARY, HeaderValue::from_static("origin"));
    }
}
