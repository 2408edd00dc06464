//! AG-UI client: one client that receives AG-UI events as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::unfold;
use windlass_engine::Event;
use windlass_engine::core::{RecordedFact, Seq};

use super::event::AguiEvent;
use super::project::Projection;
use crate::app::App;
use crate::problem::Problem;
use crate::stream::client_stream::{ClientStream, EndNotice, EndReason, StreamMessage};
use crate::stream::sse::{WRITE, json, stream_response};
use crate::stream::sse_buffer::SseBuffer;
use crate::tenant::Tenant;

/// Session and input of a requested run.
pub(super) struct RequestedRun {
    pub(super) app: Arc<App>,
    pub(super) tenant: Arc<Tenant>,
    /// First fact of the run.
    pub(super) first: Arc<RecordedFact>,
}

impl RequestedRun {
    /// Returns true if the input is held until a person resumes it.
    async fn is_held(&self) -> Result<bool, Problem> {
        let whole = self.app.views.get(&self.tenant, &self.first).await?;
        Ok(whole.view.held == Some(true) && whole.view.turn.is_none())
    }
}

/// Client of a session's runs.
pub(super) struct AguiClient {
    stream: ClientStream,
    projection: Projection,
    lines: SseBuffer,
    /// Requested run, after which the stream ends.
    requested: Option<RequestedRun>,
    /// True while it is unknown whether the input is held.
    held_unknown: bool,
    over: bool,
}

impl AguiClient {
    /// Streams the runs of a session to a client, one after another.
    pub(super) fn new(following: ClientStream, projection: Projection, retry: u64) -> Self {
        let mut lines = SseBuffer::default();
        lines.retry(retry);
        Self {
            stream: following.continuing_on_lag(),
            projection,
            lines,
            requested: None,
            held_unknown: false,
            over: false,
        }
    }

    /// Limits the stream to one requested run with this name, and reports ignored fields.
    pub(super) fn with_run(mut self, asked: RequestedRun, run: String, ignored: &[&str]) -> Self {
        let mut out = Vec::new();
        self.projection.start(run, &mut out);
        self.projection.ignored(ignored, &mut out);
        self.put(&out, None);
        self.requested = Some(asked);
        self
    }

    /// Returns the response.
    pub(super) fn answer(self) -> Response {
        let pieces = unfold(self, |mut client| async move {
            let piece = client.piece().await?;
            Some((Ok::<_, Infallible>(piece), client))
        });
        stream_response(Body::from_stream(pieces))
    }

    /// Returns the next chunk: all ready events, up to a bound. `None` at the end.
    async fn piece(&mut self) -> Option<Bytes> {
        self.check_held().await;
        while self.lines.len() == 0 {
            if self.over {
                return None;
            }
            let told = self.stream.next().await?;
            self.write(told);
            self.check_held().await;
        }
        while !self.over
            && !self.held_unknown
            && self.lines.len() < WRITE
            && let Some(told) = self.stream.ready()
        {
            self.write(told);
        }
        self.lines.take_chunk()
    }

    /// Checks if the client's input is held.
    async fn check_held(&mut self) {
        if !std::mem::take(&mut self.held_unknown) {
            return;
        }
        let Some(asked) = &self.requested else { return };
        let (code, message) = match asked.is_held().await {
            Ok(false) => return,
            Ok(true) => (
                "held",
                "the turn before was interrupted, so the input waits: POST continue, or send more",
            ),
            Err(_) => end_reason(EndReason::StoreAway),
        };
        let mut out = Vec::new();
        self.projection.fail(code, message, &mut out);
        self.put(&out, None);
        self.over = true;
    }

    fn write(&mut self, told: StreamMessage) {
        let mut out = Vec::new();
        let mut position = None;
        match told {
            StreamMessage::Event(Event::Fact(fact)) => {
                self.projection.apply(&fact, &mut out);
                self.held_unknown |= self.projection.leaves_input_waiting(&fact);
                position = Some(fact.seq);
            }
            StreamMessage::Event(Event::Live(all)) => {
                for live in all.iter() {
                    self.projection.on_live(live, &mut out);
                }
            }
            StreamMessage::Event(Event::Lagged { .. } | Event::Store(_) | Event::Ended(_)) => {}
            StreamMessage::Store(store) => self.projection.on_store(store, &mut out),
            StreamMessage::Lagged(_) => self.projection.on_lagged(),
            StreamMessage::Heartbeat => self.lines.heartbeat(),
            StreamMessage::End(EndNotice { reason }) => {
                let (code, message) = end_reason(reason);
                self.projection.fail(code, message, &mut out);
                self.over = true;
            }
        }
        self.put(&out, position);
        self.over |= self.requested.is_some() && !self.projection.has_run();
    }

    /// Writes events. The last one carries the position, so that a client that resumes after it has
    /// all of them.
    fn put(&mut self, events: &[AguiEvent], position: Option<Seq>) {
        let last = events.len().saturating_sub(1);
        for (at, event) in events.iter().enumerate() {
            if let (true, Some(seq)) = (at == last, position) {
                self.lines.id(seq);
            }
            self.lines.data(&json(event));
        }
    }
}

/// Returns the code and message for the end of a stream, as in a stream of facts.
fn end_reason(reason: EndReason) -> (&'static str, &'static str) {
    match reason {
        EndReason::Draining => (
            "draining",
            "the server is going away, and the turn continues without it: ask again for the \
             same run",
        ),
        EndReason::Erased => ("erased", "the session no longer exists"),
        EndReason::Unauthorized => {
            ("unauthorized", "the token is no longer valid: use another one")
        }
        EndReason::StoreAway => {
            ("store_away", "the store does not answer: ask again for the same run")
        }
        EndReason::Damaged => {
            ("damaged", "cannot read the session's log: the operator can repair it")
        }
    }
}
