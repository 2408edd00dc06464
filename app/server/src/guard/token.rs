//! The token: every request under `/v1` has one, but for what tells nothing.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::AUTHORIZATION;
use axum::middleware::Next;
use axum::response::Response;
use tokio::time::Instant;

use crate::app::App;
use crate::caller::Caller;
use crate::problem::{Code, Problem};

/// Paths under `/v1` that need no token.
const OPEN: &[&str] = &["/v1/health", "/v1/ready"];

/// Lets a request through whose token is known, and says on whose behalf it acts.
pub(super) async fn known(
    State(app): State<Arc<App>>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let path = request.uri().path();
    if !path.starts_with("/v1/") || OPEN.contains(&path) {
        return Ok(next.run(request).await);
    }
    let caller = caller(&app, &request)?;
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

fn caller(app: &App, request: &Request) -> Result<Caller, Problem> {
    let sent = request.headers().get(AUTHORIZATION);
    let token = sent
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim());
    let known = token.and_then(|token| app.access.grant(token));
    let unknown = || Problem::new(Code::Unauthorized, "send Authorization: Bearer TOKEN");
    let (token, grant) = known.ok_or_else(unknown)?;
    let tenant = app.tenants.get(&grant.tenant).cloned();
    Ok(Caller {
        tenant: tenant.ok_or_else(unknown)?,
        grant,
        token,
        arrived: Instant::now(),
    })
}
