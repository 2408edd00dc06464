//! Join: what another node tells of a session, put between the facts of its log.
//!
//! Facts come from the log, each once and in order, however late or early; what streams comes from
//! the driver's node, and may be late, twice, or lost. What is passed on to those who watch here:
//!
//! - of each part of a run, its text from its beginning on, each byte once: what is told is merged by
//!   where it lies, so what was there before is no harm, and after a loss nothing comes until all that
//!   is shown was told anew;
//! - nothing that was told after facts that have not been published here: it waits for them;
//! - nothing of a part whose item was published, of a run that is over, of a call that was observed.
//!   Which item is which part is told by whoever drives the session. Where an item was published and
//!   that is not known yet, nothing comes, and who joins meanwhile is told later what was shown.
//!
//! It does nothing but to publish to the bus that it is given.

use std::collections::{BTreeMap, VecDeque};

use windlass_core::{
    CallEntry, CallId, CallSource, Entry, Epoch, Recorded, SampleEntry, Seq, SessionId, Timestamp,
    TurnEntry,
};

use super::message::{Message, Report, Run};
use super::remote_run::{PARTS, Part, RemoteRun};
use crate::bus::Bus;
use crate::event::{Live, LiveKind};

/// The most calls of which something is kept, and bytes of a report. What is more is not heard.
const CALLS: usize = 4_096;
const REPORT: u64 = 64 * 1024;

/// Joins another node's live messages with the facts of the log.
#[derive(Debug)]
pub(crate) struct Join {
    session: SessionId,
    /// The latest claim that was heard of.
    epoch: Epoch,
    /// The position up to which facts were published here.
    at: Seq,
    /// Position before which facts are unknown here.
    floor: Seq,
    /// The position up to which the log is durable, as last told.
    told: Seq,
    /// The last run that is known to be over.
    over: Seq,
    /// Items that were published and are later than what was told: their runs and positions.
    items: VecDeque<(Seq, Seq)>,
    /// When each call last began or was observed, where that is later than what was told.
    calls: BTreeMap<CallId, Seq>,
    run: Option<RemoteRun>,
    reports: BTreeMap<CallId, Reporting>,
    /// All that is shown there was heard, but for what is still on its way.
    whole: bool,
    /// All of it is being told.
    passing: bool,
}

/// A report as far as it was heard.
#[derive(Debug)]
struct Reporting {
    live: Live,
    told: Seq,
    bytes: u64,
}

impl Join {
    /// Of a session whose facts up to there were published here.
    pub(crate) fn new(session: SessionId, at: Seq) -> Self {
        Self {
            session,
            epoch: Epoch(0),
            at,
            floor: at,
            told: Seq::ZERO,
            over: Seq::ZERO,
            items: VecDeque::new(),
            calls: BTreeMap::new(),
            run: None,
            reports: BTreeMap::new(),
            whole: false,
            passing: false,
        }
    }

    /// The position up to which the log is to be read, where that is beyond what was published.
    pub(crate) fn due(&self) -> Option<Seq> {
        (self.told > self.at).then_some(self.told)
    }

    /// Returns true if something is missing that nothing told since makes up for.
    pub(crate) fn is_lost(&self) -> bool {
        !self.whole
    }

    /// Returns true if all that is shown is being told anew.
    pub(crate) fn is_passing(&self) -> bool {
        self.passing
    }

    /// Returns true if a part of what the bus shows may be in the log: who joins now must not be
    /// told of it.
    pub(crate) fn is_unsure(&self) -> bool {
        let run = self.run.as_ref();
        run.is_some_and(|run| !run.is_sure() && run.parts.iter().any(|part| part.open))
    }

