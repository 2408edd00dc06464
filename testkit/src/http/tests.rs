//! The server over real sockets: what is scripted is what arrives, to the byte.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_core::StopReason;

use super::*;
use crate::answer::Answer;
use crate::gate::Gate;
use crate::wait::within;

const LIMIT: Duration = Duration::from_secs(60);

fn ask(server: &ModelServer, path: &str, body: &Value) -> TcpStream {
    let mut socket = TcpStream::connect(server.addr()).unwrap();
    send(&mut socket, "POST", path, &body.to_string());
    socket
}

fn send(socket: &mut TcpStream, method: &str, path: &str, body: &str) {
    let length = body.len();
    write!(socket, "{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}")
        .unwrap();
}

fn prompt() -> Value {
    json!({ "model": "m", "messages": [{ "role": "user", "content": "hi" }] })
}

fn ended(server: &ModelServer, index: usize) -> Ended {
    within(LIMIT, server.ended(index)).expect("the reply did not end")
}

/// Head and body until the client is told that the body ends, or the connection does.
fn read_reply(socket: &mut TcpStream) -> (String, Vec<u8>, Result<(), ErrorKind>) {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4_096]);
    loop {
        if let Some((head, body, true)) = split(&bytes) {
            return (head, body, Ok(()));
        }
        let read = match socket.read(&mut buffer) {
            Ok(0) => Err(ErrorKind::UnexpectedEof),
            Ok(read) => Ok(read),
            Err(error) => Err(error.kind()),
        };
        match read {
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
            Err(kind) => {
                let (head, body, _) = split(&bytes).unwrap_or_default();
                return (head, body, Err(kind));
            }
        }
    }
}

fn split(bytes: &[u8]) -> Option<(String, Vec<u8>, bool)> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut rest = &bytes[end + 4..];
    if let Some(length) = head.split("content-length: ").nth(1) {
        let length: usize = length.lines().next().unwrap().parse().unwrap();
        return Some((head, rest.to_vec(), rest.len() == length));
    }
    if !head.contains("transfer-encoding: chunked") {
        return Some((head, rest.to_vec(), false));
    }
    let mut body = Vec::new();
    loop {
        let Some(line) = rest.windows(2).position(|window| window == b"\r\n") else {
            return Some((head, body, false));
        };
        let size = usize::from_str_radix(str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        if rest.len() < line + 4 + size {
            return Some((head, body, false));
        }
        body.extend_from_slice(&rest[line + 2..line + 2 + size]);
        rest = &rest[line + 4 + size..];
        if size == 0 {
            return Some((head, body, true));
        }
    }
}

fn data(body: &[u8]) -> Vec<Value> {
    let text = str::from_utf8(body).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn rich() -> Answer {
    Answer::new()
        .sealed_reasoning("think", "c2VhbA==")
        .text("Größer als gedacht")
        .call("read_file", json!({ "path": "README.md" }))
        .call("list_dir", json!({}))
        .tokens(11, 7)
}

#[test]
fn one_description_makes_a_stream_of_either_dialect() {
    let server = ModelServer::start([Reply::answer(rich()), Reply::answer(rich())]).unwrap();

    let (head, body, _) = read_reply(&mut ask(&server, "/v1/chat/completions", &prompt()));
    assert!(head.starts_with("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"), "{head}");
    assert!(body.ends_with(b"data: [DONE]\n\n"));
    let chunks = data(&body);
    let join = |pointer: &str| -> String {
        chunks.iter().filter_map(|chunk| chunk.pointer(pointer)?.as_str()).collect()
    };
    assert_eq!(join("/choices/0/delta/content"), "Größer als gedacht");
    assert_eq!(join("/choices/0/delta/reasoning_content"), "think");
    assert_eq!(join("/choices/0/finish_reason"), "tool_calls");
    assert_eq!(join("/choices/0/delta/tool_calls/0/function/name"), "read_filelist_dir");
    assert_eq!(chunks.last().unwrap().pointer("/usage/total_tokens"), Some(&json!(18)));

    let (_, body, _) = read_reply(&mut ask(&server, "/v1/responses", &prompt()));
    let events = data(&body);
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], json!(number));
    }
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    let output = last.pointer("/response/output").unwrap();
    assert_eq!(output[0]["encrypted_content"], "c2VhbA==");
    assert_eq!(output[1].pointer("/content/0/text").unwrap(), "Größer als gedacht");
    assert_eq!(output[2]["arguments"], r#"{"path":"README.md"}"#);
    assert_eq!((server.remaining(), server.misses()), (0, Vec::new()));
}

