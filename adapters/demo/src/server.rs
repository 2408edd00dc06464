//! The endpoint: a listener on the loopback interface, its routes and its limits.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::fs::File;
use std::future::poll_fn;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Interval, MissedTickBehavior, interval};
use tracing::debug;

use crate::answer::{MODEL, ModelAnswer};
use crate::error::DemoError;
use crate::request::{Dialect, ParsedRequest, RequestError};
use crate::{chat, responses, script};

/// Bytes of a request's body.
const BODY: usize = 32 * 1024 * 1024;
/// Connections served at one time; more wait in the listener's queue.
const CONNECTIONS: usize = 64;
/// The pause between two events of an answer that is given slowly.
const PAUSE: Duration = Duration::from_millis(200);

/// The demo model: a script that serves until it is dropped.
pub struct DemoServer {
    addr: SocketAddr,
    task: AbortHandle,
}

impl DemoServer {
    /// The name of its one model.
    pub const MODEL: &'static str = MODEL;

    /// Starts it on a free port of the loopback interface, as a task of the current runtime.
    ///
    /// # Errors
    /// [`DemoError`] when there is no current runtime, or no socket.
    ///
    /// # Panics
    /// When the current runtime was built without I/O. One without time serves all but what is to be
    /// said slowly.
    pub fn start() -> Result<Self, DemoError> {
        let runtime = Handle::try_current().map_err(|_| DemoError::NoRuntime)?;
        let listener =
            std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(DemoError::Bind)?;
        listener.set_nonblocking(true).map_err(DemoError::Bind)?;
        let addr = listener.local_addr().map_err(DemoError::Bind)?;
        let listener = TcpListener::from_std(listener).map_err(DemoError::Bind)?;
        let task = runtime.spawn(accept(listener)).abort_handle();
        Ok(Self { addr, task })
    }

    /// Its base URL as a client is given it: `http://127.0.0.1:PORT/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.addr)
    }

    /// Returns the address that it listens at.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl Drop for DemoServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for DemoServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DemoServer").field("addr", &self.addr).finish_non_exhaustive()
    }
}

