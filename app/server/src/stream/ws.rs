//! WebSocket: `GET /v1/sessions/{id}/ws`. The same events, one envelope in each message.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use bytes::Bytes;
use futures_util::SinkExt as _;
use serde::Serialize;
use tokio::time::timeout;
use windlass_engine::Event;

use super::begin::{acquire_permit, open_stream};
use super::client_stream::{ClientStream, EndNotice, LagNotice, StoreNotice, StreamMessage};
use super::cursor::{Cursor, EventsQuery};
use super::sse::json;
use crate::api::answers::{BadCursor, NoSession};
use crate::api::{ReadRight, SessionAccess};
use crate::app::App;
use crate::problem::{Problem, ProblemCode};

/// Pending bytes after which they are written.
const WRITE: usize = 32 * 1024;
/// Size of the read buffer. Clients should send control frames only.
const READ: usize = 1_024;
/// Control frames that a client may send between two heartbeats.
const CONTROLS: u32 = 64;
/// Time for a client to acknowledge a close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Message of the stream itself.
#[derive(Serialize)]
#[serde(tag = "control", rename_all = "snake_case")]
enum ControlMessage {
    Store(StoreNotice),
    Lagged(LagNotice),
    End(EndNotice),
}

/// Reason for the end of a socket.
enum SocketEnd {
    /// The client receives a close frame.
    Close(u16, &'static str),
    /// The client is gone, or reads nothing.
    Drop,
}

/// Streams a session's events over a WebSocket: from a cursor on, or all without one.
#[utoipa::path(
    get,
    path = "/sessions/{id}/ws",
    tag = "events",
    params(
        ("id" = String, Path, description = "The session."),
        ("Last-Event-ID" = Option<u64>, Header, description = "The last position that the client has."),
        EventsQuery,
    ),
    responses(
        (status = 101, description = "What follows are WebSocket messages."),
        NoSession, BadCursor,
    )
)]
pub(super) async fn socket(
    State(app): State<Arc<App>>,
    seen: SessionAccess<ReadRight>,
    uri: Uri,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let cursor = Cursor::of(&uri, &headers)?;
    let upgrade = upgrade.map_err(|error| {
        let detail = format!("this is a WebSocket: {}", error.body_text());
        Problem::new(ProblemCode::BadRequest, detail)
    })?;
    let pass = acquire_permit(&app, &seen.caller)?;
    let following = open_stream(&app, seen.caller, &seen.id, cursor, pass).await?;
    let most = app.bounds.frame_bytes;
    let stall = Duration::from_millis(app.bounds.stall_ms);
    Ok(upgrade
        .max_frame_size(most)
        .max_message_size(most)
        .read_buffer_size(READ)
        .write_buffer_size(WRITE)
        .on_upgrade(move |socket| {
            let told =
                SocketClient { socket, stream: following, stall, answered: true, controls: 0 };
            told.run()
        }))
}

/// Client with its socket.
struct SocketClient {
    socket: WebSocket,
    stream: ClientStream,
    /// Longest time for which the client may read nothing.
    stall: Duration,
    /// True if the client answered the last ping.
    answered: bool,
    /// Control frames since the last ping.
    controls: u32,
}

impl SocketClient {
    async fn run(mut self) {
        let over = loop {
            // Received frames come first: a client that answered in time is alive, even if the
            // answer is read late. A client cannot block events this way, since its frames are
            // limited.
            let done = tokio::select! {
                biased;
                said = self.socket.recv() => self.receive(said),
                told = self.stream.next() => self.send(told).await,
            };
            if let Err(over) = done {
                break over;
            }
        };
        if let SocketEnd::Close(code, reason) = over {
            self.close(code, reason).await;
        }
    }

    /// Sends all ready messages in one write.
    async fn send(&mut self, told: Option<StreamMessage>) -> Result<(), SocketEnd> {
        let stall = self.stall;
        let told = timeout(stall, self.send_ready(told)).await;
        told.unwrap_or(Err(SocketEnd::Drop))
    }

