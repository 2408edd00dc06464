//! Stream: follows the events of a server's session over as many connections as necessary.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};
use windlass_engine::core::Seq;
use windlass_engine::ports::WireBody;
use windlass_engine::{Event, LiveCheck};

use super::client::{RemoteSession, RequestFailure};
use super::frames::{FrameParser, StreamFrame};

/// Longest unavailability of a server before the stream ends.
const MAX_ABSENCE: Duration = Duration::from_secs(300);
/// First delay between two attempts; it doubles each time.
const BACKOFF: Duration = Duration::from_millis(250);
/// Longest delay between two attempts.
const BACKOFF_MOST: Duration = Duration::from_secs(10);
/// Longest silence of a stream: its heartbeats arrive three times as often.
const MAX_SILENCE: Duration = Duration::from_secs(45);

/// Events of a session: each fact after the cursor once and in order, with live events between them.
pub(crate) struct SessionStream {
    session: RemoteSession,
    /// Last fact that was returned.
    cursor: Seq,
    /// Check of the events over all connections.
    check: LiveCheck,
    connection: Option<Connection>,
    pending: VecDeque<StreamItem>,
    /// Failure that follows the pending items.
    failed: Option<RequestFailure>,
    retry: Backoff,
}

/// Item of a stream.
#[derive(Debug)]
pub(crate) enum StreamItem {
    /// Event of the session.
    Event(Event),
    /// The connection failed for this reason, and another one is attempted.
    Reconnecting(String),
}

struct Connection {
    body: Box<dyn WireBody>,
    frames: FrameParser,
    /// True once something arrived.
    heard: bool,
    /// Cursor at its beginning.
    from: Seq,
}

/// Delays between connections.
struct Backoff {
    wait: Duration,
    /// Beginning of the server's absence.
    away: Option<Instant>,
    /// Time of the next attempt.
    at: Option<Instant>,
}

impl SessionStream {
    /// Creates the stream of the events after a position. Connects on the first call of `next`.
    pub(crate) fn new(session: RemoteSession, after: Seq) -> Self {
        Self {
            session,
            cursor: after,
            check: LiveCheck::default(),
            connection: None,
            pending: VecDeque::new(),
            failed: None,
            retry: Backoff { wait: BACKOFF, away: None, at: None },
        }
    }

    /// Waits for the next item. Cancel safe.
    ///
    /// # Errors
    /// When the server refuses the stream, ends it for good, or is away for too long.
    pub(crate) async fn next(&mut self) -> Result<StreamItem, RequestFailure> {
        loop {
            if let Some(item) = self.pending.pop_front() {
                return Ok(item);
            }
            let read = match self.failed.take() {
                Some(failure) => Err(failure),
                None => self.read().await,
            };
            if let Err(failure) = read {
                return self.on_failure(failure).map(StreamItem::Reconnecting);
            }
        }
    }

    /// Reads the next chunk of the connection, and connects before if there is none.
    async fn read(&mut self) -> Result<(), RequestFailure> {
        if let Some(at) = self.retry.at {
            sleep_until(at).await;
            self.retry.at = None;
        }
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => {
                let body = self.session.events(self.cursor).await?;
                self.check.restart();
                let frames = FrameParser::default();
                none.insert(Connection { body, frames, heard: false, from: self.cursor })
            }
        };
        let broken = |why: &str| RequestFailure::broken(why, connection.heard);
        let chunk = match timeout(MAX_SILENCE, connection.body.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => return Err(broken("the stream ended")),
            Ok(Err(error)) => return Err(broken(&error.to_string())),
            Err(_) => return Err(broken("the stream is silent")),
        };
        connection.heard = true;
        let frames = connection.frames.push(&chunk);
        let frames = frames.map_err(|why| RequestFailure::broken(&why, false))?;
        for frame in frames {
            match frame {
                StreamFrame::Event(event) => self.accept(event),
                StreamFrame::Lagged { missed } => {
                    self.pending.push_back(StreamItem::Event(Event::Lagged { missed }));
                    let words = "the server sent too much at once";
                    self.failed = Some(RequestFailure::broken(words, true));
                    break;
                }
                StreamFrame::End(reason) => {
                    self.failed = Some(RequestFailure::ended(&reason));
                    break;
                }
            }
        }
        Ok(())
    }

    /// Adds an event to the pending items, unless it was returned before.
    fn accept(&mut self, event: Event) {
        if let Event::Fact(fact) = &event {
            if fact.seq <= self.cursor {
                return;
            }
            self.cursor = fact.seq;
        }
        if self.check.apply(&event) {
            self.pending.push_back(StreamItem::Event(Event::Lagged { missed: 1 }));
        }
        self.pending.push_back(StreamItem::Event(event));
    }

    /// Plans the next connection after a failure that may pass. Returns its reason.
    fn on_failure(&mut self, failure: RequestFailure) -> Result<String, RequestFailure> {
        let from = self.connection.take().map(|connection| connection.from);
        if !failure.transient {
            return Err(failure);
        }
        if from.is_some_and(|from| self.cursor > from) || failure.after_events {
            (self.retry.wait, self.retry.away) = (BACKOFF, None);
        }
        let now = Instant::now();
        let since = *self.retry.away.get_or_insert(now);
        if now.duration_since(since) > MAX_ABSENCE {
            return Err(failure);
        }
        let wait = failure.wait.unwrap_or(self.retry.wait).min(BACKOFF_MOST);
        self.retry.at = Some(now + wait);
        self.retry.wait = self.retry.wait.saturating_mul(2).min(BACKOFF_MOST);
        Ok(failure.message)
    }
}
