//! Join: merges the live messages of another node with the facts of the log.
//!
//! Facts come from the log, each once and in order, at any delay. Live messages come from the
//! driver's node, and may be late, duplicated, or lost. The join publishes to the subscribers here:
//!
//! - of each part of a run, its text from its beginning on, each byte once. Text is merged by its
//!   offset, so duplicates do no harm. After a loss nothing is published until the whole live state
//!   was received again;
//! - nothing that was sent after facts that have not been published here: it waits for them;
//! - nothing of a part whose item was published, of a run that is over, or of an observed call. The
//!   driver's node announces which item belongs to which part. While that is unknown for a
//!   published item, nothing is published, and new subscribers receive the live state later.
//!
//! It only publishes to the bus that it is given.

use std::collections::{BTreeMap, VecDeque};

use windlass_core::{
    CallEntry, CallId, CallSource, Epoch, RecordedFact, SampleEntry, Seq, SessionId, TimelineEntry,
    Timestamp, TurnEntry,
};

use super::message::{MessageRun, NodeMessage, ReportPiece};
use super::remote_run::{MAX_PARTS, RemotePart, RemoteRun};
use crate::bus::EventBus;
use crate::event::{LiveEvent, LiveKind};

/// Most calls that are tracked, and most bytes of a report. Anything beyond that is dropped.
const CALLS: usize = 4_096;
const REPORT: u64 = 64 * 1024;

/// Joins another node's live messages with the facts of the log.
#[derive(Debug)]
pub(crate) struct LiveJoin {
    session: SessionId,
    /// Latest claim that was received.
    epoch: Epoch,
    /// Position up to which facts were published here.
    at: Seq,
    /// Position before which facts are unknown here.
    floor: Seq,
    /// Position up to which the log is durable, as last announced.
    announced: Seq,
    /// Last run that is known to be over.
    last_ended: Seq,
    /// Published items that are later than the received messages: their runs and positions.
    items: VecDeque<(Seq, Seq)>,
    /// Last start or observation of each call, if that is later than the received messages.
    calls: BTreeMap<CallId, Seq>,
    run: Option<RemoteRun>,
    reports: BTreeMap<CallId, RemoteReport>,
    /// True if the whole live state was received, except messages that are still under way.
    complete: bool,
    /// True while a catch-up is being received.
    catching_up: bool,
}

/// Report as far as it was received.
#[derive(Debug)]
struct RemoteReport {
    live: LiveEvent,
    announced: Seq,
    bytes: u64,
}

impl LiveJoin {
    /// Creates a join for a session whose facts up to this position were published here.
    pub(crate) fn new(session: SessionId, at: Seq) -> Self {
        Self {
            session,
            epoch: Epoch(0),
            at,
            floor: at,
            announced: Seq::ZERO,
            last_ended: Seq::ZERO,
            items: VecDeque::new(),
            calls: BTreeMap::new(),
            run: None,
            reports: BTreeMap::new(),
            complete: false,
            catching_up: false,
        }
    }

    /// Returns the position up to which the log must be read, if it is beyond the published one.
    pub(crate) fn due(&self) -> Option<Seq> {
        (self.announced > self.at).then_some(self.announced)
    }

    /// Returns true if messages are missing and no catch-up has replaced them.
    pub(crate) fn is_lost(&self) -> bool {
        !self.complete
    }

    /// Returns true while the whole live state is being received again.
    pub(crate) fn is_catching_up(&self) -> bool {
        self.catching_up
    }

    /// Returns true if the log may already contain a part of the bus's live state. New subscribers
    /// must not receive the live state then.
    pub(crate) fn is_uncertain(&self) -> bool {
        let run = self.run.as_ref();
        run.is_some_and(|run| !run.is_certain() && run.parts.iter().any(|part| part.published))
    }