    async fn send_ready(&mut self, told: Option<StreamMessage>) -> Result<(), SocketEnd> {
        let (mut next, mut bytes, mut last) = (told, 0_usize, Ok(()));
        while let Some(told) = next {
            last = self.write(told, &mut bytes).await?;
            let more = last.is_ok() && bytes < WRITE;
            next = more.then(|| self.stream.ready()).flatten();
        }
        self.socket.flush().await.map_err(|_| SocketEnd::Drop)?;
        last
    }

    /// Writes one message. Returns the reason if nothing may follow it.
    async fn write(
        &mut self,
        told: StreamMessage,
        bytes: &mut usize,
    ) -> Result<Result<(), SocketEnd>, SocketEnd> {
        let end = match told {
            StreamMessage::Event(event) => {
                self.envelopes(&event, bytes).await?;
                Ok(())
            }
            StreamMessage::Heartbeat => {
                self.ping().await?;
                Ok(())
            }
            StreamMessage::Store(store) => {
                self.text(json(&ControlMessage::Store(store))).await?;
                Ok(())
            }
            StreamMessage::Lagged(lagged) => {
                self.text(json(&ControlMessage::Lagged(lagged))).await?;
                Err(SocketEnd::Close(close_code::AGAIN, "lagged"))
            }
            StreamMessage::End(end) => {
                self.text(json(&ControlMessage::End(end))).await?;
                Err(SocketEnd::Close(close_code::AWAY, "end"))
            }
        };
        Ok(end)
    }

    async fn envelopes(&mut self, event: &Event, bytes: &mut usize) -> Result<(), SocketEnd> {
        let texts = match event.json() {
            Ok(texts) => texts,
            Err(error) => {
                self.stream.defect(error);
                return Ok(());
            }
        };
        for text in texts {
            *bytes = bytes.saturating_add(text.len());
            self.text(text.clone()).await?;
        }
        Ok(())
    }

    async fn text(&mut self, text: Bytes) -> Result<(), SocketEnd> {
        let text = Utf8Bytes::try_from(text).map_err(|_| SocketEnd::Drop)?;
        let sent = self.socket.feed(Message::Text(text)).await;
        sent.map_err(|_| SocketEnd::Drop)
    }

    /// Sends a ping. A client that did not answer the last one is gone.
    async fn ping(&mut self) -> Result<(), SocketEnd> {
        if !std::mem::take(&mut self.answered) {
            return Err(SocketEnd::Drop);
        }
        self.controls = 0;
        let sent = self.socket.feed(Message::Ping(Bytes::new())).await;
        sent.map_err(|_| SocketEnd::Drop)
    }

    /// Handles a frame of the client: only control frames are allowed.
    fn receive(&mut self, said: Option<Result<Message, axum::Error>>) -> Result<(), SocketEnd> {
        const TAKEN: SocketEnd =
            SocketEnd::Close(close_code::POLICY, "this stream accepts no messages");
        match said {
            Some(Ok(Message::Ping(_))) => {}
            Some(Ok(Message::Pong(_))) => self.answered = true,
            // A frame that is too large is not allowed either.
            Some(Ok(Message::Text(_) | Message::Binary(_)) | Err(_)) => return Err(TAKEN),
            Some(Ok(Message::Close(_))) | None => return Err(SocketEnd::Drop),
        }
        self.controls = self.controls.saturating_add(1);
        match self.controls <= CONTROLS {
            true => Ok(()),
            false => Err(TAKEN),
        }
    }

    /// Sends the reason for the end, and gives the client a moment to receive it.
    async fn close(mut self, code: u16, reason: &'static str) {
        let reason = Utf8Bytes::from_static(reason);
        let close = Message::Close(Some(CloseFrame { code, reason }));
        let closing = async {
            if self.socket.send(close).await.is_ok() {
                // Until the client acknowledged the close or is gone.
                while let Some(Ok(_)) = self.socket.recv().await {}
            }
        };
        // A client that does not acknowledge is disconnected.
        let _ = timeout(CLOSE_TIMEOUT, closing).await;
    }
}