/// Accepts until it is aborted, which ends every connection with it.
async fn accept(listener: TcpListener) {
    let mut connections = JoinSet::new();
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    let mut spare = spare();
    loop {
        let Ok(permit) = permits.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(async move {
                    serve(stream).await;
                    drop(permit);
                });
            }
            Err(error) => {
                debug!(%error, "a connection to the demo model could not be accepted");
                turn_away(&listener, &mut spare).await;
                // Out of file descriptors it would fail again at once.
                tokio::task::yield_now().await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

/// Opens a file that is held back for [`turn_away`].
fn spare() -> Option<File> {
    File::open("/dev/null").ok()
}

/// Ends a connection for which there was no file descriptor with the one held back. Its client gets an
/// error, and does not wait for an answer until its time is up.
async fn turn_away(listener: &TcpListener, held: &mut Option<File>) {
    if held.take().is_some() {
        // A connection that is gone by now needs no end.
        drop(poll_fn(|context| Poll::Ready(listener.poll_accept(context))).await);
    }
    *held = spare();
}

async fn serve(stream: TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        debug!(%error, "small events to a client of the demo model may come late");
    }
    let service = service_fn(|request| async { Ok::<_, Infallible>(route(request).await) });
    if let Err(error) = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await
    {
        debug!(%error, "a connection to the demo model ended early");
    }
}

async fn route(request: Request<Incoming>) -> Response<PacedBody> {
    let path = request.uri().path().to_owned();
    let (dialect, allowed) = match path.as_str() {
        "/v1/models" => (None, Method::GET),
        "/v1/chat/completions" => (Some(Dialect::Chat), Method::POST),
        "/v1/responses" => (Some(Dialect::Responses), Method::POST),
        _ => return missing(&path),
    };
    if *request.method() != allowed {
        let message = format!("{} {path}: use {allowed}", request.method());
        let mut response = error(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", &message);
        if let Ok(value) = HeaderValue::from_str(allowed.as_str()) {
            response.headers_mut().insert(ALLOW, value);
        }
        return response;
    }
    let Some(dialect) = dialect else {
        return models();
    };
    if request.body().size_hint().lower() > BODY as u64 {
        return too_large();
    }
    match Limited::new(request.into_body(), BODY).collect().await {
        Ok(body) => answer(dialect, &body.to_bytes()),
        Err(cause) if cause.is::<LengthLimitError>() => too_large(),
        Err(cause) => {
            let message = format!("the body could not be read: {cause}");
            error(StatusCode::BAD_REQUEST, "unreadable_body", &message)
        }
    }
}

fn answer(dialect: Dialect, body: &[u8]) -> Response<PacedBody> {
    let asked = match ParsedRequest::parse(dialect, body) {
        Ok(asked) => asked,
        Err(RequestError::Malformed(message)) => {
            return error(StatusCode::BAD_REQUEST, "invalid_request", &message);
        }
        Err(RequestError::UnknownModel(model)) => {
            let message = format!("the model {model:?} does not exist here; there is {MODEL}");
            return error(StatusCode::NOT_FOUND, "model_not_found", &message);
        }
    };
    let answer = ModelAnswer::new(&asked, script::next(&asked), body);
    match (dialect, asked.stream) {
        (Dialect::Chat, true) => events(chat::events(&answer), answer.paced),
        (Dialect::Chat, false) => json_response(StatusCode::OK, &chat::whole(&answer)),
        (Dialect::Responses, true) => events(responses::events(&answer), answer.paced),
        (Dialect::Responses, false) => json_response(StatusCode::OK, &responses::whole(&answer)),
    }
}

fn models() -> Response<PacedBody> {
    let model = json!({ "id": MODEL, "object": "model", "created": 0, "owned_by": "windlass" });
    json_response(StatusCode::OK, &json!({ "object": "list", "data": [model] }))
}

fn missing(path: &str) -> Response<PacedBody> {
    let message =
        format!("{path}: the demo model serves /v1/models, /v1/chat/completions and /v1/responses");
    error(StatusCode::NOT_FOUND, "not_found", &message)
}

fn too_large() -> Response<PacedBody> {
    let message = format!("the body is larger than {BODY} bytes");
    error(StatusCode::PAYLOAD_TOO_LARGE, "too_large", &message)
}

/// An error in the words of the protocol.
fn error(status: StatusCode, code: &str, message: &str) -> Response<PacedBody> {
    let kind = "invalid_request_error";
    let error = json!({ "message": message, "type": kind, "param": null, "code": code });
    json_response(status, &json!({ "error": error }))
}

fn json_response(status: StatusCode, body: &Value) -> Response<PacedBody> {
    let mut response = Response::new(PacedBody::whole(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn events(events: Vec<String>, slowly: bool) -> Response<PacedBody> {
    let mut response = Response::new(PacedBody::stream(events, slowly));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// A body that is known from the start and goes out piece by piece.
struct PacedBody {
    left: VecDeque<Bytes>,
    size: SizeHint,
    /// Interval between pieces of a slow stream.
    pace: Option<Interval>,
}

impl PacedBody {
    fn whole(text: String) -> Self {
        Self {
            size: SizeHint::with_exact(text.len() as u64),
            left: VecDeque::from([Bytes::from(text)]),
            pace: None,
        }
    }

    /// Without a size, so that it goes out in chunks as a model's stream does.
    fn stream(events: Vec<String>, slowly: bool) -> Self {
        let pace = slowly.then(|| {
            let mut pace = interval(PAUSE);
            pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
            pace
        });
        Self {
            size: SizeHint::default(),
            left: events.into_iter().map(Bytes::from).collect(),
            pace,
        }
    }
}

impl Body for PacedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(pace) = &mut self.pace {
            ready!(pace.poll_tick(cx));
        }
        Poll::Ready(self.left.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        self.size
    }
}
