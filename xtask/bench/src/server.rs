//! The model server of the bench: scripted answers over HTTP on a loopback port, and no more.
//!
//! It is one thread in a process of its own. It ends when its standard input does, so it cannot
//! outlive the process that started it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{BufRead, BufReader, Read as _};
use std::net::SocketAddr;
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use anyhow::Context as _;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use crate::script::{Answer, asked, events};
use crate::socket;
use xtask::say::{complain, say};

/// The largest request that is read.
const REQUEST_BYTES: usize = 256 * 1024 * 1024;

/// The size of one write of a long answer.
const WRITE_BYTES: usize = 16 * 1024;

/// Number of answers that are kept rendered.
const KEPT: usize = 64;

/// Serves until standard input ends. The address is the first line of standard output.
///
/// # Errors
/// When no loopback port can be had.
pub(crate) fn run() -> anyhow::Result<()> {
    std::thread::spawn(|| {
        let _ended = std::io::stdin().lock().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let listener = listen().await?;
        say(listener.local_addr()?);
        serve(listener).await;
        Ok(())
    })
}

/// A server in a process of its own; it goes when this is dropped.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    child: Child,
    /// Address that the server listens on.
    pub(crate) address: SocketAddr,
}

impl ServerProcess {
    /// Starts this program as a server.
    ///
    /// # Errors
    /// When it cannot be started or does not print its address.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("scripts")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting the model server")?;
        let stdout = child.stdout.take().context("the model server has no output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).context("reading its address")?;
        let address = line.trim().parse().context("reading the model server's address")?;
        Ok(Self { child, address })
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _gone = self.child.wait();
    }
}

/// A free loopback port.
pub(crate) async fn listen() -> anyhow::Result<TcpListener> {
    TcpListener::bind(("127.0.0.1", 0)).await.context("listening on a loopback port")
}

/// Serves connections for ever.
pub(crate) async fn serve(listener: TcpListener) {
    let ready = Arc::new(Ready::default());
    loop {
        // A failed accept is the client's loss; the next one may be fine.
        if let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(connection(stream, ready.clone()));
        }
    }
}

async fn connection(stream: TcpStream, ready: Arc<Ready>) {
    let _kept_without = stream.set_nodelay(true);
    let answer = service_fn(move |request| {
        let ready = ready.clone();
        async move { Ok::<_, Infallible>(respond(request, &ready).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new();
    // A client that goes away ends its own connection and nothing else.
    let _ended = connection.serve_connection(TokioIo::new(stream), answer).with_upgrades().await;
}

async fn respond(mut request: Request<Incoming>, ready: &Ready) -> Response<Writes> {
    if let Some((upgrade, response)) = socket::switched(&mut request) {
        tokio::spawn(async move {
            if let Err(error) = socket::serve(upgrade).await {
                complain(format_args!("the model server over a WebSocket: {error:#}"));
            }
        });
        return response;
    }
    let answer = match read(request).await {
        Ok(answer) => answer,
        Err(error) => {
            let message = serde_json::json!({ "error": { "message": format!("{error:#}") } });
            let mut response = Response::new(Writes(message.to_string().into()));
            *response.status_mut() = StatusCode::BAD_REQUEST;
            return response;
        }
    };
    let mut response = Response::new(Writes(ready.events(answer)));
    let kind = hyper::header::HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, kind);
    response
}

async fn read(request: Request<Incoming>) -> anyhow::Result<Answer> {
    let path = request.uri().path().to_owned();
    anyhow::ensure!(path.ends_with("/chat/completions"), "nothing is served at {path}");
    let body = Limited::new(request.into_body(), REQUEST_BYTES).collect().await;
    let body = body.map_err(|error| anyhow::anyhow!("reading the request: {error}"))?;
    asked(&body.to_bytes())
}

/// Cache of rendered answers.
#[derive(Debug, Default)]
struct Ready(Mutex<HashMap<Answer, Bytes>>);

impl Ready {
    fn events(&self, answer: Answer) -> Bytes {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = kept.get(&answer) {
            return bytes.clone();
        }
        let bytes = events(answer);
        if kept.len() < KEPT {
            kept.insert(answer, bytes.clone());
        }
        bytes
    }
}

/// Body that is written in chunks without a content length, as a stream is.
#[derive(Default)]
struct Writes(Bytes);

impl Body for Writes {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.0.is_empty() {
            return Poll::Ready(None);
        }
        let size = self.0.len().min(WRITE_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.0.split_to(size)))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }
}
