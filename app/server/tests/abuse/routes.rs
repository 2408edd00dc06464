//! Every route that is described, without a right to it. A new route is here by being described.

use tokio::time::Instant;
use windlass_server::{Quota, ServerLimits};

use crate::world::{Answer, JSON, OTHER, Running};

/// A route: its method, its path for a session, and whether it needs a token.
type Route = (String, String, bool);

async fn routes(server: &Running, session: &str) -> Vec<Route> {
    let described = server.ask("GET", "/v1/openapi.json", "", "").await.json();
    let mut routes = Vec::new();
    for (path, methods) in described["paths"].as_object().unwrap() {
        let mut path = path.replace("{id}", session);
        while let (Some(from), Some(to)) = (path.find('{'), path.find('}')) {
            path.replace_range(from..=to, "1");
        }
        for (method, route) in methods.as_object().unwrap() {
            let security = route.get("security").and_then(|security| security.as_array());
            let open = security.is_some_and(|security| {
                security.is_empty() || security.iter().any(|one| *one == serde_json::json!({}))
            });
            routes.push((method.to_uppercase(), path.clone(), !open));
        }
    }
    assert!(routes.len() > 10, "{routes:?}");
    routes
}

/// What a request of this method is sent with.
fn form(method: &str) -> (&'static str, &'static str) {
    match method {
        "GET" => ("", ""),
        _ => (JSON, "{}"),
    }
}

#[tokio::test]
async fn no_route_is_served_without_a_token_that_is_known() {
    let server = Running::start().await;
    let session = server.session().await;
    let mut open = Vec::new();
    for (method, path, needs) in routes(&server, &session).await {
        let (headers, body) = form(&method);
        if !needs {
            open.push(path.clone());
            assert_eq!(server.bare(&method, &path, "", "").await.status, 200, "{path}");
            continue;
        }
        for token in [
            "",
            "Authorization: Bearer wrong\r\n",
            "Authorization: Bearer \r\n",
            "Authorization: Basic dGhlLXRva2VuLW9mLWFubg==\r\n",
            "Authorization: the-token-of-ann\r\n",
            "Authorization: Bearer the-token-of-ann\r\nAuthorization: Bearer wrong\r\n",
            "Cookie: token=the-token-of-ann\r\n",
        ] {
            let answer = server.bare(&method, &path, &format!("{token}{headers}"), body).await;
            answer.is(401, "unauthorized");
            assert!(answer.head.contains("www-authenticate: bearer"), "{path}");
        }
        for secret in ["token", "ticket", "access_token"] {
            let path = format!("{path}?{secret}=the-token-of-ann");
            server.bare(&method, &path, headers, body).await.is(401, "unauthorized");
        }
    }
    open.sort();
    assert_eq!(open, ["/v1/health", "/v1/ready"]);
    // What is not there is not told apart without a token.
    server.bare("GET", "/v1/nothing", "", "").await.is(401, "unauthorized");
    server.bare("DELETE", "/v1/sessions", "", "").await.is(401, "unauthorized");
    server.ask("GET", "/v1/nothing", "", "").await.is(404, "no_route");
}

#[tokio::test]
async fn the_session_of_another_tenant_is_nowhere_on_every_route() {
    let bounds = ServerLimits { unknown_ms: 40, ..ServerLimits::default() };
    let server = Running::with(bounds, Quota::default()).await;
    let session = server.session().await;
    let token = format!("Authorization: Bearer {OTHER}\r\n");
    let mut asked = 0;
    for (method, path, _) in routes(&server, &session).await {
        if !path.contains(&session) {
            continue;
        }
        let (headers, body) = form(&method);
        let headers = format!("{token}{headers}");
        let nowhere = path.replace(&session, "01nowhere");
        let mut told: Vec<(Answer, u128)> = Vec::new();
        for path in [&path, &nowhere] {
            let start = Instant::now();
            let answer = server.bare(&method, path, &headers, body).await;
            told.push((answer, start.elapsed().as_millis()));
        }
        told[0].0.is(404, "no_session");
        assert_eq!(told[0].0.body, told[1].0.body, "{method} {path}");
        let floor = told.iter().all(|(_, took)| *took >= 40);
        assert!(floor, "{method} {path}: {told:?}");
        asked += 1;
    }
    assert!(asked > 10, "{asked}");
}