#[test]
fn a_cut_answer_says_why_in_both_dialects() {
    let answer = Answer::new().text("long").stop(StopReason::Length);
    let chat = data(Dialect::Chat.events(&answer).concat().as_bytes());
    assert_eq!(chat.last().unwrap().pointer("/choices/0/finish_reason").unwrap(), "length");
    let responses = data(Dialect::Responses.events(&answer).concat().as_bytes());
    let last = responses.last().unwrap();
    assert_eq!(last["type"], "response.incomplete");
    assert_eq!(last.pointer("/response/incomplete_details/reason").unwrap(), "max_output_tokens");
}

#[test]
fn cuts_are_where_and_how_the_script_says() {
    let text = "data: 0123456789\n\n";
    for framing in [Framing::Chunked, Framing::Length, Framing::Close] {
        for at in 0..text.len() {
            let reply = Reply::stream(text).framed(framing).cut_after(at, Cut::Fin);
            let server = ModelServer::start(reply).unwrap();
            let (_, body, end) = read_reply(&mut ask(&server, "/v1/responses", &prompt()));
            assert_eq!(str::from_utf8(&body).unwrap(), &text[..at], "{framing:?}");
            assert_eq!(end, Err(ErrorKind::UnexpectedEof), "{framing:?} cut at {at}");
            assert_eq!(ended(&server, 0), Ended::Cut);
        }
    }
    let server = ModelServer::start(Reply::stream(text).cut_after(7, Cut::Rst)).unwrap();
    let (_, body, end) = read_reply(&mut ask(&server, "/v1/responses", &prompt()));
    assert_eq!(end, Err(ErrorKind::ConnectionReset));
    assert_eq!(body, b"data: 0");
}

#[test]
fn a_stall_ends_when_the_client_hangs_up_and_the_test_is_told() {
    let server = ModelServer::start(Reply::say("abc").stall_after(20)).unwrap();
    let socket = ask(&server, "/v1/chat/completions", &prompt());
    within(LIMIT, server.wait_requests(1)).unwrap();
    assert_eq!(server.requests()[0].ended, None);
    drop(socket);
    assert_eq!(ended(&server, 0), Ended::HungUp);
    let request = &server.requests()[0];
    assert!(request.ended_at.is_some());
}

#[test]
fn a_gate_holds_the_stream_until_the_test_opens_it() {
    let (head, middle) = (Gate::new(), Gate::new());
    let reply = Reply::raw(200, "abcdef").head_after(&head).pause_after(3, &middle);
    let server = ModelServer::start(reply).unwrap();
    let mut socket = ask(&server, "/v1/responses", &prompt());
    within(LIMIT, head.reached()).unwrap();
    assert_eq!(server.requests()[0].sent, 0);
    head.open();
    within(LIMIT, middle.reached()).unwrap();
    assert!(server.requests()[0].sent > 0);
    middle.open();
    let (_, body, end) = read_reply(&mut socket);
    assert_eq!((body.as_slice(), end), (&b"abcdef"[..], Ok(())));
}

