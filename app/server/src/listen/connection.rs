//! Connection: HTTP/1.1 with time-outs and size limits.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Request, StatusCode};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;

use super::phase::SharedPhase;
use super::slots::ConnectionSlot;
use super::timed_stream::TimedStream;
use crate::app::App;
use crate::limits::ServerLimits;

/// Bytes that the operating system may buffer for a client that does not read.
const SEND_BUFFER: usize = 256 * 1024;
/// Smallest buffer that hyper accepts.
const SMALLEST_BUFFER: usize = 8 * 1024;

/// Serves a connection to its end. The slot is held until nothing uses the connection any more.
pub(super) async fn serve(stream: TcpStream, router: Router, app: Arc<App>, place: ConnectionSlot) {
    let bounds = app.bounds;
    tune(&stream, &bounds);
    let pulse = Arc::new(SharedPhase::default());
    let times = (Duration::from_millis(bounds.header_ms), Duration::from_millis(bounds.stall_ms));
    let io = TimedStream::new(stream, pulse.clone(), times, place);
    let routes = TowerToHyperService::new(router);
    let service = service_fn(move |request: Request<Incoming>| {
        pulse.on_head();
        let (answering, pulse) = (routes.call(request), pulse.clone());
        async move {
            let response = answering.await?;
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                pulse.on_upgrade();
            }
            Ok::<_, Infallible>(
                response.map(|body| ResponseBody { body, _end: ResponseGuard(pulse) }),
            )
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(bounds.idle_ms))
        .max_headers(bounds.headers)
        .max_header_size(bounds.header_bytes)
        .max_buf_size(bounds.header_bytes.max(SMALLEST_BUFFER));
    let connection = http.serve_connection(TokioIo::new(io), service);
    let mut connection = pin!(connection.with_upgrades());
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = app.drained() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        // Clients that disconnect, are too slow, or send invalid HTTP are no fault of the server.
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Configures the socket so that the operating system ends unread data after a time and buffers
/// little of it.
fn tune(stream: &TcpStream, bounds: &ServerLimits) {
    let set = [
        stream.set_nodelay(true).map_err(|error| error.to_string()),
        rustix::net::sockopt::set_socket_send_buffer_size(stream, SEND_BUFFER)
            .map_err(|error| error.to_string()),
        #[cfg(target_os = "linux")]
        rustix::net::sockopt::set_tcp_user_timeout(
            stream,
            u32::try_from(bounds.stall_ms).unwrap_or(u32::MAX),
        )
        .map_err(|error| error.to_string()),
    ];
    for error in set.into_iter().filter_map(Result::err) {
        tracing::debug!(%error, "an option of a connection cannot be set");
    }
}

/// Body of a response; its end ends the response.
struct ResponseBody {
    body: Body,
    _end: ResponseGuard,
}

struct ResponseGuard(Arc<SharedPhase>);

impl Drop for ResponseGuard {
    fn drop(&mut self) {
        self.0.on_response_end();
    }
}

impl hyper::body::Body for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
