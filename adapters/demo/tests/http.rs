//! The demo model over its socket, with nothing but bytes on this side.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail by panicking")]

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use windlass_demo::{DemoError, DemoServer};

/// Sends a request and reads the reply: status, head, body.
async fn send(demo: &DemoServer, method: &str, path: &str, body: &str) -> (u16, String, String) {
    let mut socket = TcpStream::connect(demo.addr()).await.unwrap();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut reply = Vec::new();
    socket.read_to_end(&mut reply).await.unwrap();
    let reply = String::from_utf8(reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let chunked = head.contains("transfer-encoding: chunked");
    let body = if chunked { unchunk(body) } else { body.to_owned() };
    (status, head.to_owned(), body)
}

fn unchunk(mut rest: &str) -> String {
    let mut body = String::new();
    loop {
        let (size, tail) = rest.split_once("\r\n").unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return body;
        }
        body.push_str(&tail[..size]);
        rest = &tail[size + 2..];
    }
}

fn data(body: &str) -> Vec<Value> {
    let lines = body.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn join(chunks: &[Value], pointer: &str) -> String {
    chunks.iter().filter_map(|chunk| chunk.pointer(pointer)?.as_str()).collect()
}

fn tools(wrap: impl Fn(&str) -> Value) -> Vec<Value> {
    ["list_dir", "read_file"].map(wrap).into()
}

#[tokio::test]
async fn a_whole_turn_over_chat_completions() {
    let demo = DemoServer::start().unwrap();
    let tools = tools(|name| json!({ "type": "function", "function": { "name": name } }));
    let mut messages = vec![json!({ "role": "user", "content": "What is in this folder?" })];
    for (name, output) in [("list_dir", "a.md (9 bytes)\n"), ("read_file", "# Rope\nis long\n")] {
        let body = json!({ "model": DemoServer::MODEL, "stream": true, "messages": messages,
            "tools": tools, "stream_options": { "include_usage": true } });
        let (status, head, body) =
            send(&demo, "POST", "/v1/chat/completions", &body.to_string()).await;
        assert_eq!(status, 200);
        assert!(head.contains("text/event-stream"), "{head}");
        let chunks = data(&body);
        let call = |key: &str| join(&chunks, &format!("/choices/0/delta/tool_calls/0/{key}"));
        assert_eq!(call("function/name"), name);
        assert_eq!(join(&chunks, "/choices/0/finish_reason"), "tool_calls");
        let usage = chunks.last().unwrap().pointer("/usage/prompt_tokens").unwrap();
        assert!(usage.as_u64().unwrap() > 50);
        let function = json!({ "name": name, "arguments": call("function/arguments") });
        messages.push(json!({ "role": "assistant", "tool_calls": [
            { "id": call("id"), "type": "function", "function": function }] }));
        messages.push(json!({ "role": "tool", "tool_call_id": call("id"), "content": output }));
    }
    let ids: Vec<&Value> = [1, 3].map(|at| &messages[at]["tool_calls"][0]["id"]).into();
    assert_ne!(ids[0], ids[1]);
    let body =
        json!({ "model": DemoServer::MODEL, "stream": true, "messages": messages, "tools": tools });
    let (_, _, reply) = send(&demo, "POST", "/v1/chat/completions", &body.to_string()).await;
    assert!(reply.ends_with("data: [DONE]\n\n"));
    let chunks = data(&reply);
    let answer = join(&chunks, "/choices/0/delta/content");
    assert!(answer.contains("1 entry") && answer.contains("“Rope”"), "{answer}");
    assert!(chunks.len() > 5, "streamed in {} chunks", chunks.len());
    assert!(chunks.iter().all(|chunk| chunk["usage"].is_null()));

    let mut body = body;
    body["stream"] = false.into();
    let (_, _, whole) = send(&demo, "POST", "/v1/chat/completions", &body.to_string()).await;
    let whole: Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(whole.pointer("/choices/0/message/content").unwrap(), &json!(answer));
}

#[tokio::test]
async fn a_whole_turn_over_responses() {
    let demo = DemoServer::start().unwrap();
    let tools = tools(|name| json!({ "type": "function", "name": name }));
    let mut input = vec![json!({ "role": "user", "content": "What is in this folder?" })];
    for (name, output) in [("list_dir", "a.md (9 bytes)\n"), ("read_file", "# Rope\nis long\n")] {
        let body =
            json!({ "model": DemoServer::MODEL, "stream": true, "input": input, "tools": tools });
        let (status, _, body) = send(&demo, "POST", "/v1/responses", &body.to_string()).await;
        assert_eq!(status, 200);
        let events = data(&body);
        for (number, event) in events.iter().enumerate() {
            assert_eq!(event["sequence_number"], json!(number));
        }
        let last = events.last().unwrap();
        assert_eq!(last["type"], "response.completed");
        assert!(last.pointer("/response/usage/output_tokens").unwrap().as_u64().unwrap() > 0);
        let item = last.pointer("/response/output/0").unwrap().clone();
        let deltas: Vec<Value> = events
            .iter()
            .filter(|event| event["type"] == "response.function_call_arguments.delta")
            .cloned()
            .collect();
        assert_eq!(json!(join(&deltas, "/delta")), item["arguments"]);
        assert_eq!(item["name"], name);
        let call_id = item["call_id"].clone();
        input.push(item);
        input.push(json!({ "type": "function_call_output", "call_id": call_id, "output": output }));
    }
    assert_ne!(input[1]["call_id"], input[3]["call_id"]);
    let mut body =
        json!({ "model": DemoServer::MODEL, "stream": true, "input": input, "tools": tools });
    let (_, _, reply) = send(&demo, "POST", "/v1/responses", &body.to_string()).await;
    let events = data(&reply);
    let deltas: Vec<Value> = events
        .iter()
        .filter(|event| event["type"] == "response.output_text.delta")
        .cloned()
        .collect();
    let answer = join(&deltas, "/delta");
    assert!(answer.contains("1 entry") && answer.contains("“Rope”"), "{answer}");
    let text = "/response/output/0/content/0/text";
    assert_eq!(events.last().unwrap().pointer(text).unwrap(), &json!(answer));

    body["stream"] = false.into();
    let (_, _, whole) = send(&demo, "POST", "/v1/responses", &body.to_string()).await;
    let whole: Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(whole.pointer("/output/0/content/0/text").unwrap(), &json!(answer));
}

#[tokio::test]
async fn what_is_to_be_said_slowly_takes_its_time() {
    let demo = DemoServer::start().unwrap();
    for (path, key) in [("chat/completions", "messages"), ("responses", "input")] {
        let said = json!([{ "role": "user", "content": "slowly: one two three four five six" }]);
        let mut body = json!({ "model": DemoServer::MODEL, "stream": true });
        body[key] = said;
        let begun = Instant::now();
        let path = format!("/v1/{path}");
        let (_, _, reply) = send(&demo, "POST", &path, &body.to_string()).await;
        assert!(reply.contains("three four"), "{reply}");
        let events = reply.matches("data: ").count();
        let pauses = u32::try_from(events).unwrap() - 1;
        assert!(pauses >= 5, "{reply}");
        assert!(begun.elapsed() >= Duration::from_millis(200) * pauses);
    }
}

#[tokio::test]
async fn the_same_request_gets_the_same_bytes() {
    let demo = DemoServer::start().unwrap();
    let body = json!({ "model": DemoServer::MODEL, "stream": true, "input": "hi" }).to_string();
    let (_, _, first) = send(&demo, "POST", "/v1/responses", &body).await;
    let (_, _, second) = send(&DemoServer::start().unwrap(), "POST", "/v1/responses", &body).await;
    assert_eq!(first, second);
}

#[tokio::test]
async fn what_is_wrong_is_said_in_the_words_of_the_protocol() {
    let demo = DemoServer::start().unwrap();
    for (method, path, body, status, code) in [
        ("POST", "/v1/nowhere", "{}", 404, "not_found"),
        ("GET", "/", "", 404, "not_found"),
        ("GET", "/v1/responses", "", 405, "method_not_allowed"),
        ("POST", "/v1/responses", "{", 400, "invalid_request"),
        ("POST", "/v1/responses", r#"{"model":"demo-script"}"#, 400, "invalid_request"),
        ("POST", "/v1/responses", r#"{"model":"x","input":"a"}"#, 404, "model_not_found"),
    ] {
        let (got, head, reply) = send(&demo, method, path, body).await;
        assert_eq!(got, status, "{method} {path}");
        assert!(head.contains("application/json"), "{head}");
        let reply: Value = serde_json::from_str(&reply).unwrap();
        assert_eq!(reply.pointer("/error/code").unwrap(), code, "{method} {path}");
    }
    let (status, _, models) = send(&demo, "GET", "/v1/models", "").await;
    let models: Value = serde_json::from_str(&models).unwrap();
    assert_eq!((status, models.pointer("/data/0/id").unwrap()), (200, &json!("demo-script")));
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_before_it_is_taken() {
    let demo = DemoServer::start().unwrap();
    let mut socket = TcpStream::connect(demo.addr()).await.unwrap();
    let length = 33 * 1024 * 1024;
    let head =
        format!("POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut start = [0; 12];
    socket.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 413");
}

#[tokio::test]
async fn dropping_it_stops_it() {
    let demo = DemoServer::start().unwrap();
    let addr = demo.addr();
    let mut socket = TcpStream::connect(addr).await.unwrap();
    socket
        .write_all(b"POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n")
        .await
        .unwrap();
    drop(demo);
    let mut rest = Vec::new();
    // A reset and an orderly end are both an end.
    drop(socket.read_to_end(&mut rest).await);
    assert!(rest.is_empty());
    assert!(TcpStream::connect(addr).await.is_err());
}

#[test]
fn without_a_runtime_it_says_so() {
    assert!(matches!(DemoServer::start(), Err(DemoError::NoRuntime)));
}
