//! Host guard: a request must name a host of the server. This rejects foreign pages whose host name
//! was made to resolve to this server.

use axum::extract::Request;
use axum::http::header::HOST;

use crate::app::App;
use crate::problem::{Problem, ProblemCode};

/// Checks that the request names exactly one host, which is served. Returns it in lower case.
pub(super) fn check(app: &App, request: &Request) -> Result<String, Problem> {
    let mut said = request.headers().get_all(HOST).iter();
    let (Some(host), None) = (said.next(), said.next()) else {
        return Err(Problem::new(ProblemCode::BadRequest, "send one header Host"));
    };
    let host = host.to_str().unwrap_or_default().to_ascii_lowercase();
    let named = request.uri().authority();
    let agrees = named.is_none_or(|named| named.as_str().eq_ignore_ascii_case(&host));
    if agrees && is_served(app, &host) {
        return Ok(host);
    }
    let detail = "use the server's address, or add the name to hosts of its configuration";
    Err(Problem::new(ProblemCode::ForeignHost, detail))
}

fn is_served(app: &App, host: &str) -> bool {
    // A configured name without a port matches every port.
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    if app.hosts.contains(host) || app.hosts.contains(name) {
        return true;
    }
    let Some(at) = app.address.get() else {
        return false;
    };
    let port = at.port();
    let usual = port == 80 && host == name;
    if !usual && !host.ends_with(&format!(":{port}")) {
        return false;
    }
    let own = at.ip().to_string();
    let own = if at.is_ipv6() { format!("[{own}]") } else { own };
    let near = ["localhost", "127.0.0.1", "[::1]"];
    name == own || at.ip().is_loopback() && near.contains(&name)
}