#[test]
fn pieces_are_chunks_and_events_can_be_repeated_left_out_and_put_in() {
    let split = Reply::stream("data: é\n\n").split_every(1);
    let edited =
        Reply::stream("a\n\nb\n\nc\n\n").repeat_event(0).omit_event(2).insert_event(0, ": hi\n\n");
    let cut_short = Reply::say("x").omit_last(1);
    let server = ModelServer::start([split, edited, cut_short]).unwrap();
    let mut socket = ask(&server, "/v1/responses", &prompt());
    let mut raw = Vec::new();
    while !raw.ends_with(b"0\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte).unwrap();
        raw.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&raw);
    assert_eq!(text.matches("\r\n1\r\n").count(), "data: é\n\n".len(), "{text}");

    // The connection is kept, as clients expect.
    send(&mut socket, "POST", "/v1/responses", &prompt().to_string());
    let (_, body, _) = read_reply(&mut socket);
    assert_eq!(body, b": hi\n\na\n\na\n\nc\n\n");
    send(&mut socket, "POST", "/v1/chat/completions", &prompt().to_string());
    let (_, body, _) = read_reply(&mut socket);
    assert!(!String::from_utf8_lossy(&body).contains("[DONE]"));
    let connections: Vec<u64> = server.requests().iter().map(|r| r.connection).collect();
    assert_eq!(connections, [1, 1, 1]);
}

#[test]
fn an_endless_line_goes_on_until_the_client_hangs_up() {
    let server = ModelServer::start(Reply::endless_line()).unwrap();
    let mut socket = ask(&server, "/v1/responses", &prompt());
    let mut taken = vec![0; 2 * 1024 * 1024];
    socket.read_exact(&mut taken).unwrap();
    let (_, body, whole) = split(&taken).unwrap();
    assert!(body.len() > 1_900_000 && !body.contains(&b'\n') && !whole);
    drop(socket);
    assert_eq!(ended(&server, 0), Ended::HungUp);
    assert!(server.requests()[0].sent >= 2 * 1024 * 1024);
}

#[test]
fn a_filled_body_has_the_length_that_it_claims() {
    let count = 3 * wire::FILL as u64 + 5;
    for framing in [Framing::Chunked, Framing::Length] {
        let server = ModelServer::start(Reply::filled("<", b'y', count).framed(framing)).unwrap();
        let (_, body, end) = read_reply(&mut ask(&server, "/v1/responses", &prompt()));
        assert_eq!((body.len() as u64, end), (count + 1, Ok(())), "{framing:?}");
    }
}

#[test]
fn heads_are_what_the_script_says() {
    let server = ModelServer::start([
        Reply::error(429, "slow", "wait").header("retry-after", "2"),
        Reply::html(),
        Reply::redirect(307, "http://127.0.0.1:1/v1"),
        Reply::say("x").claiming_encoding("gzip"),
    ])
    .unwrap();
    for expected in [
        "HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\nretry-after: 2",
        "HTTP/1.1 200 OK\r\ncontent-type: text/html",
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/v1",
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip",
    ] {
        let (head, _, end) = read_reply(&mut ask(&server, "/v1/responses", &prompt()));
        assert!(head.starts_with(expected), "{head}");
        assert_eq!(end, Ok(()));
    }
}

