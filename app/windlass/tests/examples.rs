//! The examples, each run to its end against the demo model: what they print is what their pages say.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::{BufRead as _, BufReader, Lines, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

/// Returns the program of an example. Cargo builds it with the tests of the package, unless one of
/// them is selected.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().and_then(|deps| deps.parent()).unwrap().join("examples").join(name);
    let advice = "build it: cargo build -p windlass --examples --all-features";
    assert!(path.is_file(), "{} does not exist; {advice}", path.display());
    path
}

/// Runs an example, and returns what it prints.
fn printed(name: &str) -> String {
    let ran = Command::new(program(name)).stdin(Stdio::null()).output().unwrap();
    let (printed, faults) =
        (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && faults.is_empty(), "{name}: {printed}{faults}");
    printed.into_owned()
}

/// Checks that a text has these parts, in this order.
#[track_caller]
fn has_in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else {
            panic!("{part:?} is not in {rest:?}, which is the rest of {text:?}");
        };
        rest = after;
    }
}

#[test]
fn quick_start() {
    has_in_order(&printed("quick_start"), &["It is sunny in Oslo."]);
}

#[test]
fn streaming() {
    has_in_order(&printed("streaming"), &["one two three four five six", "\n(session "]);
}

#[test]
fn many_tenants() {
    let printed = printed("many_tenants");
    has_in_order(&printed, &["acme reads: our plans are secret", "umbrella reads: ", "no session"]);
    assert_eq!(printed.matches("secret").count(), 1, "{printed}");
}

#[test]
fn sub_agents() {
    let printed = printed("sub_agents");
    has_in_order(&printed, &["I called research 1 times", "Bergen has a harbour", "4 samples"]);
}

#[test]
#[cfg(feature = "ptclisp")]
fn program_mode() {
    let printed = printed("program_mode");
    has_in_order(&printed, &["100", "200", "300", "4 calls for 1 request"]);
}

#[test]
fn own_provider() {
    assert_eq!(printed("own_provider"), "agents without tools\n");
}

#[test]
fn own_store() {
    let printed = printed("own_store");
    has_in_order(&printed, &["the first", "the second", " appends of both turns"]);
}

#[test]
fn crash_and_resume() {
    let printed = printed("crash_and_resume");
    has_in_order(
        &printed,
        &[
            "first process: shipping 1",
            "first process: shipping 2",
            "first process: signal: 9",
            // The call that died runs again.
            "shipping 2",
            "shipping 3",
            "order 3 is on its way",
            "3 orders were shipped",
        ],
    );
    assert_eq!(printed.matches("shipping 1").count(), 1, "{printed}");
}

#[test]
fn policy() {
    has_in_order(&printed("policy"), &["the policy holds, with ", " payments denied"]);
}

/// A running server, which ends with the test.
struct Running {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    address: String,
}

impl Running {
    fn start(name: &str) -> Self {
        let started = Command::new(program(name)).stdout(Stdio::piped()).spawn();
        let mut process = started.unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let address = first.strip_prefix("listening at ").unwrap().to_owned();
        Self { process, lines, address }
    }

    /// Returns the status and the body of a response.
    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut socket = TcpStream::connect(&self.address).unwrap();
        let head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n");
        let length = body.len();
        write!(socket, "{head}content-length: {length}\r\n\r\n{body}").unwrap();
        let mut response = String::new();
        socket.read_to_string(&mut response).unwrap();
        let status = response.split(' ').nth(1).unwrap().parse().unwrap();
        (status, response.split_once("\r\n\r\n").unwrap().1.to_owned())
    }

    /// Waits for the question of a session, and returns its call.
    fn question(&self, session: &str) -> String {
        loop {
            let (_, body) = self.ask("GET", &format!("/sessions/{session}/approvals"), "");
            if let Some((_, rest)) = body.split_once("\"call\":") {
                assert!(body.contains("old.txt"), "{body}");
                return rest.chars().take_while(char::is_ascii_digit).collect();
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn approvals() {
    let mut server = Running::start("approvals");
    for (session, word, result) in
        [("allowed", "allow", "old.txt is gone"), ("denied", "it is needed", "it is needed")]
    {
        let prompt = r#"repeat 1: delete {"path": "old.txt"}"#;
        let path = format!("/sessions/{session}");
        assert_eq!(server.ask("POST", &path, prompt).0, 202);
        let call = server.question(session);
        let path = format!("/sessions/{session}/approvals/{call}");
        assert_eq!(server.ask("POST", &path, word).0, 204);
        assert_eq!(server.ask("POST", &path, word).0, 404, "the question is answered");
        let mut printed = String::new();
        while !printed.contains("demo-script") {
            printed.push_str(&server.lines.next().unwrap().unwrap());
        }
        has_in_order(&printed, &[&format!("{session}: "), result]);
    }
    assert_eq!(server.ask("GET", "/sessions/nobody/approvals", "").0, 404);
}