    /// A fact was published on the bus.
    pub(crate) fn fact(&mut self, recorded: &Recorded, bus: &Bus) {
        self.at = self.at.max(recorded.seq);
        match Entry::of(recorded) {
            Entry::Sample(SampleEntry::Content { started, .. })
            | Entry::Call(_, CallEntry::Proposed(CallSource::Sample(started), _)) => {
                self.item(started, recorded.seq);
            }
            Entry::Sample(SampleEntry::Ended(ended)) => self.end(ended.started),
            Entry::Sample(SampleEntry::Cut(cut)) => self.end(cut.started),
            Entry::Call(call, CallEntry::Started(_) | CallEntry::Observed(_)) => {
                self.call(call, recorded.seq);
            }
            Entry::Turn(TurnEntry::Settled(_)) => {
                self.end(recorded.seq);
                self.floor = self.floor.max(recorded.seq);
                self.calls.clear();
                self.reports.clear();
            }
            Entry::Session(_)
            | Entry::Input(_)
            | Entry::Turn(_)
            | Entry::Hook(_)
            | Entry::Context(_)
            | Entry::Compaction(_)
            | Entry::Sample(SampleEntry::Started(_))
            | Entry::Call(..)
            | Entry::Program(_) => {}
        }
        self.settle(bus);
    }

    fn item(&mut self, started: Seq, at: Seq) {
        if let Some(run) = self.run.as_mut().filter(|run| run.run.started == started) {
            run.published = run.published.map(|count| count.saturating_add(1));
        }
        self.items.push_back((started, at));
        if self.items.len() > PARTS
            && let Some((_, gone)) = self.items.pop_front()
        {
            self.floor = self.floor.max(gone);
        }
    }

    fn call(&mut self, call: CallId, at: Seq) {
        self.reports.remove(&call);
        self.calls.insert(call, at);
        if self.calls.len() > CALLS
            && let Some((_, gone)) = self.calls.pop_first()
        {
            self.floor = self.floor.max(gone);
        }
    }

    /// A run is over, and every one before it.
    fn end(&mut self, started: Seq) {
        self.over = self.over.max(started);
        self.items.retain(|(run, _)| *run > started);
        self.run.take_if(|run| run.run.started <= started);
    }

    /// Messages were lost.
    pub(crate) fn missed(&mut self) {
        (self.whole, self.passing) = (false, false);
        let whole = |one: &mut Reporting| one.bytes == one.live.text_bytes();
        self.reports.retain(|_, one| whole(one));
    }

    /// Another node tells something.
    pub(crate) fn receive(&mut self, message: Message, bus: &Bus) {
        if message.epoch < self.epoch {
            return;
        }
        if message.epoch > self.epoch {
            self.turn_to(message.epoch, bus);
        }
        self.told = self.told.max(message.durable);
        if message.first {
            self.passing = true;
            for part in self.run.iter_mut().flat_map(|run| &mut run.parts) {
                part.confirmed = false;
            }
        }
        if let Some(run) = message.run {
            self.turn(run, &message, bus);
        }
        if let Some(report) = message.report {
            self.report(report, message.durable, message.at);
        }
        if message.last && std::mem::take(&mut self.passing) {
            self.passed(message.run.is_some(), bus);
        }
        self.settle(bus);
        self.prune();
    }

    /// Another driver has taken its place: what the one before it said has no end.
    fn turn_to(&mut self, epoch: Epoch, bus: &Bus) {
        if let Some(mut run) = self.run.take() {
            run.drop(bus, &self.session, |_| true);
            self.over = self.over.max(run.run.started);
        }
        self.epoch = epoch;
        self.missed();
        self.reports.clear();
    }

