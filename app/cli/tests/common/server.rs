//! A server of the built command, for one test.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr, Command};
use std::time::Duration;

use serde_json::Value;

use super::{Done, Place, signal};

/// How long an answer may take before the test fails.
const WAIT: Duration = Duration::from_secs(60);

/// A server that runs. It is killed when this is dropped.
pub(crate) struct Server {
    child: Child,
    err: BufReader<ChildStderr>,
    /// What it printed: its address, and the token behind `#`.
    pub(crate) link: String,
}

impl Server {
    /// Starts a server at a free port, and waits until it has printed its address.
    pub(crate) fn start(place: &Place, words: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0", place, words)
    }

    /// The same at this address.
    pub(crate) fn start_at(listen: &str, place: &Place, words: &[&str]) -> Self {
        let all = [&["serve", "--listen", listen], words].concat();
        Self::of(&mut place.command(&all))
    }

    /// The same as [`start`](Self::start), and it says on standard error what passes this filter.
    pub(crate) fn start_logging(filter: &str, place: &Place, words: &[&str]) -> Self {
        let all = [&["serve", "--listen", "127.0.0.1:0"], words].concat();
        Self::of(place.command(&all).env("WINDLASS_LOG", filter))
    }

    /// The same by a command that serves.
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let (mut link, mut before) = (String::new(), String::new());
        // A warning about what an earlier process left may come first.
        while !link.starts_with("http://") {
            before.push_str(&link);
            link.clear();
            let read = err.read_line(&mut link).unwrap();
            assert!(read > 0, "no address: {before}");
        }
        let link = link.trim_end().to_owned();
        Self { child, err, link }
    }

    /// Where it listens.
    pub(crate) fn at(&self) -> SocketAddr {
        let (at, _) = self.link.split_once("/#").unwrap_or((&self.link, ""));
        let at = at.strip_prefix("http://").unwrap().trim_end_matches('/');
        at.parse().unwrap()
    }

    /// The token that it printed.
    pub(crate) fn token(&self) -> &str {
        self.link.split_once("#token=").unwrap().1
    }

    pub(crate) fn child(&self) -> &Child {
        &self.child
    }

    /// The next line that it says on standard error.
    pub(crate) fn said(&mut self) -> String {
        let mut line = String::new();
        self.err.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Reads what it says on standard error until a line has these words.
    pub(crate) fn said_at_last(&mut self, words: &str) {
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            let read = self.err.read_line(&mut line).unwrap();
            assert!(read > 0, "it ended and has not said {words:?}");
        }
    }

    /// A connection to it.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.at()).unwrap();
        stream.set_read_timeout(Some(WAIT)).unwrap();
        stream.set_write_timeout(Some(WAIT)).unwrap();
        stream
    }

    /// Sends these bytes, and reads all that comes until the connection is closed: the status, and
    /// what follows the headers.
    pub(crate) fn ask(&self, request: &str) -> (u16, String) {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        (status, body.to_owned())
    }

    /// Asks for this path with a token, and reads the whole answer.
    pub(crate) fn get(&self, token: &str, path: &str, more: &str) -> (u16, Value) {
        self.json(&format!("GET {path}"), token, more, "")
    }

    /// Sends JSON to this path with a token, and reads the whole answer.
    pub(crate) fn post(&self, token: &str, path: &str, body: &Value) -> (u16, Value) {
        let form = "Content-Type: application/json\r\n";
        self.json(&format!("POST {path}"), token, form, &body.to_string())
    }

    fn json(&self, what: &str, token: &str, more: &str, body: &str) -> (u16, Value) {
        let (at, length) = (self.at(), body.len());
        let (status, body) = self.ask(&format!(
            "{what} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\nContent-Length: {length}\r\n\
             Authorization: Bearer {token}\r\n{more}\r\n{body}"
        ));
        (status, serde_json::from_str(&body).unwrap_or(Value::Null))
    }

    /// Opens a session, and answers its id.
    pub(crate) fn session(&self) -> String {
        let (status, session) = self.post(self.token(), "/v1/sessions", &serde_json::json!({}));
        assert_eq!(status, 201, "{session}");
        session["id"].as_str().unwrap().to_owned()
    }

    /// Sends a session an input for a turn of its own.
    pub(crate) fn send(&self, session: &str, text: &str) {
        let body = serde_json::json!({"text": text});
        let path = format!("/v1/sessions/{session}/turns");
        let (status, sent) = self.post(self.token(), &path, &body);
        assert_eq!(status, 202, "{sent}");
    }

    /// Sends it a signal, and waits until it has ended.
    pub(crate) fn stop(mut self, name: &str) -> Done {
        signal(&self.child, name);
        self.ended()
    }

    /// Waits until it has ended.
    pub(crate) fn ended(&mut self) -> Done {
        let mut err = String::new();
        self.err.read_to_string(&mut err).unwrap();
        let mut out = String::new();
        let from = self.child.stdout.as_mut().unwrap();
        from.read_to_string(&mut out).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        Done { code, out, err }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The SHA-256 of a token, as the configuration has it.
pub(crate) fn sha256(token: &str) -> String {
    windlass_server::TokenHash::of(token).to_string()
}