    /// Handles a fact that was published on the bus.
    pub(crate) fn on_fact(&mut self, recorded: &RecordedFact, bus: &EventBus) {
        self.at = self.at.max(recorded.seq);
        match TimelineEntry::of(recorded) {
            TimelineEntry::Sample(SampleEntry::Content { started, .. })
            | TimelineEntry::Call(_, CallEntry::Proposed(CallSource::Sample(started), _)) => {
                self.on_item(started, recorded.seq);
            }
            TimelineEntry::Sample(SampleEntry::Ended(ended)) => self.end_run(ended.started),
            TimelineEntry::Sample(SampleEntry::Cut(cut)) => self.end_run(cut.started),
            TimelineEntry::Call(call, CallEntry::Started(_) | CallEntry::Observed(_)) => {
                self.on_call(call, recorded.seq);
            }
            TimelineEntry::Turn(TurnEntry::Settled(_)) => {
                self.end_run(recorded.seq);
                self.floor = self.floor.max(recorded.seq);
                self.calls.clear();
                self.reports.clear();
            }
            TimelineEntry::Session(_)
            | TimelineEntry::Input(_)
            | TimelineEntry::Turn(_)
            | TimelineEntry::Hook(_)
            | TimelineEntry::Context(_)
            | TimelineEntry::Compaction(_)
            | TimelineEntry::Sample(SampleEntry::Started(_))
            | TimelineEntry::Call(..)
            | TimelineEntry::Program(_) => {}
        }
        self.publish_certain(bus);
    }

    fn on_item(&mut self, started: Seq, at: Seq) {
        if let Some(run) = self.run.as_mut().filter(|run| run.run.started == started) {
            run.published = run.published.map(|count| count.saturating_add(1));
        }
        self.items.push_back((started, at));
        if self.items.len() > MAX_PARTS
            && let Some((_, gone)) = self.items.pop_front()
        {
            self.floor = self.floor.max(gone);
        }
    }

    fn on_call(&mut self, call: CallId, at: Seq) {
        self.reports.remove(&call);
        self.calls.insert(call, at);
        if self.calls.len() > CALLS
            && let Some((_, gone)) = self.calls.pop_first()
        {
            self.floor = self.floor.max(gone);
        }
    }

    /// Ends a run and every earlier one.
    fn end_run(&mut self, started: Seq) {
        self.last_ended = self.last_ended.max(started);
        self.items.retain(|(run, _)| *run > started);
        self.run.take_if(|run| run.run.started <= started);
    }

    /// Handles a loss of messages.
    pub(crate) fn on_missed(&mut self) {
        (self.complete, self.catching_up) = (false, false);
        let whole = |one: &mut RemoteReport| one.bytes == one.live.text_bytes();
        self.reports.retain(|_, one| whole(one));
    }

    /// Handles a message of another node.
    pub(crate) fn receive(&mut self, message: NodeMessage, bus: &EventBus) {
        if message.epoch < self.epoch {
            return;
        }
        if message.epoch > self.epoch {
            self.switch_driver(message.epoch, bus);
        }
        self.announced = self.announced.max(message.durable);
        if message.first {
            self.catching_up = true;
            for part in self.run.iter_mut().flat_map(|run| &mut run.parts) {
                part.confirmed = false;
            }
        }
        if let Some(run) = message.run {
            self.on_run(run, &message, bus);
        }
        if let Some(report) = message.report {
            self.on_report(report, message.durable, message.at);
        }
        if message.last && std::mem::take(&mut self.catching_up) {
            self.on_caught_up(message.run.is_some(), bus);
        }
        self.publish_certain(bus);
        self.prune();
    }

    /// Handles a change of the driver: no end follows for the live text of the earlier one.
    fn switch_driver(&mut self, epoch: Epoch, bus: &EventBus) {
        if let Some(mut run) = self.run.take() {
            run.drop_parts(bus, &self.session, |_| true);
            self.last_ended = self.last_ended.max(run.run.started);
        }
        self.epoch = epoch;
        self.on_missed();
        self.reports.clear();
    }

