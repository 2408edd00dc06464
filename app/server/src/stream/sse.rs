//! Server-sent events: `GET /v1/sessions/{id}/events`.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use serde::Serialize;
use windlass_engine::Event;
use windlass_engine::ports::codec::CodecError;

use super::begin::{acquire_permit, open_stream};
use super::client_stream::{ClientStream, StreamMessage};
use super::cursor::{Cursor, EventsQuery};
use super::sse_buffer::SseBuffer;
use crate::api::answers::{BadCursor, NoSession};
use crate::api::{ReadRight, SessionAccess};
use crate::app::App;
use crate::problem::Problem;

/// Bytes after which a write is complete.
pub(crate) const WRITE: usize = 32 * 1024;

/// Delay before a client reconnects, in milliseconds: the minimum, and the largest random addition,
/// so that not all return at once.
const RETRY: (u64, u64) = (1_000, 1_000);

/// Streams a session's events as server-sent events: facts from a cursor on, or all without one,
/// with live events between them.
#[utoipa::path(
    get,
    path = "/sessions/{id}/events",
    tag = "events",
    params(
        ("id" = String, Path, description = "The session."),
        ("Last-Event-ID" = Option<u64>, Header, description = "The last position that the client has."),
        EventsQuery,
    ),
    responses(
        (status = 200, description = "A stream that does not end by itself.", body = String,
         content_type = "text/event-stream"),
        NoSession, BadCursor,
    )
)]
pub(super) async fn events(
    State(app): State<Arc<App>>,
    seen: SessionAccess<ReadRight>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let cursor = Cursor::of(&uri, &headers)?;
    let pass = acquire_permit(&app, &seen.caller)?;
    let following = open_stream(&app, seen.caller, &seen.id, cursor, pass).await?;
    let mut lines = SseBuffer::default();
    lines.retry(retry(&app));
    Ok(respond(SseClient { stream: following, lines }))
}

/// Returns the delay before a client reconnects, in milliseconds.
pub(crate) fn retry(app: &App) -> u64 {
    let (least, more) = RETRY;
    least.saturating_add(app.clock.entropy() % more)
}

/// Client with its ready events.
struct SseClient {
    stream: ClientStream,
    lines: SseBuffer,
}

fn respond(sse: SseClient) -> Response {
    let pieces = unfold(sse, |mut sse| async move {
        let piece = sse.next_chunk().await?;
        Some((Ok::<_, Infallible>(piece), sse))
    });
    stream_response(Body::from_stream(pieces))
}

/// Creates the response of a stream.
pub(crate) fn stream_response(body: Body) -> Response {
    let headers: [(HeaderName, HeaderValue); 3] = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        // Header that disables buffering in some proxies.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (headers, body).into_response()
}

impl SseClient {
    /// Returns the next chunk: all ready events, up to a bound. `None` at the end.
    async fn next_chunk(&mut self) -> Option<Bytes> {
        if self.lines.len() == 0 {
            let told = self.stream.next().await?;
            self.write(told);
        }
        while self.lines.len() < WRITE
            && let Some(told) = self.stream.ready()
        {
            self.write(told);
        }
        self.lines.take_chunk()
    }

    fn write(&mut self, told: StreamMessage) {
        let lines = &mut self.lines;
        match told {
            StreamMessage::Event(event) => {
                if let Err(error) = write(lines, &event) {
                    self.stream.defect(error);
                }
            }
            StreamMessage::Heartbeat => lines.heartbeat(),
            StreamMessage::Store(store) => lines.event("store", &json(&store)),
            StreamMessage::Lagged(lagged) => lines.event("lagged", &json(&lagged)),
            StreamMessage::End(end) => lines.event("end", &json(&end)),
        }
    }
}

fn write<'a>(lines: &mut SseBuffer, event: &'a Event) -> Result<(), &'a CodecError> {
    match event {
        Event::Fact(fact) => {
            for text in event.json()? {
                lines.fact(fact.seq, text);
            }
        }
        Event::Live(_) => {
            for text in event.json()? {
                lines.event("live", text);
            }
        }
        Event::Lagged { .. } | Event::Store(_) | Event::Ended(_) => {}
    }
    Ok(())
}

/// Serialises a message of the stream itself.
pub(crate) fn json(word: &impl Serialize) -> Bytes {
    // Numbers and names always serialise.
    serde_json::to_vec(word).unwrap_or_default().into()
}
