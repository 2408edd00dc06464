//! Live publisher: sends the events of a session's bus to other nodes while one of them subscribes.
//!
//! It runs under the bus's lock, so that messages have the order of events. It never waits, as
//! publishing to a live bus does not wait. Without a subscriber its only cost is one lookup in the
//! live bus.

use std::sync::Arc;

use windlass_core::{CallId, Epoch, Seq, SessionId, Timestamp};
use windlass_ports::LiveBus;

use super::message::{MessageRun, NodeMessage, ReportPiece};
use crate::event::{LiveEvent, LiveKind};
use crate::live_state::{LiveState, LiveUpdate};

/// Sends the events of one session to other nodes, under its driver's claim.
pub(crate) struct LivePublisher {
    live_bus: Arc<dyn LiveBus>,
    session: SessionId,
    epoch: Epoch,
    max_bytes: usize,
}

/// Progress of a catch-up.
#[derive(Debug, Default)]
pub(crate) struct CatchUpProgress {
    /// True once it started.
    begun: bool,
    /// Run whose parts are being sent. Subscribers receive a later run from its beginning.
    pub(crate) run: Option<Seq>,
    /// Slot of the next part, and the offset in it.
    pub(crate) slot: u32,
    pub(crate) offset: u64,
    /// Last call whose report was sent.
    pub(crate) call: Option<CallId>,
}

impl std::fmt::Debug for LivePublisher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("LivePublisher");
        out.field("session", &self.session).field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

impl LivePublisher {
    pub(crate) fn new(relay: Arc<dyn LiveBus>, session: SessionId, epoch: Epoch) -> Self {
        let most = relay.capabilities().message_bytes;
        Self { live_bus: relay, session, epoch, max_bytes: most }
    }

    /// Returns true if another node subscribes to the session.
    pub(crate) fn has_subscribers(&self) -> bool {
        self.live_bus.has_subscribers(&self.session)
    }

    /// Publishes the durable position.
    pub(crate) fn publish_durable(&self, durable: Seq, shown: &LiveState) {
        self.publish(self.new_message(durable, shown));
    }

    /// Publishes text of a sample.
    pub(crate) fn publish_sample(&self, durable: Seq, shown: &LiveState, said: LiveUpdate) {
        let mut message = self.new_message(durable, shown);
        if let Some(run) = &mut message.run {
            run.begins = said.begins;
        }
        (message.pieces, message.whole) = (said.pieces, said.whole);
        self.publish(message);
    }

    /// Publishes the report of a call.
    pub(crate) fn publish_report(&self, durable: Seq, shown: &LiveState, report: &LiveEvent) {
        let LiveKind::Progress { call, text } = &report.kind else {
            return;
        };
        let mut message = self.new_message(durable, shown);
        message.at = report.ts;
        message.report = Some(ReportPiece {
            turn: report.turn,
            call: *call,
            bytes: text.len() as u64,
            offset: 0,
            text: text.clone(),
        });
        self.publish(message);
    }

    /// Sends the next part of the live state, about this many bytes. Returns true if that was the
    /// last part.
    pub(crate) fn catch_up(
        &self,
        durable: Seq,
        shown: &LiveState,
        passing: &mut CatchUpProgress,
        bytes: usize,
    ) -> bool {
        let mut room = bytes;
        // Text without escapes fits into one message for each step.
        let step = self.max_bytes.saturating_sub(self.max_bytes / 4);
        loop {
            let said = shown.catch_up(passing, step.min(room.max(1)));
            let mut message = self.new_message(durable, shown);
            message.first = !std::mem::replace(&mut passing.begun, true);
            let last = said.pieces.is_empty();
            let text: usize = said.pieces.iter().map(|piece| piece.text.len()).sum();
            (message.pieces, message.whole) = (said.pieces, said.whole);
            if last {
                while let Some(report) = shown.next_report(passing) {
                    self.publish_report(durable, shown, &report);
                }
                message.last = true;
            }
            self.publish(message);
            room = room.saturating_sub(text.saturating_add(256));
            if last || room == 0 {
                return last;
            }
        }
    }

    fn new_message(&self, durable: Seq, shown: &LiveState) -> NodeMessage {
        let at: Timestamp = shown.latest();
        let run: Option<MessageRun> = shown.run();
        NodeMessage::new(self.epoch, durable, at, run)
    }

    fn publish(&self, message: NodeMessage) {
        let told =
            message.send(self.max_bytes, &mut |text| self.live_bus.publish(&self.session, text));
        if !told {
            tracing::debug!(session = %self.session, "a live message does not go out: it is dropped");
        }
    }
}
