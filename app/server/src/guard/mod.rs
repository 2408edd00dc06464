//! Guards: checks of each request before its route, in this order: host, origin, token, rate,
//! draining, and the form and size of the body. They also complete every response.

pub(crate) mod body;
mod host;
mod origin;
mod token;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONNECTION, REFERRER_POLICY, TRANSFER_ENCODING, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt as _;
use tokio::time::Instant;
use tracing::{Instrument as _, info_span};

use self::origin::RequestOrigin;
use crate::app::App;
use crate::problem::{Problem, ProblemCode, StoreFailed};

/// Adds the guards to the routes.
pub(crate) fn with_guards(router: Router<Arc<App>>, app: &Arc<App>) -> Router<Arc<App>> {
    // The guard bounds each body. The framework's own limit is lower, and no option of the server.
    let router = router.layer(DefaultBodyLimit::disable());
    router.layer(from_fn_with_state(app.clone(), serve_in_span))
}

/// Answers for a path that does not exist.
pub(crate) async fn no_route() -> Problem {
    Problem::new(ProblemCode::NoRoute, "the interface is described by GET /v1/openapi.json")
}

/// Answers for a method that the path does not support.
pub(crate) async fn no_method() -> Problem {
    Problem::new(ProblemCode::NoMethod, "the header Allow names the allowed methods")
}

/// Serves a request in a span of its own.
async fn serve_in_span(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let PathIds { session, turn, call } = PathIds::of(path);
    let span = info_span!("request", method = %request.method(), path, session, turn, call);
    serve(app, request, next).instrument(span).await
}

/// Ids in the path of a request, for its span.
#[derive(Debug, Default, PartialEq, Eq)]
struct PathIds<'a> {
    session: Option<&'a str>,
    turn: Option<&'a str>,
    call: Option<&'a str>,
}

impl<'a> PathIds<'a> {
    fn of(path: &'a str) -> Self {
        let Some(path) = path.strip_prefix("/v1/sessions/") else {
            return Self::default();
        };
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        let session = parts.next();
        let (kind, id) = (parts.next(), parts.next());
        let of = |wanted: &[&str]| id.filter(|_| kind.is_some_and(|kind| wanted.contains(&kind)));
        Self { session, turn: of(&["turns"]), call: of(&["approvals", "calls"]) }
    }
}

async fn serve(app: Arc<App>, request: Request, next: Next) -> Response {
    let arrived = Instant::now();
    // Two framings of a body may be read differently by a proxy, so nothing may follow it.
    let chunked = request.headers().contains_key(TRANSFER_ENCODING);
    let from = host::check(&app, &request).and_then(|host| origin::check(&app, &request, &host));
    let (origin, mut response) = match from {
        Ok(origin) => {
            let response = match origin.preflight(&request) {
                Some(response) => response,
                None => serve_admitted(&app, request, arrived, next).await,
            };
            (origin, response)
        }
        Err(problem) => (RequestOrigin::Own, problem.into_response()),
    };
    let headers = response.headers_mut();
    origin.allow(headers);
    add_security_headers(headers);
    if chunked || app.draining() {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Serves a request with an allowed host and origin.
async fn serve_admitted(app: &App, mut request: Request, arrived: Instant, next: Next) -> Response {
    let admit = async {
        let caller = token::caller(app, &request, arrived)?;
        if let Some(caller) = &caller {
            let tenant = &caller.tenant.name;
            app.rates.acquire(tenant, &app.access.quota(tenant))?;
            request.extensions_mut().insert(caller.clone());
        }
        // Safe methods are served as long as there is a connection.
        if app.draining() && !request.method().is_safe() {
            let detail = "the server is going away: use another one, or retry later";
            return Err(Problem::new(ProblemCode::Draining, detail).retry_after(1));
        }
        body::read(app, caller.as_ref(), request).await
    };
    // The permit of the body is held until the response exists.
    let (request, _room) = match admit.await {
        Ok(admitted) => admitted,
        Err(problem) => return close_connection(problem),
    };
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => {
            if response.extensions().get::<StoreFailed>().is_some() {
                app.check_stores();
            }
            response
        }
        Err(_) => defect(&method, &path),
    }
}

/// Closes a connection whose request was not read to its end.
fn close_connection(problem: Problem) -> Response {
    let closes = matches!(problem.code, ProblemCode::SlowRequest | ProblemCode::TooLarge);
    let mut response = problem.into_response();
    if closes {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    response
}

fn defect(method: &Method, path: &str) -> Response {
    // The process's panic hook has logged the panic itself.
    tracing::error!(%method, path, "a request ended in a panic: this is a defect");
    Problem::new(ProblemCode::Defect, "the server's log says what went wrong").into_response()
}

/// Sets the headers of all responses, unless a route has set them.
fn add_security_headers(headers: &mut HeaderMap) {
    let usual: [(HeaderName, &str); 3] = [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    for (name, value) in usual {
        let value = HeaderValue::from_static(value);
        headers.entry(name).or_insert(value);
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::StatusCode;
    use axum::routing::get;
    use hyper::service::Service as _;
    use hyper_util::service::TowerToHyperService;
    use windlass_engine::core::Timestamp;
    use windlass_testkit::clock::ManualClock;

    use super::*;
    use crate::app::{Server, ServerParts};

    fn served() -> Server {
        Server::new(ServerParts {
            tenants: Vec::new(),
            access: Arc::default(),
            bounds: crate::ServerLimits::default(),
            clock: Arc::new(ManualClock::new(Timestamp(0), 1)),
            hosts: vec!["served".to_owned()],
            origins: Vec::new(),
        })
    }

    #[tokio::test]
    async fn the_span_of_a_request_has_the_ids_of_its_path() {
        let server = served();
        let router = Router::new().fallback(no_route);
        let router: Router = with_guards(router, &server.app).with_state(server.app.clone());
        let spans = windlass_testkit::Spans::record();
        for (path, ids) in [
            ("/v1/sessions/s1/turns/3/snapshots", ["s1", "3", ""]),
            ("/v1/sessions/s1/approvals/15", ["s1", "", "15"]),
            ("/v1/sessions/s1/calls/7/output", ["s1", "", "7"]),
            ("/v1/sessions/s1/inputs/9", ["s1", "", ""]),
            ("/v1/sessions/", ["", "", ""]),
            ("/v1/health", ["", "", ""]),
        ] {
            let request = Request::builder().uri(path).header("host", "served");
            let request = request.body(Body::empty()).unwrap();
            TowerToHyperService::new(router.clone()).call(request).await.unwrap();
            let span = spans.named("request").pop().unwrap();
            let found = ["session", "turn", "call"].map(|name| span.field(name));
            assert_eq!(found, ids, "{path}");
        }
    }

    #[tokio::test]
    async fn a_panic_of_a_route_is_a_defect_without_details() {
        let server = served();
        let broken = || async { String::from_utf8(vec![0xff]).unwrap() };
        let router = Router::new().route("/v1/health", get(broken));
        let router: Router = with_guards(router, &server.app).with_state(server.app.clone());
        let request = Request::builder().uri("/v1/health").header("host", "served");
        let request = request.body(Body::empty()).unwrap();
        let response = TowerToHyperService::new(router).call(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(body.contains("\"defect\"") && !body.contains("utf-8"), "{body}");
    }
}