    /// A run says something.
    fn turn(&mut self, run: Run, message: &Message, bus: &Bus) {
        let before = self.run.as_ref().map_or(self.over, |one| one.run.started);
        if run.started < before || run.started <= self.over {
            return;
        }
        if self.run.is_none() || run.started > before {
            // One that was heard from its beginning on is whole, whatever came before it.
            self.whole = run.begins;
            if let Some(mut before) = self.run.replace(RemoteRun::new(run)) {
                before.drop(bus, &self.session, |_| true);
            }
        }
        let Some(hearing) = &mut self.run else { return };
        (hearing.run, hearing.at, hearing.told) = (run, message.at, message.durable);
        if run.begins && message.durable >= self.floor {
            hearing.published = Some(hearing.later(&self.items));
        }
        for piece in &message.pieces {
            if !hearing.merge(piece, message.durable) && self.whole {
                (self.whole, self.passing) = (false, false);
            }
        }
        for (slot, item) in &message.whole {
            match item {
                Some(item) => hearing.name(*slot, *item, self.whole),
                None => hearing.drop(bus, &self.session, |part| part.slot == *slot),
            }
        }
        if self.whole {
            hearing.known = hearing.known.max(run.items);
        }
    }

    /// All that is shown was told anew.
    fn passed(&mut self, speaks: bool, bus: &Bus) {
        self.whole = true;
        let Some(run) = &mut self.run else { return };
        run.drop(bus, &self.session, |part| !(part.confirmed && speaks));
        run.known = run.run.items;
        let items = run.parts.iter().filter_map(|part| part.item);
        let last = items.max().map_or(0, |item| item.saturating_add(1));
        run.known = run.known.max(last);
    }

    fn report(&mut self, report: Report, told: Seq, at: Timestamp) {
        let known = self.reports.get_mut(&report.call);
        if report.offset == 0 {
            if report.bytes > REPORT || (known.is_none() && self.reports.len() >= CALLS) {
                return;
            }
            let live = Live {
                session: self.session.clone(),
                turn: report.turn,
                ts: at,
                kind: LiveKind::Progress {
                    call: report.call,
                    text: report.text,
                },
            };
            let bytes = report.bytes;
            let reporting = Reporting { live, told, bytes };
            self.reports.insert(report.call, reporting);
        } else if let Some(known) = known
            && known.live.text_bytes() == report.offset
            && known.live.ts == at
            && let LiveKind::Progress { text, .. } = &mut known.live.kind
        {
            text.push_str(&report.text);
        }
    }

    /// Passes on what is sure by now.
    fn settle(&mut self, bus: &Bus) {
        if let Some(run) = &mut self.run {
            if self.floor <= run.told && run.told <= self.at {
                let items = run.run.items;
                run.published = Some(items.saturating_add(run.later(&self.items)));
            }
            let published = run.published.unwrap_or(0);
            let durable = |part: &Part| part.item.is_some_and(|item| item < published);
            run.drop(bus, &self.session, durable);
            if self.whole && run.is_sure() {
                run.say(bus, &self.session, self.at);
            }
        }
        self.tell_reports(bus);
    }

    fn tell_reports(&mut self, bus: &Bus) {
        let reports = std::mem::take(&mut self.reports).into_iter();
        let is_whole = |one: &Reporting| one.bytes == one.live.text_bytes();
        let due = |one: &Reporting| is_whole(one) && one.told <= self.at;
        let (whole, rest): (BTreeMap<_, _>, _) = reports.partition(|(_, one)| due(one));
        self.reports = rest;
        for (call, one) in whole {
            let late = self.calls.get(&call).is_some_and(|at| *at > one.told);
            if !late && one.told >= self.floor && !bus.has_reported(&one.live) {
                bus.report(one.live);
            }
        }
    }

    /// Forgets facts that all that follows is told after.
    fn prune(&mut self) {
        let run = self.run.as_ref().map_or(self.told, |run| run.told);
        let told = self.told.min(run);
        while self.items.front().is_some_and(|(_, at)| *at <= told) {
            self.items.pop_front();
        }
        self.calls.retain(|_, at| *at > told);
    }
}

impl Live {
    /// The bytes of a report.
    fn text_bytes(&self) -> u64 {
        match &self.kind {
            LiveKind::Progress { text, .. } => text.len() as u64,
            LiveKind::Delta { .. } => 0,
        }
    }
}
