//! Live publisher: sends the events of a session's bus to other nodes while one of them subscribes.
//!
//! It runs under the bus's lock, so that messages have the order of events. It never waits, as a relay
//! does not. Without a subscriber it costs one look into the relay's map.

use std::sync::Arc;

use windlass_core::{CallId, Epoch, Seq, SessionId, Timestamp};
use windlass_ports::LiveRelay;

use super::message::{Message, Report, Run};
use crate::event::{Live, LiveKind};
use crate::shown::{Said, Shown};

/// Sends the events of one session to other nodes, under its driver's claim.
pub(crate) struct LivePublisher {
    relay: Arc<dyn LiveRelay>,
    session: SessionId,
    epoch: Epoch,
    most: usize,
}

/// Progress of repeating everything that is shown.
#[derive(Debug, Default)]
pub(crate) struct Passing {
    /// True once it started.
    begun: bool,
    /// The run whose parts are told. Those of a later one were heard from its beginning on.
    pub(crate) run: Option<Seq>,
    /// Parts are told by their slots: this one is next, from there on.
    pub(crate) slot: u32,
    pub(crate) offset: u64,
    /// The last call whose report was told.
    pub(crate) call: Option<CallId>,
}

impl std::fmt::Debug for LivePublisher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("LivePublisher");
        out.field("session", &self.session)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

impl LivePublisher {
    pub(crate) fn new(relay: Arc<dyn LiveRelay>, session: SessionId, epoch: Epoch) -> Self {
        let most = relay.capabilities().message_bytes;
        Self {
            relay,
            session,
            epoch,
            most,
        }
    }

    /// Returns true if another node subscribes to the session.
    pub(crate) fn has_subscribers(&self) -> bool {
        self.relay.is_heard(&self.session)
    }

    /// Tells how far the log is durable.
    pub(crate) fn durable(&self, durable: Seq, shown: &Shown) {
        self.tell(self.blank(durable, shown));
    }

    /// Tells what a sample has said, where that counts.
    pub(crate) fn say(&self, durable: Seq, shown: &Shown, said: Said) {
        let mut message = self.blank(durable, shown);
        if let Some(run) = &mut message.run {
            run.begins = said.begins;
        }
        (message.pieces, message.whole) = (said.pieces, said.whole);
        self.tell(message);
    }

    /// Tells what a call reports.
    pub(crate) fn report(&self, durable: Seq, shown: &Shown, report: &Live) {
        let LiveKind::Progress { call, text } = &report.kind else {
            return;
        };
        let mut message = self.blank(durable, shown);
        message.at = report.ts;
        message.report = Some(Report {
            turn: report.turn,
            call: *call,
            bytes: text.len() as u64,
            offset: 0,
            text: text.clone(),
        });
        self.tell(message);
    }

    /// Tells what is shown so far, about so many bytes of it. Answers whether that is all.
    pub(crate) fn pass(
        &self,
        durable: Seq,
        shown: &Shown,
        passing: &mut Passing,
        bytes: usize,
    ) -> bool {
        let mut room = bytes;
        // Where text needs no escapes, each of these is one message.
        let step = self.most.saturating_sub(self.most / 4);
        loop {
            let said = shown.pass(passing, step.min(room.max(1)));
            let mut message = self.blank(durable, shown);
            message.first = !std::mem::replace(&mut passing.begun, true);
            let last = said.pieces.is_empty();
            let text: usize = said.pieces.iter().map(|piece| piece.text.len()).sum();
            (message.pieces, message.whole) = (said.pieces, said.whole);
            if last {
                while let Some(report) = shown.pass_report(passing) {
                    self.report(durable, shown, &report);
                }
                message.last = true;
            }
            self.tell(message);
            room = room.saturating_sub(text.saturating_add(256));
            if last || room == 0 {
                return last;
            }
        }
    }

    fn blank(&self, durable: Seq, shown: &Shown) -> Message {
        let at: Timestamp = shown.at();
        let run: Option<Run> = shown.run();
        Message::new(self.epoch, durable, at, run)
    }

    fn tell(&self, message: Message) {
        let told = message.tell(self.most, &mut |text| self.relay.tell(&self.session, text));
        if !told {
            tracing::debug!(session = %self.session, "a live message does not go out: it is dropped");
        }
    }
}
