//! Told: one client that is told AG-UI events, as lines.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::unfold;
use windlass_engine::Event;
use windlass_engine::core::{Recorded, Seq};

use super::event::Agui;
use super::project::Projection;
use crate::app::App;
use crate::problem::Problem;
use crate::stream::following::{End, Following, Reason, Told};
use crate::stream::lines::Lines;
use crate::stream::sse::{WRITE, headed, json};
use crate::tenant::Tenant;

/// Of which session a run was asked for.
pub(super) struct Asked {
    pub(super) app: Arc<App>,
    pub(super) tenant: Arc<Tenant>,
    /// First fact of the run.
    pub(super) first: Arc<Recorded>,
}

impl Asked {
    /// Returns true if what waits there is held until a person says that it goes on.
    async fn held(&self) -> Result<bool, Problem> {
        let whole = self.app.views.of(&self.tenant, &self.first).await?;
        Ok(whole.view.held == Some(true) && whole.view.turn.is_none())
    }
}

/// One client of a session's runs.
pub(super) struct Client {
    following: Following,
    projection: Projection,
    lines: Lines,
    /// It asked for one run, and it is over with that.
    one: Option<Asked>,
    /// It is to be found out whether what it said is held.
    unsure: bool,
    over: bool,
}

impl Client {
    /// Streams the runs of a session to a client, one after another.
    pub(super) fn new(following: Following, projection: Projection, retry: u64) -> Self {
        let mut lines = Lines::default();
        lines.retry(retry);
        Self {
            following: following.going_on(),
            projection,
            lines,
            one: None,
            unsure: false,
            over: false,
        }
    }

    /// The same for who asked for one run, by this name, and for what is not done.
    pub(super) fn asking(mut self, asked: Asked, run: String, ignored: &[&str]) -> Self {
        let mut out = Vec::new();
        self.projection.start(run, &mut out);
        self.projection.ignored(ignored, &mut out);
        self.put(&out, None);
        self.one = Some(asked);
        self
    }

    /// The answer that it gets.
    pub(super) fn answer(self) -> Response {
        let pieces = unfold(self, |mut client| async move {
            let piece = client.piece().await?;
            Some((Ok::<_, Infallible>(piece), client))
        });
        headed(Body::from_stream(pieces))
    }

    /// The next piece to go out: all that is ready, up to a bound. `None` at the end.
    async fn piece(&mut self) -> Option<Bytes> {
        self.look().await;
        while self.lines.len() == 0 {
            if self.over {
                return None;
            }
            let told = self.following.next().await?;
            self.write(told);
            self.look().await;
        }
        while !self.over
            && !self.unsure
            && self.lines.len() < WRITE
            && let Some(told) = self.following.ready()
        {
            self.write(told);
        }
        self.lines.take()
    }

    /// Finds out whether what the client said is held.
    async fn look(&mut self) {
        if !std::mem::take(&mut self.unsure) {
            return;
        }
        let Some(asked) = &self.one else { return };
        let (code, message) = match asked.held().await {
            Ok(false) => return,
            Ok(true) => (
                "held",
                "the turn before was interrupted, so what was said waits: POST continue, or say more",
            ),
            Err(_) => why(Reason::StoreAway),
        };
        let mut out = Vec::new();
        self.projection.broken(code, message, &mut out);
        self.put(&out, None);
        self.over = true;
    }

    fn write(&mut self, told: Told) {
        let mut out = Vec::new();
        let mut position = None;
        match told {
            Told::Event(Event::Fact(fact)) => {
                self.projection.take(&fact, &mut out);
                self.unsure |= self.projection.waits(&fact);
                position = Some(fact.seq);
            }
            Told::Event(Event::Live(all)) => {
                for live in all.iter() {
                    self.projection.live(live, &mut out);
                }
            }
            Told::Event(Event::Lagged { .. } | Event::Ended(_)) => {}
            Told::Lagged(_) => self.projection.missed(),
            Told::Beat => self.lines.beat(),
            Told::End(End { reason }) => {
                let (code, message) = why(reason);
                self.projection.broken(code, message, &mut out);
                self.over = true;
            }
        }
        self.put(&out, position);
        self.over |= self.one.is_some() && !self.projection.runs();
    }

    /// Writes events. The position goes with the last of them: whoever comes back after it has all.
    fn put(&mut self, events: &[Agui], position: Option<Seq>) {
        let last = events.len().saturating_sub(1);
        for (at, event) in events.iter().enumerate() {
            if let (true, Some(seq)) = (at == last, position) {
                self.lines.id(seq);
            }
            self.lines.data(&json(event));
        }
    }
}

/// Returns the reason for the end of a stream, by the name that a stream of facts has for it.
fn why(reason: Reason) -> (&'static str, &'static str) {
    match reason {
        Reason::Draining => (
            "draining",
            "the server is going away, and the turn goes on without it: ask once more for the same run",
        ),
        Reason::Erased => ("erased", "the session is no more"),
        Reason::Unauthorized => ("unauthorized", "the token is good no more: use another one"),
        Reason::StoreAway => (
            "store_away",
            "the store does not answer: ask once more for the same run",
        ),
        Reason::Damaged => (
            "damaged",
            "the session's log does not read: whoever runs the server can repair it",
        ),
    }
}
