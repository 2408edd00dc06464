//! A client of `windlass serve` that is nothing but curl: it creates, sends, and follows by
//! `Last-Event-ID` through disconnects and a restart of the server. What it was told is the log.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use common::Place;
use common::server::Server;
use serde_json::Value;

/// One who has nothing but curl.
struct Client {
    token: String,
    /// The data of every fact that came, a line each.
    told: String,
    /// The id of the last one.
    last: Option<String>,
    settled: usize,
}

impl Client {
    fn curl(&self, server: &Server, path: &str) -> Command {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--fail", "--no-buffer"])
            .args(["--max-time", "60"])
            .args(["--header", &format!("Authorization: Bearer {}", self.token)])
            .arg(format!("http://{}{path}", server.at()))
            .stdin(Stdio::null());
        curl
    }

    fn post(&self, server: &Server, path: &str, body: &str) -> Value {
        let mut curl = self.curl(server, path);
        curl.args(["--header", "Content-Type: application/json", "--data", body]);
        let done = curl.output().expect("curl is needed: install it");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{path}: {said}");
        serde_json::from_slice(&done.stdout).unwrap()
    }

    /// Follows a session from where it was cut off, until enough has come. Then it is killed.
    fn follow(&mut self, server: &Server, session: &str, enough: impl Fn(&Self, usize) -> bool) {
        let mut curl = self.curl(server, &format!("/v1/sessions/{session}/events"));
        if let Some(last) = &self.last {
            curl.args(["--header", &format!("Last-Event-ID: {last}")]);
        }
        let mut child = curl.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (mut id, mut kind, mut data, mut facts) = (None, String::new(), String::new(), 0);
        for line in lines {
            let line = line.unwrap();
            match line.split_once(": ") {
                Some(("id", is)) => id = Some(is.to_owned()),
                Some(("event", is)) => kind = is.to_owned(),
                Some(("data", is)) => data = is.to_owned(),
                _ if line.is_empty() && kind == "fact" => {
                    facts += 1;
                    self.settled += usize::from(data.contains("\"kind\":\"TurnSettled\""));
                    self.told.push_str(&data);
                    self.told.push('\n');
                    self.last = id.take();
                }
                _ => {}
            }
            if line.is_empty() {
                kind.clear();
                if enough(self, facts) {
                    break;
                }
            }
        }
        assert!(enough(self, facts), "the stream ended after {facts} facts");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn curl_is_all_that_a_client_needs() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: there is no curl on this machine");
        return;
    }
    let place = Place::new();
    let words = ["--token-file", "token"];
    let server = Server::start(&place, &words);
    let mut client =
        Client { token: server.token().to_owned(), told: String::new(), last: None, settled: 0 };
    let opened = client.post(&server, "/v1/sessions", r#"{"permissions":"read_only"}"#);
    let session = opened["id"].as_str().unwrap().to_owned();
    let turns = format!("/v1/sessions/{session}/turns");
    client.post(&server, &turns, r#"{"text":"hello"}"#);
    for _ in 0..3 {
        client.follow(&server, &session, |_, facts| facts == 2);
    }
    assert_eq!(server.stop("TERM").code, 0);
    let server = Server::start(&place, &words);
    client.post(&server, &turns, r#"{"text":"and again"}"#);
    client.follow(&server, &session, |client, _| client.settled == 2);
    assert_eq!(server.stop("TERM").code, 0);
    let log = place.run(&["log", &session]);
    assert_eq!(log.code, 0, "{}", log.err);
    assert_eq!(client.told, log.out);
}
