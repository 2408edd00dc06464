//! Time-outs of requests to the model: each ends an attempt that brings nothing, and says which.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use common::{Place, done};
use windlass_testkit::http::{ModelServer, Reply, Script};

/// Starts a server that answers each request with this text, and then with a comment every 20 ms for
/// as long as the client listens. Returns its base URL.
fn comments_after(text: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || comment(stream, text));
        }
    });
    url
}

fn comment(mut stream: TcpStream, text: &str) {
    let mut request = [0; 65_536];
    let _ = stream.read(&mut request).unwrap();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let mut next = format!("{head}{text}");
    while stream.write_all(next.as_bytes()).is_ok() {
        thread::sleep(Duration::from_millis(20));
        next = ": keep-alive\n\n".to_owned();
    }
}

const FIRST: &str = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\
    \"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\
    \"content\":\"hello\"},\"finish_reason\":null}]}\n\n";

#[test]
fn comments_do_not_keep_a_stream_alive() {
    let cases = [
        (FIRST, "--idle-timeout", "stood still for 600 ms"),
        ("", "--first-event-timeout", "not begun for 600 ms"),
        (": opened\n\n", "--first-event-timeout", "not begun for 600 ms"),
    ];
    thread::scope(|scope| {
        for (text, flag, words) in cases {
            scope.spawn(move || {
                let place = Place::new();
                let url = comments_after(text);
                let run = ["run", "hello", "--provider", "openai-chat", "--model", "m"];
                let mut command = place.command(&run);
                command.args(["--base-url", &url, flag, "600ms"]);
                command.env("OPENAI_API_KEY", "sk-test");
                let start = Instant::now();
                let run = done(command.output().unwrap());
                assert_ne!(run.code, 0);
                assert!(run.err.contains(words), "{flag}: {}", run.err);
                assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
            });
        }
    });
}

#[test]
fn a_provider_that_asks_for_a_long_wait_is_not_asked_earlier() {
    let place = Place::new();
    let server = ModelServer::start(Script::respond(|_| {
        Reply::error(429, "rate_limit_exceeded", "slow down").header("retry-after", "3600")
    }))
    .unwrap();
    let url = server.base_url();
    let words = ["run", "hello", "--provider", "openai-chat", "--model", "m", "--base-url", &url];
    let mut command = place.command(&words);
    command.env("OPENAI_API_KEY", "sk-test");
    let run = done(command.output().unwrap());
    assert_ne!(run.code, 0);
    assert!(run.err.contains("asks to wait 3600000 ms"), "{}", run.err);
    assert!(run.err.contains("300000 ms"), "{}", run.err);
    assert_eq!(server.samples().len(), 1);
}

#[test]
fn a_timeout_that_cannot_be_is_refused() {
    let place = Place::new();
    for (flag, value) in
        [("--connect-timeout", "61s"), ("--idle-timeout", "0s"), ("--header-timeout", "soon")]
    {
        let run = place.run(&["run", "hello", flag, value]);
        assert_eq!(run.code, 2, "{flag}: {}", run.err);
    }
}
