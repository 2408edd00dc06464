//! Progress: the live text of a turn, for a client that asked for it.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::time::Instant;
use windlass_engine::LiveEvent;
use windlass_engine::LiveKind;
use windlass_engine::core::Delta;

/// Shortest time between two notifications.
const INTERVAL: Duration = Duration::from_millis(250);
/// Most bytes of text in a notification: the last ones.
const MAX_TEXT: usize = 4 * 1024;

/// Progress notifications of a call.
pub(super) struct Progress {
    /// The client with its token; none if it asked for none, or is gone.
    to: Option<(Peer<RoleServer>, ProgressToken)>,
    /// Text that was not sent yet.
    text: String,
    sent: u32,
    /// Time of the next notification.
    next: Instant,
}

impl Progress {
    /// Creates the progress of a request.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let token = context.meta.get_progress_token();
        let to = token.map(|token| (context.peer.clone(), token));
        Self { to, text: String::new(), sent: 0, next: Instant::now() }
    }

    /// Returns true if the client wants notifications.
    pub(super) fn is_wanted(&self) -> bool {
        self.to.is_some()
    }

    /// Adds live text of the answer.
    pub(super) fn add(&mut self, live: &[LiveEvent]) {
        if self.to.is_none() {
            return;
        }
        for event in live {
            match &event.kind {
                LiveKind::Delta { delta: Delta::Text { text, .. }, .. } => self.text.push_str(text),
                LiveKind::Delta {
                    delta:
                        Delta::Refusal { .. }
                        | Delta::Reasoning { .. }
                        | Delta::Call { .. }
                        | Delta::Arguments { .. },
                    ..
                }
                | LiveKind::Progress { .. } => {}
            }
        }
        if self.text.len() > MAX_TEXT {
            let start = self.text.ceil_char_boundary(self.text.len() - MAX_TEXT);
            self.text.drain(..start);
        }
    }

    /// Returns the time at which text is to be sent, if there is any.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.text.is_empty()).then_some(self.next)
    }

    /// Sends the text.
    pub(super) async fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        self.send(text).await;
    }

    /// Sends a notification. A client that cannot be reached gets no further ones.
    pub(super) async fn send(&mut self, message: String) {
        let Some((peer, token)) = &self.to else { return };
        self.sent = self.sent.saturating_add(1);
        let note = ProgressNotificationParam::new(token.clone(), f64::from(self.sent));
        if peer.notify_progress(note.with_message(message)).await.is_err() {
            self.to = None;
        }
        self.next = Instant::now() + INTERVAL;
    }
}
