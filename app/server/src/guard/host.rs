//! The host: a request is for one of the names that the server is called by. A page of elsewhere whose
//! name was made to lead here is not.

use axum::extract::Request;
use axum::http::header::HOST;

use crate::app::App;
use crate::problem::{Problem, ProblemCode};

/// Goes on only if the request says one host, and that is served. Answers with it, in lower case.
pub(super) fn check(app: &App, request: &Request) -> Result<String, Problem> {
    let mut said = request.headers().get_all(HOST).iter();
    let (Some(host), None) = (said.next(), said.next()) else {
        return Err(Problem::new(
            ProblemCode::BadRequest,
            "send one header Host",
        ));
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
    // A name without a port is meant for every port.
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
    let own = if at.is_ipv6() {
        format!("[{own}]")
    } else {
        own
    };
    let near = ["localhost", "127.0.0.1", "[::1]"];
    name == own || at.ip().is_loopback() && near.contains(&name)
}
