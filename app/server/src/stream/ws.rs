//! WebSocket: `GET /v1/sessions/{id}/ws`. The same events, one envelope a message.

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

use super::begin::{begin, room};
use super::cursor::{Asked, Cursor};
use super::following::{End, Following, Lagged, Told};
use super::sse::json;
use crate::api::answers::{BadCursor, NoSession};
use crate::api::{Read, Seen};
use crate::app::App;
use crate::problem::{Code, Problem};

/// Bytes that wait to be written before a write is made of them.
const WRITE: usize = 32 * 1024;
/// Bytes that are read at once. Nothing is expected of a client but control frames.
const READ: usize = 1_024;
/// Control frames that a client may send between two heartbeats.
const CONTROLS: u32 = 64;
/// Time for a client to answer a close.
const FAREWELL: Duration = Duration::from_secs(1);

/// A word of the stream itself.
#[derive(Serialize)]
#[serde(tag = "control", rename_all = "snake_case")]
enum Control {
    Lagged(Lagged),
    End(End),
}

/// Reason for the end of a socket.
enum Over {
    /// It is told so.
    Close(u16, &'static str),
    /// It is gone, or takes nothing.
    Cut,
}

/// A session's events over a WebSocket: from a cursor on, all without one.
#[utoipa::path(
    get,
    path = "/sessions/{id}/ws",
    tag = "events",
    params(
        ("id" = String, Path, description = "The session."),
        ("Last-Event-ID" = Option<u64>, Header, description = "The last position that the client has."),
        Asked,
    ),
    responses(
        (status = 101, description = "What follows are WebSocket messages."),
        NoSession, BadCursor,
    )
)]
pub(super) async fn socket(
    State(app): State<Arc<App>>,
    seen: Seen<Read>,
    uri: Uri,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let cursor = Cursor::of(&uri, &headers)?;
    let upgrade = upgrade.map_err(|error| {
        let detail = format!("this is a WebSocket: {}", error.body_text());
        Problem::new(Code::BadRequest, detail)
    })?;
    let pass = room(&app, &seen.caller)?;
    let following = begin(&app, seen.caller, &seen.id, cursor, pass).await?;
    let most = app.bounds.frame_bytes;
    let stall = Duration::from_millis(app.bounds.stall_ms);
    Ok(upgrade
        .max_frame_size(most)
        .max_message_size(most)
        .read_buffer_size(READ)
        .write_buffer_size(WRITE)
        .on_upgrade(move |socket| {
            let told = Client {
                socket,
                following,
                stall,
                answered: true,
                controls: 0,
            };
            told.run()
        }))
}

/// One client at its socket.
struct Client {
    socket: WebSocket,
    following: Following,
    /// Longest time for which the client may read nothing.
    stall: Duration,
    /// It has answered the last ping.
    answered: bool,
    /// Control frames since then.
    controls: u32,
}

impl Client {
    async fn run(mut self) {
        let over = loop {
            // What has come is heard first: whoever has answered in time is there, however late it is
            // looked. A client cannot have itself heard alone, as it may not say much.
            let done = tokio::select! {
                biased;
                said = self.socket.recv() => self.hear(said),
                told = self.following.next() => self.tell(told).await,
            };
            if let Err(over) = done {
                break over;
            }
        };
        if let Over::Close(code, reason) = over {
            self.close(code, reason).await;
        }
    }

    /// Tells all that is ready in one write.
    async fn tell(&mut self, told: Option<Told>) -> Result<(), Over> {
        let stall = self.stall;
        let told = timeout(stall, self.tell_ready(told)).await;
        told.unwrap_or(Err(Over::Cut))
    }

    async fn tell_ready(&mut self, told: Option<Told>) -> Result<(), Over> {
        let (mut next, mut bytes, mut last) = (told, 0_usize, Ok(()));
        while let Some(told) = next {
            last = self.write(told, &mut bytes).await?;
            let more = last.is_ok() && bytes < WRITE;
            next = more.then(|| self.following.ready()).flatten();
        }
        self.socket.flush().await.map_err(|_| Over::Cut)?;
        last
    }

    /// Writes one word. What comes back within is why nothing follows it.
    async fn write(&mut self, told: Told, bytes: &mut usize) -> Result<Result<(), Over>, Over> {
        let end = match told {
            Told::Event(event) => {
                self.envelopes(&event, bytes).await?;
                Ok(())
            }
            Told::Beat => {
                self.ping().await?;
                Ok(())
            }
            Told::Lagged(lagged) => {
                self.text(json(&Control::Lagged(lagged))).await?;
                Err(Over::Close(close_code::AGAIN, "lagged"))
            }
            Told::End(end) => {
                self.text(json(&Control::End(end))).await?;
                Err(Over::Close(close_code::AWAY, "end"))
            }
        };
        Ok(end)
    }

    async fn envelopes(&mut self, event: &Event, bytes: &mut usize) -> Result<(), Over> {
        let texts = match event.json() {
            Ok(texts) => texts,
            Err(error) => {
                self.following.defect(error);
                return Ok(());
            }
        };
        for text in texts {
            *bytes = bytes.saturating_add(text.len());
            self.text(text.clone()).await?;
        }
        Ok(())
    }

    async fn text(&mut self, text: Bytes) -> Result<(), Over> {
        let text = Utf8Bytes::try_from(text).map_err(|_| Over::Cut)?;
        let sent = self.socket.feed(Message::Text(text)).await;
        sent.map_err(|_| Over::Cut)
    }

    /// Asks whether somebody is there. Who did not answer the last time is not.
    async fn ping(&mut self) -> Result<(), Over> {
        if !std::mem::take(&mut self.answered) {
            return Err(Over::Cut);
        }
        self.controls = 0;
        let sent = self.socket.feed(Message::Ping(Bytes::new())).await;
        sent.map_err(|_| Over::Cut)
    }

    /// Hears what a client sends: nothing is taken but what keeps a connection.
    fn hear(&mut self, said: Option<Result<Message, axum::Error>>) -> Result<(), Over> {
        const TAKEN: Over = Over::Close(close_code::POLICY, "nothing that is sent here is taken");
        match said {
            Some(Ok(Message::Ping(_))) => {}
            Some(Ok(Message::Pong(_))) => self.answered = true,
            // A frame that is too large is one that is not taken.
            Some(Ok(Message::Text(_) | Message::Binary(_)) | Err(_)) => return Err(TAKEN),
            Some(Ok(Message::Close(_))) | None => return Err(Over::Cut),
        }
        self.controls = self.controls.saturating_add(1);
        match self.controls <= CONTROLS {
            true => Ok(()),
            false => Err(TAKEN),
        }
    }

    /// Says why it is over, and leaves the client a moment to hear it.
    async fn close(mut self, code: u16, reason: &'static str) {
        let reason = Utf8Bytes::from_static(reason);
        let close = Message::Close(Some(CloseFrame { code, reason }));
        let closing = async {
            if self.socket.send(close).await.is_ok() {
                // Until it has answered, or is gone.
                while let Some(Ok(_)) = self.socket.recv().await {}
            }
        };
        // A client that does not answer is cut.
        let _ = timeout(FAREWELL, closing).await;
    }
}
