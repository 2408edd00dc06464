//! Servers over streamable HTTP.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use windlass_core::ObservationStatus;
use windlass_http::http_wire;
use windlass_mcp::{
    McpError, McpOptions, McpServer, McpTools, McpTransport, Secret, ServerName, ServerState,
};

use super::bench::{call, eventually, said, state};

/// Habits of a server.
#[derive(Clone, Copy, PartialEq)]
enum Habit {
    /// It answers with JSON, and speaks the newer era.
    Modern,
    /// It answers with events, in a session of the older era.
    Events,
    /// It ends the session once, before a call.
    Forgets,
    /// It wants to know who asks.
    Denies,
}

/// A server on a loopback port.
#[derive(Clone)]
struct Scripted {
    habit: Habit,
    url: String,
    /// Method, authorization and version of each request.
    requests: Arc<Mutex<Vec<[String; 3]>>>,
}

impl Scripted {
    async fn start(habit: Habit) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp?key=sk-1", listener.local_addr().unwrap());
        let server = Self { habit, url, requests: Arc::default() };
        let running = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(running.clone().serve(stream));
            }
        });
        server
    }

    async fn tools(&self) -> McpTools {
        let headers = BTreeMap::from([("x-own".to_owned(), "1".to_owned())]);
        let token = Some(Secret::new("sk-2"));
        let transport = McpTransport::Http { url: self.url.clone(), headers, token };
        let server = McpServer { trusted: true, ..McpServer::new(transport) };
        let options = McpOptions::new(std::env::temp_dir())
            .with_wire(|url| http_wire(url).map_err(|error| McpError::new(error.to_string())));
        McpTools::start([(ServerName::new("s").unwrap(), server)], options).await.unwrap()
    }

    fn count(&self, method: &str) -> usize {
        self.requests.lock().unwrap().iter().filter(|request| request[0] == method).count()
    }

    async fn serve(self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        while let Some((head, body)) = read(&mut stream).await {
            let header = |name: &str| {
                let mut lines = head.lines();
                let value = lines.find_map(|line| {
                    let (key, value) = line.split_once(':')?;
                    key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
                });
                value.unwrap_or_default()
            };
            let message: Value = serde_json::from_slice(&body).unwrap_or_default();
            let method = message["method"].as_str().unwrap_or_default().to_owned();
            let seen = [method.clone(), header("authorization"), header("mcp-protocol-version")];
            self.requests.lock().unwrap().push(seen);
            let reply = self.reply(&head, &message, &header("mcp-session-id"));
            if stream.get_mut().write_all(reply.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    fn reply(&self, head: &str, message: &Value, session: &str) -> String {
        let method = message["method"].as_str().unwrap_or_default();
        if self.habit == Habit::Denies {
            return full("401 Unauthorized", "www-authenticate: Bearer\r\n", "");
        }
        if !head.starts_with("POST") {
            return full("405 Method Not Allowed", "", "");
        }
        if message["id"].is_null() {
            return full("202 Accepted", "", "");
        }
        let modern = self.habit == Habit::Modern;
        let result = match method {
            "server/discover" if modern => json!({"supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}),
            "server/discover" => return full("400 Bad Request", "", "unknown session"),
            "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"}}),
            "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
            _ if self.habit == Habit::Forgets && self.count("initialize") == 1 => {
                return full("404 Not Found", "", "no such session");
            }
            _ => json!({"content": [{"type": "text", "text": format!("hello {session}")}]}),
        };
        let mut answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        if modern {
            answer["result"]["resultType"] = json!("complete");
            return full("200 OK", "content-type: application/json\r\n", &answer.to_string());
        }
        let note = json!({"jsonrpc": "2.0", "method": "notifications/message",
            "params": {"level": "info", "data": "x"}});
        let events = format!("id: 1\nretry: 5\ndata:\n\ndata: {note}\n\nid: 2\ndata: {answer}\n\n");
        full(
            "200 OK",
            "Content-Type: Text/Event-Stream; charset=utf-8\r\nMcp-Session-Id: one\r\n",
            &events,
        )
    }
}

fn full(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

/// Reads a request; `None` at the end of the connection.
async fn read(stream: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    Some((head, body))
}

#[tokio::test]
async fn both_eras_are_spoken_with_the_users_headers() {
    for (habit, version, text) in
        [(Habit::Modern, "2026-07-28", "hello "), (Habit::Events, "2025-11-25", "hello one")]
    {
        let server = Scripted::start(habit).await;
        let tools = server.tools().await;
        assert_eq!(state(&tools), ServerState::Ready);
        assert_eq!(tools.reports()[0].protocol.as_deref(), Some(version));
        assert_eq!(said(&tools, "echo").await, text);
        let requests = server.requests.lock().unwrap();
        assert!(requests.iter().all(|request| request[1] == "Bearer sk-2"), "{requests:?}");
        let called = requests.iter().find(|request| request[0] == "tools/call").unwrap();
        assert_eq!(called[2], version);
    }
}

#[tokio::test]
async fn a_call_of_an_ended_session_was_not_begun_and_is_not_repeated() {
    let server = Scripted::start(Habit::Forgets).await;
    let tools = server.tools().await;
    let error = call(&tools, "echo", json!({})).await.unwrap_err();
    assert!(!error.started(), "{error}");
    assert_eq!(server.count("tools/call"), 1);
    let ended = call(&tools, "echo", json!({})).await.unwrap();
    assert_eq!(ended.status, ObservationStatus::Done, "a new session is made");
    assert_eq!(server.count("tools/call"), 2);
}

#[tokio::test]
async fn a_server_that_wants_authorization_says_so_without_a_secret() {
    let server = Scripted::start(Habit::Denies).await;
    let tools = server.tools().await;
    let ServerState::Failed { reason } = state(&tools) else { panic!("{:?}", state(&tools)) };
    assert!(reason.contains("asks for authorization"), "{reason}");
    let shown = format!("{:?}", tools.reports());
    assert!(!shown.contains("sk-"), "{shown}");
}

#[tokio::test]
async fn a_server_that_is_gone_is_a_failure_until_it_is_there() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let server = Scripted { habit: Habit::Modern, url, requests: Arc::default() };
    let tools = server.tools().await;
    assert!(matches!(state(&tools), ServerState::Failed { .. }), "{:?}", state(&tools));
    let address = server.url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let listener = TcpListener::bind(address).await.unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(server.clone().serve(stream));
        }
    });
    eventually("the server", || state(&tools) == ServerState::Ready).await;
}
