//! A client of a server that may fail or die at any moment.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Longest time of one request.
const WAIT: Duration = Duration::from_secs(15);

/// A server process, with its address once it has printed it.
pub(crate) struct Served {
    pub(crate) child: Child,
    at: Option<(SocketAddr, String)>,
}

/// Facts that a watcher has received, by position.
pub(crate) type Watched = Arc<Mutex<BTreeMap<u64, String>>>;

impl Served {
    /// Starts a server and reads its address. What else it says is read and dropped.
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let mut at = None;
        let mut line = String::new();
        while err.read_line(&mut line).is_ok_and(|read| read > 0) {
            if let Some((address, token)) = line.trim_end().split_once("/#token=") {
                let address = address.strip_prefix("http://").unwrap().parse().unwrap();
                at = Some((address, token.to_owned()));
                break;
            }
            line.clear();
        }
        thread::spawn(move || std::io::copy(&mut err, &mut std::io::sink()));
        Self { child, at }
    }

    /// Returns true if it has printed its address.
    pub(crate) fn has_started(&self) -> bool {
        self.at.is_some()
    }

    /// Returns true if the process has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Sends a request. `None` if no whole answer comes.
    pub(crate) fn ask(&self, what: &str, more: &str, body: &str) -> Option<(u16, Value)> {
        let (at, token) = self.at.as_ref()?;
        let mut stream = TcpStream::connect_timeout(at, WAIT).ok()?;
        stream.set_read_timeout(Some(WAIT)).ok()?;
        let request = format!(
            "{what} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n{more}\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let status = answer.split(' ').nth(1)?.parse().ok()?;
        let (_, body) = answer.split_once("\r\n\r\n")?;
        Some((status, serde_json::from_str(body).unwrap_or(Value::Null)))
    }

    /// Sends a request with a key until it is accepted, as a client does. `None` if it is not within
    /// the time, or the process ends.
    pub(crate) fn insist(
        &mut self,
        what: &str,
        key: &str,
        body: &str,
        accepted: u16,
        within: Duration,
    ) -> Option<Value> {
        let until = Instant::now() + within;
        let key = format!("Idempotency-Key: {key}\r\n");
        loop {
            match self.ask(what, &key, body) {
                Some((status, answer)) if status == accepted => return Some(answer),
                Some(_) | None if self.has_ended() || Instant::now() > until => return None,
                Some(_) | None => thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    /// Watches a session from its beginning until the connection ends.
    pub(crate) fn watch(&self, session: &str, watched: Watched) -> Option<JoinHandle<()>> {
        let (at, token) = self.at.clone()?;
        let path = format!("/v1/sessions/{session}/events?live=false");
        Some(thread::spawn(move || {
            let Ok(mut stream) = TcpStream::connect(at) else { return };
            let request = format!(
                "GET {path} HTTP/1.1\r\nHost: {at}\r\nAuthorization: Bearer {token}\r\n\r\n"
            );
            if stream.write_all(request.as_bytes()).is_err() {
                return;
            }
            let mut position = None;
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                if let Some(id) = line.strip_prefix("id: ") {
                    position = id.parse().ok();
                } else if let (Some(data), Some(at)) = (line.strip_prefix("data: "), position) {
                    watched.lock().unwrap().insert(at, data.to_owned());
                    position = None;
                }
            }
        }))
    }

    /// Stops the process, and waits until it has ended.
    pub(crate) fn stop(mut self) {
        self.end();
    }

    /// The same, and keeps what is known of it.
    pub(crate) fn end(&mut self) {
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args(["-s", "TERM", &pid]).stderr(Stdio::null()).status();
        let until = Instant::now() + WAIT;
        while !self.has_ended() && Instant::now() < until {
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
