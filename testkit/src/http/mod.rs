//! A model server on a loopback socket that answers by a script, byte by byte.
//!
//! It writes HTTP/1.1 itself, so that a test decides every byte that reaches the client's socket,
//! and when. Responses are asked for over HTTP or over a WebSocket on the same port, by one script.
//! It has its own thread, so it serves a blocking test and a child process as well as an
//! async test; dropping it stops it.

mod chat;
mod connection;
mod dialect;
mod gemini;
pub mod grammar;
mod messages;
mod model_request;
mod protocol;
mod reply;
mod request;
mod responses;
mod script;
mod socket;
mod wire;

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use windlass_ports::{CancelSignal, CancelSource};

pub use dialect::Dialect;
pub use gemini::GeminiApi;
pub use model_request::{ModelRequest, OfferedTool, RequestPart};
pub use protocol::{EventEffect, Protocol, ProtocolCapabilities, Refusal};
pub use reply::{Cut, Framing, Reply};
pub use request::{Asked, Ended, Request};
pub use script::Script;

use crate::ledger::Ledger;

/// Connections served at one time; more wait in the listener's queue.
const CONNECTIONS: usize = 256;

/// A model server on a loopback socket.
///
/// ```
/// use std::io::{Read, Write};
/// use std::net::TcpStream;
///
/// use windlass_testkit::http::{Ended, ModelServer, Reply, Script};
/// use windlass_testkit::within;
///
/// let server = ModelServer::start(Script::list([Reply::say("Hello.")]))?;
/// let mut socket = TcpStream::connect(server.addr())?;
/// let body = r#"{"model":"any","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
/// write!(
///     socket,
///     "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
///     body.len(),
/// )?;
/// let mut answer = String::new();
/// socket.read_to_string(&mut answer)?;
/// assert!(answer.contains("data: [DONE]"));
///
/// assert_eq!(server.samples()[0].asked().user.as_deref(), Some("hi"));
/// let ended = within(std::time::Duration::from_secs(10), server.ended(0));
/// assert_eq!(ended, Some(Ended::Whole));
/// assert!(server.misses().is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct ModelServer {
    addr: SocketAddr,
    shared: Arc<Shared>,
    stop: CancelSource,
    thread: Option<JoinHandle<()>>,
}

/// What the connections share.
struct Shared {
    script: Script,
    requests: Ledger<Request>,
    handshakes: Ledger<Request>,
    misses: Ledger<String>,
}

impl ModelServer {
    /// Starts a server on a free loopback port, with a thread of its own.
    ///
    /// # Errors
    /// When the socket cannot be bound or the thread not be started.
    pub fn start(script: impl Into<Script>) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let shared = Arc::new(Shared {
            script: script.into(),
            requests: Ledger::default(),
            handshakes: Ledger::default(),
            misses: Ledger::default(),
        });
        let stop = CancelSource::new();
        let (served, signal) = (shared.clone(), stop.signal());
        let thread = thread::Builder::new().name("model-server".into()).spawn(move || {
            runtime.block_on(serve(listener, served, signal));
        })?;
        Ok(Self { addr, shared, stop, thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Its base URL as a client is given it: `http://127.0.0.1:PORT/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.addr)
    }

    /// All requests that were read whole, in the order of their arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.snapshot()
    }

    /// The handshakes of WebSockets, in the order of their arrival. They are no requests.
    #[must_use]
    pub fn handshakes(&self) -> Vec<Request> {
        self.shared.handshakes.snapshot()
    }

    /// The requests for an answer of a model: what is left without `/v1/models` and the like.
    #[must_use]
    pub fn samples(&self) -> Vec<Request> {
        let sample = |request: &&Request| request.protocol().is_some();
        self.shared.requests.look(|all| all.iter().filter(sample).cloned().collect())
    }

    /// What went against the script, in words: requests after its end, paths that nobody serves,
    /// requests that are not HTTP. A test asserts that this is empty.
    #[must_use]
    pub fn misses(&self) -> Vec<String> {
        self.shared.misses.snapshot()
    }

    /// How many replies of a list are left; 0 for a script that responds by a function.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.shared.script.remaining()
    }

    /// Drops the contents of requests whose replies have ended, so that a server may run for hours.
    pub fn forget(&self) {
        self.shared.requests.change_all(|request| {
            if request.ended.is_some() {
                request.headers = Vec::new();
                request.body = Vec::new();
                request.json = None;
            }
        });
    }

    /// Waits until `count` requests have arrived.
    pub async fn wait_requests(&self, count: usize) {
        self.shared.requests.until(|all| (all.len() >= count).then_some(())).await;
    }

    /// Waits until the reply to request `index`, from 0, has ended, and says how.
    /// [`Ended::HungUp`] means that the client closed the connection first.
    pub async fn ended(&self, index: usize) -> Ended {
        self.shared.requests.until(|all| all.get(index)?.ended).await
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            // A panic in it has been printed; a test must not abort by a second one in a drop.
            drop(thread.join());
        }
    }
}

impl fmt::Debug for ModelServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelServer")
            .field("addr", &self.addr)
            .field("requests", &self.shared.requests.look(<[Request]>::len))
            .finish_non_exhaustive()
    }
}

/// Accepts until it is stopped; stopping ends every connection.
async fn serve(listener: std::net::TcpListener, shared: Arc<Shared>, stop: CancelSignal) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            shared.misses.push(format!("the server could not listen: {error}"));
            return;
        }
    };
    let mut connections = JoinSet::new();
    let mut number = 0_u64;
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    number += 1;
                    connections.spawn(connection::serve(stream, number, shared.clone()));
                }
                Err(error) => {
                    shared.misses.push(format!("a connection could not be accepted: {error}"));
                }
            },
        }
    }
}

#[cfg(test)]
mod tests;