#[tokio::test]
async fn a_form_or_a_page_of_elsewhere_is_served_by_no_route() {
    let server = Running::start().await;
    let session = server.session().await;
    for (method, path, needs) in routes(&server, &session).await {
        let (headers, body) = form(&method);
        let foreign = format!("Host: attacker.example\r\n{headers}");
        server.ask(&method, &path, &foreign, body).await.is(421, "foreign_host");
        let foreign = format!("Origin: https://attacker.example\r\n{headers}");
        server.ask(&method, &path, &foreign, body).await.is(403, "foreign_origin");
        if method == "GET" || !needs {
            continue;
        }
        for kind in
            ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain"]
        {
            let headers = format!("Content-Type: {kind}\r\n");
            let answer = server.ask(&method, &path, &headers, "a=b").await;
            answer.is(415, "unsupported_media");
        }
    }
}

#[tokio::test]
async fn a_method_that_is_not_taken_is_told_with_those_that_are() {
    let server = Running::start().await;
    for (path, taken) in
        [("/v1/sessions", &["get", "head", "post"][..]), ("/v1/health", &["get", "head"])]
    {
        let answer = server.ask("DELETE", path, "", "").await;
        answer.is(405, "no_method");
        let mut lines = answer.head.lines();
        let allow = lines.find_map(|line| line.strip_prefix("allow: "));
        let mut allowed: Vec<&str> = allow.expect("Allow").split(',').collect();
        allowed.sort_unstable();
        assert_eq!(allowed, taken, "{path}");
    }
}

#[tokio::test]
async fn ids_like_paths_lead_nowhere() {
    let server = Running::start().await;
    let long = "x".repeat(2_000);
    for id in [
        ".",
        "..",
        "%2e%2e",
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "..%2f..",
        "%00",
        "a%00b",
        "%ff",
        "%zz",
        "-",
        "*",
        "a%20b",
        "%5c..%5c",
        &long,
    ] {
        for path in [format!("/v1/sessions/{id}"), format!("/v1/sessions/{id}/history")] {
            let answer = server.ask("GET", &path, "", "").await;
            let (status, code) = answer.problem();
            assert_eq!(status, 404, "{path}: {answer:?}");
            assert!(["no_session", "no_route"].contains(&code.as_str()), "{path}: {code}");
        }
    }
    let answer = server.ask("GET", "/v1/../v1/sessions", "", "").await;
    answer.is(404, "no_route");
}

#[tokio::test]
async fn a_cursor_that_is_none_is_refused() {
    let server = Running::start().await;
    let session = server.session().await;
    let events = format!("/v1/sessions/{session}/events");
    for cursor in ["x", "-1", "1e3", "1.0", "99999999999999999999999", "0x1", "", "999"] {
        let path = format!("{events}?after={cursor}");
        server.ask("GET", &path, "", "").await.is(400, "bad_cursor");
        let header = format!("Last-Event-ID: {cursor}\r\n");
        server.ask("GET", &events, &header, "").await.is(400, "bad_cursor");
    }
}

#[tokio::test]
async fn who_asks_too_fast_is_told_when_to_come_back_and_nobody_else_is() {
    let quota = Quota { requests_per_second: 1, burst: 1, ..Quota::default() };
    let server = Running::with(ServerLimits::default(), quota).await;
    let mut refused = None;
    for _ in 0..100 {
        let answer = server.ask("GET", "/v1/sessions", "", "").await;
        if answer.status != 200 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("a hundred requests came through at one a second");
    refused.is(429, "too_many_requests");
    assert!(refused.head.contains("retry-after: 1"), "{}", refused.head);
    let token = format!("Authorization: Bearer {OTHER}\r\n");
    let other = server.bare("GET", "/v1/sessions", &token, "").await;
    assert_eq!(other.status, 200);
}
