//! Token guard: every request under `/v1` and to `/mcp` needs a token, except health checks. Browsers that cannot
//! send a header with a stream use a ticket.

use axum::extract::Request;
use axum::http::Method;
use axum::http::header::AUTHORIZATION;
use tokio::time::Instant;

use crate::app::App;
use crate::caller::Caller;
use crate::problem::{Problem, ProblemCode};

/// Paths under `/v1` that need no token.
const OPEN: &[&str] = &["/v1/health", "/v1/ready"];
/// Endpoint of MCP.
const MCP: &str = "/mcp";
/// Streams of a session that a ticket opens.
const STREAMS: &[&str] = &["events", "ws", "agui"];

/// Returns the caller of a request; `None` for a path that needs no token.
pub(super) fn caller(
    app: &App,
    request: &Request,
    arrived: Instant,
) -> Result<Option<Caller>, Problem> {
    let path = request.uri().path();
    let guarded = path == "/v1" || path.starts_with("/v1/") || path == MCP;
    if !guarded || OPEN.contains(&path) {
        return Ok(None);
    }
    let unknown = || {
        let detail = "send Authorization: Bearer TOKEN, or a valid ticket";
        Problem::new(ProblemCode::Unauthorized, detail)
    };
    let mut sent = request.headers().get_all(AUTHORIZATION).iter();
    let known = match (sent.next(), sent.next()) {
        (Some(header), None) => {
            bearer(header.to_str().ok()).and_then(|token| app.access.grant(token))
        }
        (None, None) => ticket(request).and_then(|(ticket, session)| {
            let now = app.clock.now();
            app.tickets.redeem(now, ticket, session, &app.access)
        }),
        (Some(_) | None, Some(_)) => None,
    };
    let (token, grant) = known.ok_or_else(unknown)?;
    let tenant = app.tenants.get(&grant.tenant).cloned();
    Ok(Some(Caller { tenant: tenant.ok_or_else(unknown)?, grant, token, arrived }))
}

fn bearer(header: Option<&str>) -> Option<&str> {
    let (scheme, token) = header?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Returns the ticket of a request for a session's stream, and the session.
fn ticket(request: &Request) -> Option<(&str, &str)> {
    if request.method() != Method::GET {
        return None;
    }
    let rest = request.uri().path().strip_prefix("/v1/sessions/")?;
    let (session, what) = rest.split_once('/')?;
    if !STREAMS.contains(&what) {
        return None;
    }
    let mut pairs = request.uri().query()?.split('&');
    let mut tickets = pairs.by_ref().filter_map(|pair| pair.strip_prefix("ticket="));
    match (tickets.next(), tickets.next()) {
        (Some(ticket), None) => Some((ticket, session)),
        (Some(_) | None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn a_ticket_is_for_the_streams_of_a_session_and_nothing_else() {
        let of = |method: &str, uri: &str| {
            let request = Request::builder().method(method).uri(uri);
            let request = request.body(Body::empty()).unwrap();
            ticket(&request).map(|(ticket, session)| format!("{ticket} {session}"))
        };
        let good = Some("t s".to_owned());
        assert_eq!(of("GET", "/v1/sessions/s/events?ticket=t"), good);
        assert_eq!(of("GET", "/v1/sessions/s/ws?after=3&ticket=t"), good);
        for (method, uri) in [
            ("POST", "/v1/sessions/s/agui?ticket=t"),
            ("GET", "/v1/sessions/s/history?ticket=t"),
            ("GET", "/v1/sessions/s/events/x?ticket=t"),
            ("GET", "/v1/sessions/s?ticket=t"),
            ("GET", "/v1/sessions?ticket=t"),
            ("GET", "/v1/sessions/s/events?ticket=t&ticket=u"),
            ("GET", "/v1/sessions/s/events?token=t"),
            ("GET", "/v1/sessions/s/events"),
        ] {
            assert_eq!(of(method, uri), None, "{method} {uri}");
        }
    }

    #[test]
    fn a_bearer_is_one_word_behind_the_scheme() {
        assert_eq!(bearer(Some("Bearer t")), Some("t"));
        assert_eq!(bearer(Some("bearer  t ")), Some("t"));
        for bad in ["t", "Bearer", "Bearer ", "Basic t", ""] {
            assert_eq!(bearer(Some(bad)), None, "{bad:?}");
        }
    }
}
