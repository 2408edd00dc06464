//! Events on the node that drives the session.

use std::sync::Arc;

use windlass_core::{
    CallId, Delta, Fact, FactFormat, FailureKind, Item, ItemAdded, RecordedFact, Retained, Retry,
    SampleCut, SampleEnded, SampleFailure, Seq, SessionResumed, StopReason, Timestamp, TurnId,
    TurnOutcome, TurnSettled, TurnUsage,
};
use windlass_ports::LogStore;

use super::node::{Node, session};
use crate::bus::EventBus;
use crate::event::{LiveEvent, LiveKind};
use crate::live::LivePublisher;
use crate::live_state::StreamingRun;

/// Part that is streaming.
struct Part {
    slot: u32,
    kind: u64,
    said: bool,
}

/// Streaming run.
pub(super) struct Run {
    started: Seq,
    parts: Vec<Part>,
    next: u32,
}

impl Node {
    pub(super) async fn append(&mut self, facts: Vec<Fact>) {
        let after = self.end();
        let turn = Some(TurnId(1));
        let number = |(seq, fact)| {
            Arc::new(RecordedFact {
                format: FactFormat::CURRENT,
                session: session(),
                seq: Seq(seq),
                turn,
                ts: Timestamp(8),
                cause: None,
                fact,
            })
        };
        let facts: Vec<_> = (after.0 + 1..).zip(facts).map(number).collect();
        let session = session();
        let appended = self.store.append(&session, self.epoch, after, &facts);
        appended.await.unwrap();
        self.appended.extend(facts);
    }

    /// Informs the driver that its appends are durable.
    pub(super) fn acknowledge(&mut self) {
        let facts = std::mem::take(&mut self.appended);
        self.bus.publish_facts(&facts);
    }

    /// Appends items, or starts a run if there is none.
    pub(super) async fn write(&mut self) {
        if self.run.is_none() {
            // The text of a run is forgotten when the next one streams.
            while self.odds.in_time && self.seen < self.end() {
                self.follow().await;
            }
            self.append(vec![Fact::SessionResumed(SessionResumed {})]).await;
            self.acknowledge();
            self.run = Some(Run { started: self.end(), parts: Vec::new(), next: 0 });
            return;
        }
        for (started, slot) in std::mem::take(&mut self.unsent) {
            let text = self.truth.parts[&(started, slot)].as_str();
            let item = Item::text(text);
            self.append(vec![Fact::ItemAdded(ItemAdded { started, item, surplus: false })]).await;
            self.truth.items.insert(self.end(), (started, slot));
        }
        if self.dice.one_in(6)
            && let Some(run) = self.run.take()
        {
            let ended = SampleEnded {
                started: run.started,
                stop: StopReason::Stop,
                usage: None,
                estimate: None,
                response_id: None,
                request: None,
                fault: None,
            };
            let mut facts = vec![Fact::SampleEnded(ended)];
            if self.dice.one_in(2) {
                facts.push(Fact::TurnSettled(TurnSettled {
                    outcome: TurnOutcome::Completed,
                    spent: TurnUsage::default(),
                    waiting: Vec::new(),
                    detached: Vec::new(),
                    notice: None,
                }));
            }
            self.append(facts).await;
        }
    }

    fn speaker(&mut self, started: Seq) -> StreamingRun {
        self.clock += 1;
        StreamingRun { session: session(), turn: TurnId(1), started, ts: Timestamp(self.clock) }
    }

    /// Streams text of up to three parts at a time.
    pub(super) fn say(&mut self) {
        let Some(mut run) = self.run.take() else {
            return;
        };
        if run.parts.is_empty() || (run.parts.len() < 3 && self.dice.one_in(4)) {
            // Slots are not in the order in which parts begin.
            let slot = run.next ^ 1;
            run.next += 1;
            let kind = self.dice.below(4);
            let said = false;
            run.parts.push(Part { slot, kind, said });
        }
        let mut deltas = Vec::new();
        for _ in 0..=self.dice.below(3) {
            let which = self.dice.below(run.parts.len() as u64);
            let part = &mut run.parts[usize::try_from(which).unwrap()];
            let long = 1 + self.dice.below(12) * (1 + 20 * self.dice.below(2));
            let letters = ["a", "\u{e4}", "\"", "\u{1}"];
            let text = letters[usize::try_from(self.dice.below(4)).unwrap()];
            let mut text = text.repeat(usize::try_from(long).unwrap());
            text.push_str(&self.dice.below(10).to_string());
            let slot = part.slot;
            let so_far = self.truth.parts.entry((run.started, slot)).or_default();
            so_far.push_str(&text);
            deltas.push(match part.kind {
                0 => Delta::Text { slot, text },
                1 => Delta::Refusal { slot, text },
                2 => Delta::Reasoning { slot, text },
                _ if part.said => Delta::Arguments { slot, text },
                _ => Delta::Call { slot, name: text },
            });
            part.said = true;
        }
        let speaker = self.speaker(run.started);
        self.bus.publish_deltas(&speaker, deltas, &[]);
        self.run = Some(run);
    }

    /// Completes a part.
    pub(super) fn finish(&mut self) {
        let Some(mut run) = self.run.take() else {
            return;
        };
        if !run.parts.is_empty() {
            let which = self.dice.below(run.parts.len() as u64);
            let part = run.parts.remove(usize::try_from(which).unwrap());
            let item = part.said && !self.dice.one_in(5);
            let speaker = self.speaker(run.started);
            self.bus.publish_deltas(&speaker, Vec::new(), &[(part.slot, item)]);
            if !item {
                self.truth.void.insert((run.started, part.slot));
            }
            if item {
                self.unsent.push((run.started, part.slot));
            }
        }
        self.run = Some(run);
    }

    pub(super) fn report(&mut self) {
        self.reports += 1;
        self.clock += 1;
        let call = CallId(self.dice.below(2));
        let text = format!("{}{}", self.reports, " ".repeat(400));
        self.bus.publish_report(LiveEvent {
            session: session(),
            turn: TurnId(1),
            ts: Timestamp(self.clock),
            kind: LiveKind::Progress { call, text },
        });
    }

    /// Lets another node drive the session. Messages of the earlier node may still arrive.
    pub(super) async fn take_over(&mut self) {
        self.store = self.store.reopen();
        self.epoch = self.store.claim(&session()).await.unwrap().epoch;
        self.appended.clear();
        self.unsent.clear();
        self.passing = None;
        let bus = EventBus::new(1_024, self.end());
        let teller = LivePublisher::new(self.air.clone(), session(), self.epoch);
        self.bus = bus.publishing_to(Some(teller));
        if let Some(run) = self.run.take() {
            let failure = SampleFailure::new(FailureKind::Cancelled, Retry::Never, "");
            let cut = SampleCut {
                started: run.started,
                failure,
                partial: String::new(),
                retained: Retained::Nothing,
                stopped_by: None,
                usage: None,
                estimate: None,
                retry_at: None,
                request: None,
            };
            self.append(vec![Fact::SampleCut(cut)]).await;
        }
    }
}