    /// Handles a message of a streaming run.
    fn on_run(&mut self, run: MessageRun, message: &NodeMessage, bus: &EventBus) {
        let before = self.run.as_ref().map_or(self.last_ended, |one| one.run.started);
        if run.started < before || run.started <= self.last_ended {
            return;
        }
        if self.run.is_none() || run.started > before {
            // A run that was received from its beginning is complete, even after an earlier loss.
            self.complete = run.begins;
            if let Some(mut before) = self.run.replace(RemoteRun::new(run)) {
                before.drop_parts(bus, &self.session, |_| true);
            }
        }
        let Some(hearing) = &mut self.run else { return };
        (hearing.run, hearing.at, hearing.announced) = (run, message.at, message.durable);
        if run.begins && message.durable >= self.floor {
            hearing.published = Some(hearing.later_items(&self.items));
        }
        for piece in &message.pieces {
            if !hearing.merge(piece, message.durable) && self.complete {
                (self.complete, self.catching_up) = (false, false);
            }
        }
        for (slot, item) in &message.whole {
            match item {
                Some(item) => hearing.name_item(*slot, *item, self.complete),
                None => hearing.drop_parts(bus, &self.session, |part| part.slot == *slot),
            }
        }
        if self.complete {
            hearing.known = hearing.known.max(run.items);
        }
    }

    /// Handles the end of a catch-up.
    fn on_caught_up(&mut self, speaks: bool, bus: &EventBus) {
        self.complete = true;
        let Some(run) = &mut self.run else { return };
        run.drop_parts(bus, &self.session, |part| !(part.confirmed && speaks));
        run.known = run.run.items;
        let items = run.parts.iter().filter_map(|part| part.item);
        let last = items.max().map_or(0, |item| item.saturating_add(1));
        run.known = run.known.max(last);
    }

    fn on_report(&mut self, report: ReportPiece, told: Seq, at: Timestamp) {
        let known = self.reports.get_mut(&report.call);
        if report.offset == 0 {
            if report.bytes > REPORT || (known.is_none() && self.reports.len() >= CALLS) {
                return;
            }
            let live = LiveEvent {
                session: self.session.clone(),
                turn: report.turn,
                ts: at,
                kind: LiveKind::Progress { call: report.call, text: report.text },
            };
            let bytes = report.bytes;
            let reporting = RemoteReport { live, announced: told, bytes };
            self.reports.insert(report.call, reporting);
        } else if let Some(known) = known
            && known.live.text_bytes() == report.offset
            && known.live.ts == at
            && let LiveKind::Progress { text, .. } = &mut known.live.kind
        {
            text.push_str(&report.text);
        }
    }

    /// Publishes messages that are certain by now.
    fn publish_certain(&mut self, bus: &EventBus) {
        if let Some(run) = &mut self.run {
            if self.floor <= run.announced && run.announced <= self.at {
                let items = run.run.items;
                run.published = Some(items.saturating_add(run.later_items(&self.items)));
            }
            let published = run.published.unwrap_or(0);
            let durable = |part: &RemotePart| part.item.is_some_and(|item| item < published);
            run.drop_parts(bus, &self.session, durable);
            if self.complete && run.is_certain() {
                run.publish(bus, &self.session, self.at);
            }
        }
        self.publish_reports(bus);
    }

    fn publish_reports(&mut self, bus: &EventBus) {
        let reports = std::mem::take(&mut self.reports).into_iter();
        let is_whole = |one: &RemoteReport| one.bytes == one.live.text_bytes();
        let due = |one: &RemoteReport| is_whole(one) && one.announced <= self.at;
        let (whole, rest): (BTreeMap<_, _>, _) = reports.partition(|(_, one)| due(one));
        self.reports = rest;
        for (call, one) in whole {
            let late = self.calls.get(&call).is_some_and(|at| *at > one.announced);
            if !late && one.announced >= self.floor && !bus.has_reported(&one.live) {
                bus.publish_report(one.live);
            }
        }
    }

    /// Removes facts that precede all further messages.
    fn prune(&mut self) {
        let run = self.run.as_ref().map_or(self.announced, |run| run.announced);
        let told = self.announced.min(run);
        while self.items.front().is_some_and(|(_, at)| *at <= told) {
            self.items.pop_front();
        }
        self.calls.retain(|_, at| *at > told);
    }
}

impl LiveEvent {
    /// Returns the bytes of a report.
    fn text_bytes(&self) -> u64 {
        match &self.kind {
            LiveKind::Progress { text, .. } => text.len() as u64,
            LiveKind::Delta { .. } => 0,
        }
    }
}
