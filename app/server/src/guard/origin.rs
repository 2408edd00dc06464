//! Origin guard: a browser names the page that sends a request, and foreign pages are rejected.
//! Only configured origins receive CORS headers.

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
    /// No page, or a page of this server.
    Own,
    /// A page of a configured origin.
    Configured(HeaderValue),
}

/// Checks that the request comes from no page, from one of this host, or from a configured origin.
pub(super) fn check(app: &App, request: &Request, host: &str) -> Result<RequestOrigin, Problem> {
    let mut said = request.headers().get_all(ORIGIN).iter();
    let (first, more) = (said.next(), said.next());
    let Some(origin) = first else {
        return Ok(RequestOrigin::Own);
    };
    let words = origin.to_str().unwrap_or_default().to_ascii_lowercase();
    let at = words.strip_prefix("https://").or(words.strip_prefix("http://"));
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
    /// Returns the response to a preflight request, which has no token.
    pub(super) fn preflight(&self, request: &Request) -> Option<Response> {
        let asks = request.method() == Method::OPTIONS
            && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        match self {
            Self::Configured(_) if asks => {
                let headers = [
                    (ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST, PATCH, DELETE"),
                    (
                        ACCESS_CONTROL_ALLOW_HEADERS,
                        "authorization, content-type, idempotency-key, last-event-id, \
                         mcp-method, mcp-name, mcp-protocol-version, prefer",
                    ),
                    (ACCESS_CONTROL_MAX_AGE, "600"),
                ];
                Some((StatusCode::NO_CONTENT, headers).into_response())
            }
            Self::Configured(_) | Self::Own => None,
        }
    }

    /// Allows the page to read the response.
    pub(super) fn allow(&self, headers: &mut HeaderMap) {
        match self {
            Self::Own => {}
            Self::Configured(origin) => {
                headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
                let exposed = HeaderValue::from_static("location, preference-applied, retry-after");
                headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
            }
        }
        // A cached response is valid only for its origin.
        headers.append(VARY, HeaderValue::from_static("origin"));
    }
}