#[test]
fn asking_once_too_often_or_elsewhere_is_answered_and_kept() {
    let server = ModelServer::start(Script::list([])).unwrap();
    let (head, body, _) = read_reply(&mut ask(&server, "/v1/responses", &prompt()));
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
    assert!(String::from_utf8_lossy(&body).contains("run out"));
    let (head, _, _) = read_reply(&mut ask(&server, "/v2/elsewhere", &prompt()));
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
    let mut socket = TcpStream::connect(server.addr()).unwrap();
    socket.write_all(b"EHLO me\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert_eq!(server.misses().len(), 3, "{:?}", server.misses());
    assert_eq!(server.samples().len(), 1);

    let mut socket = TcpStream::connect(server.addr()).unwrap();
    send(&mut socket, "GET", "/v1/models", "");
    let (_, body, _) = read_reply(&mut socket);
    let models: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(models.pointer("/data/0/id").unwrap(), "scripted");
}

#[test]
fn a_strict_server_refuses_what_a_real_one_would_and_says_why() {
    let odd = json!({ "model": "m", "stream": true, "messages": [{ "role": "developer", "content": "hi" }] });
    let replies = || Script::list([Reply::say("first"), Reply::say("second")]);
    let said = |server: &ModelServer, body: &Value| {
        let (head, body, _) = read_reply(&mut ask(server, "/v1/chat/completions", body));
        (head, String::from_utf8_lossy(&body).into_owned())
    };

    let server = ModelServer::start(replies().strict()).unwrap();
    let (head, body) = said(&server, &prompt());
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
    assert!(body.contains("it asks for no stream"), "{body}");
    assert_eq!(server.misses().len(), 1);
    assert_eq!(server.remaining(), 2, "a refusal takes no reply");
    let (head, _) = said(&server, &odd);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_eq!(server.remaining(), 1);

    let server = ModelServer::start(replies().strict_as(&grammar::MISTRAL)).unwrap();
    let (head, body) = said(&server, &odd);
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
    assert!(body.contains("messages[0].role"), "{body}");
    let misses = server.misses();
    assert!(misses[0].contains("to Mistral: messages[0].role"), "{misses:?}");
}

#[test]
fn a_function_answers_by_what_the_conversation_holds_in_either_dialect() {
    let server = ModelServer::start(Script::respond(|request| {
        let asked = request.asked();
        match asked.results.last() {
            Some((_, output)) => Reply::say(format!("it says {output}")),
            None => Reply::call("look", json!({ "at": asked.user })),
        }
    }))
    .unwrap();
    let chat = json!({ "messages": [
        { "role": "user", "content": "old" },
        { "role": "assistant", "tool_calls": [{ "id": "c", "function": { "name": "a", "arguments": "{}" } }] },
        { "role": "tool", "tool_call_id": "c", "content": "stale" },
        { "role": "user", "content": [{ "type": "text", "text": "new" }] },
        { "role": "system", "content": "mind the gap" },
    ], "tools": [{ "type": "function", "function": { "name": "look" } }] });
    let responses = json!({ "input": [
        { "type": "message", "role": "developer", "content": "mind the gap" },
        { "role": "user", "content": [{ "type": "input_text", "text": "new" }] },
        { "type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}" },
        { "type": "function_call_output", "call_id": "c1", "output": "fresh" },
    ], "tools": [{ "type": "function", "name": "look" }] });

    let (_, body, _) = read_reply(&mut ask(&server, "/v1/chat/completions", &chat));
    assert!(String::from_utf8_lossy(&body).contains("tool_calls"));
    let (_, body, _) = read_reply(&mut ask(&server, "/v1/responses", &responses));
    assert!(String::from_utf8_lossy(&body).contains(r#""text":"it says fresh""#));
    let asked = server.samples()[1].asked();
    assert_eq!(asked.user.as_deref(), Some("new"));
    assert_eq!(asked.calls, [("c1".into(), "look".into(), "{}".into())]);
    assert_eq!(asked.tools, ["look"]);
    assert!(server.samples()[0].asked().results.is_empty());
    for sample in server.samples() {
        assert_eq!(sample.asked().context, ["mind the gap"]);
    }
}

#[test]
fn a_request_body_may_come_in_chunks() {
    let server = ModelServer::start(Reply::say("ok")).unwrap();
    let mut socket = TcpStream::connect(server.addr()).unwrap();
    let head =
        "POST /v1/responses HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n";
    socket.write_all(head.as_bytes()).unwrap();
    let mut interim = [0; 25];
    socket.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    socket.write_all(b"8\r\n{\"input\"\r\n5;x=y\r\n:\"a\"}\r\n0\r\n\r\n").unwrap();
    let (_, _, end) = read_reply(&mut socket);
    assert_eq!(end, Ok(()));
    assert_eq!(server.requests()[0].json, Some(json!({ "input": "a" })));
}

#[test]
fn dropping_the_server_ends_what_it_has_under_way() {
    let server = ModelServer::start(Reply::say("abc").stall_after(0)).unwrap();
    let mut socket = ask(&server, "/v1/responses", &prompt());
    within(LIMIT, server.wait_requests(1)).unwrap();
    let addr = server.addr();
    drop(server);
    let mut rest = Vec::new();
    drop(socket.read_to_end(&mut rest));
    assert!(TcpStream::connect(addr).is_err());
}
