//! Hosts and origins.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::world::{NAME, PAGE, Running, TOKEN};

#[tokio::test]
async fn a_request_names_one_host_that_is_served() {
    let server = Running::start().await;
    let port = server.at.port();
    let head = |host: &str| format!("GET /v1/health HTTP/1.1\r\n{host}Connection: close\r\n\r\n");
    let status = async |request: String| {
        let answer = server.raw(&request).await;
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    for host in [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("LOCALHOST:{port}"),
        format!("[::1]:{port}"),
        NAME.to_owned(),
        format!("{NAME}:443"),
    ] {
        assert_eq!(status(head(&format!("Host: {host}\r\n"))).await, "200", "{host}");
    }
    for host in [
        "attacker.example".to_owned(),
        format!("attacker.example:{port}"),
        "127.0.0.1".to_owned(),
        "127.0.0.1:1".to_owned(),
        "localhost".to_owned(),
        format!("x.{NAME}"),
        format!("{NAME}."),
        format!("{NAME}:x"),
        format!("{NAME}@attacker.example"),
        String::new(),
    ] {
        assert_eq!(status(head(&format!("Host: {host}\r\n"))).await, "421", "{host}");
    }
    assert_eq!(status(head("")).await, "400");
    let two = format!("Host: {NAME}\r\nHost: attacker.example\r\n");
    assert_eq!(status(head(&two)).await, "400");
    let absolute = format!(
        "GET http://attacker.example/v1/health HTTP/1.1\r\nHost: {NAME}\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(status(absolute).await, "421");
}

#[tokio::test]
async fn only_pages_of_its_own_and_configured_ones_may_call() {
    let server = Running::start().await;
    let from = async |origin: &str| {
        let header = format!("Origin: {origin}\r\n");
        server.ask("GET", "/v1/sessions", &header, "").await
    };
    let own = from(&format!("http://{}", server.at)).await;
    assert_eq!(own.status, 200);
    assert!(!own.head.contains("access-control"), "{}", own.head);
    let page = from(PAGE).await;
    assert_eq!(page.status, 200);
    let allowed = format!("access-control-allow-origin: {PAGE}");
    assert!(page.head.contains(&allowed), "{}", page.head);
    assert!(!page.head.contains("allow-credentials"), "{}", page.head);
    for foreign in [
        "null",
        "",
        "https://attacker.example",
        "http://chat.example.org",
        "https://chat.example.org.attacker.example",
        "https://chat.example.org:8443",
        "file://",
    ] {
        let answer = from(foreign).await;
        answer.is(403, "foreign_origin");
        assert!(!answer.head.contains("access-control"), "{}", answer.head);
    }
    let two = format!("Origin: {PAGE}\r\nOrigin: https://attacker.example\r\n");
    let answer = server.ask("GET", "/v1/sessions", &two, "").await;
    answer.is(403, "foreign_origin");
}

#[tokio::test]
async fn a_browser_that_asks_first_is_answered_for_configured_pages_only() {
    let server = Running::start().await;
    let ask = async |origin: &str| {
        let headers = format!("Origin: {origin}\r\nAccess-Control-Request-Method: POST\r\n");
        server.bare("OPTIONS", "/v1/sessions", &headers, "").await
    };
    let answer = ask(PAGE).await;
    assert_eq!(answer.status, 204);
    for header in [
        format!("access-control-allow-origin: {PAGE}"),
        "authorization".to_owned(),
        "vary: origin".to_owned(),
    ] {
        assert!(answer.head.contains(&header), "{header}: {}", answer.head);
    }
    let methods = "access-control-allow-methods: ";
    let methods = answer.head.lines().find_map(|line| line.trim().strip_prefix(methods)).unwrap();
    let methods: Vec<&str> = methods.split(", ").collect();
    let described = server.ask("GET", "/v1/openapi.json", "", "").await.json();
    for item in described["paths"].as_object().unwrap().values() {
        for method in item.as_object().unwrap().keys() {
            let method = method.as_str();
            assert!(method == "parameters" || methods.contains(&method), "{method}: {methods:?}");
        }
    }
    ask("https://attacker.example").await.is(403, "foreign_origin");
    // Pages of its own need not ask, so nobody answers without a token.
    ask(&format!("http://{}", server.at)).await.is(401, "unauthorized");
}

#[tokio::test]
async fn a_socket_is_not_opened_from_a_page_of_elsewhere() {
    let server = Running::start().await;
    let session = server.session().await;
    let path = format!("/v1/sessions/{session}/ws");
    let upgrade = "Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let request = |origin: &str| {
        format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\nOrigin: {origin}\r\n\
             {upgrade}\r\n",
            server.at
        )
    };
    let mut socket = server.connect().await;
    socket.write_all(request("null").as_bytes()).await.unwrap();
    let mut begin = [0; 12];
    socket.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 403");
    let mut socket = server.connect().await;
    socket.write_all(request(PAGE).as_bytes()).await.unwrap();
    socket.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 101");
}

#[tokio::test]
async fn every_answer_says_that_it_is_not_to_be_kept_or_guessed_at() {
    let server = Running::start().await;
    for (path, token) in [("/v1/health", false), ("/v1/nothing", true), ("/v1/sessions", false)] {
        let answer = match token {
            true => server.ask("GET", path, "", "").await,
            false => server.bare("GET", path, "", "").await,
        };
        for header in [
            "x-content-type-options: nosniff",
            "cache-control: no-store",
            "referrer-policy: no-referrer",
        ] {
            assert!(answer.head.contains(header), "{path} {header}: {}", answer.head);
        }
    }
}
