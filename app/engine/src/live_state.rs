//! Shown: what running effects have shown so far and no durable fact says yet, for whoever begins to
//! listen meanwhile.
//!
//! Of a sample it is the text of each part whose item is not durable, of a call its last report. It
//! is bounded by what bounds an answer, and empty while nothing runs.

mod messages;

use std::collections::{BTreeMap, VecDeque};

use windlass_core::{
    CallEntry, CallId, CallSource, Delta, RecordedFact, SampleEntry, Seq, SessionId, TimelineEntry,
    Timestamp, TurnEntry, TurnId,
};

use crate::event::{LiveEvent, LiveKind};
use crate::live;
use crate::published::LiveBatch;

pub(crate) use messages::LiveUpdate;

/// Run of a sample, and its start.
#[derive(Debug, Clone)]
pub(crate) struct StreamingRun {
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    /// The run: the position of its `SampleStarted`.
    pub(crate) started: Seq,
    pub(crate) ts: Timestamp,
}

/// Live state that is not durable.
#[derive(Debug)]
pub(crate) struct LiveState {
    /// The position up to which facts were published.
    durable: Seq,
    /// The position up to which they are on record by the word of whoever speaks here.
    recorded: Seq,
    /// A run whose beginning is not on record by that is not shown yet: where this node has lost the
    /// session, the driver elsewhere may have another run there.
    sample: Option<StreamingSample>,
    /// The last run that is known to be over: nothing of it is shown any more.
    last_ended: Seq,
    reports: BTreeMap<CallId, LiveEvent>,
    /// The same as events, as long as nothing changes.
    events: Option<LiveBatch>,
}

#[derive(Debug)]
struct StreamingSample {
    run: StreamingRun,
    parts: Vec<StreamingPart>,
    /// Parts whose items are on their way to the log, in their order there.
    whole: VecDeque<u32>,
    /// Number of its items in the log.
    items: u32,
}

#[derive(Debug)]
struct StreamingPart {
    slot: u32,
    kind: StreamingPartKind,
    text: String,
}

#[derive(Debug, PartialEq, Eq)]
enum StreamingPartKind {
    Text,
    Refusal,
    Reasoning,
    Call { name: String },
}

impl StreamingRun {
    /// Returns a delta as a live event.
    pub(crate) fn live(&self, delta: Delta) -> LiveEvent {
        LiveEvent {
            session: self.session.clone(),
            turn: self.turn,
            ts: self.ts,
            kind: LiveKind::Delta {
                started: self.started,
                delta,
            },
        }
    }
}

impl LiveState {
    /// Nothing yet, of a log that is durable up to there.
    pub(crate) fn new(durable: Seq) -> Self {
        Self {
            durable,
            recorded: durable,
            sample: None,
            last_ended: Seq::ZERO,
            reports: BTreeMap::new(),
            events: None,
        }
    }

    /// Returns the shown part of a running sample.
    fn current_sample(&self) -> Option<&StreamingSample> {
        let on_record = |saying: &&StreamingSample| saying.run.started <= self.recorded;
        self.sample.as_ref().filter(on_record)
    }

    /// The position is on record by the word of whoever speaks here. Answers whether the run that speaks
    /// begins there, and was not on record before.
    pub(crate) fn record(&mut self, seq: Seq) -> bool {
        if seq <= self.recorded {
            return false;
        }
        self.recorded = seq;
        self.events = None;
        self.is_streaming(seq)
    }

    /// Returns true if this run speaks, and its beginning is durable.
    pub(crate) fn is_streaming(&self, started: Seq) -> bool {
        let saying = self.current_sample();
        saying.is_some_and(|saying| saying.run.started == started)
    }

    /// Returns the run's text so far, one delta for each part; `None` if there is none.
    pub(crate) fn sample_events(&self) -> Option<LiveBatch> {
        let said: Vec<LiveEvent> = self.current_sample()?.events().collect();
        (!said.is_empty()).then(|| said.into())
    }

    /// A sample says more. `whole` are its parts that are whole by now, each with whether there is an
    /// item of it. Answers whether that is shown: the run's beginning is durable, and it is not over.
    /// What was said is noted where it is asked for.
    pub(crate) fn add_deltas(
        &mut self,
        speaker: &StreamingRun,
        deltas: &[Delta],
        whole: &[(u32, bool)],
        mut said: Option<&mut LiveUpdate>,
    ) -> bool {
        if speaker.started <= self.last_ended {
            return false;
        }
        self.events = None;
        let other = |saying: &StreamingSample| saying.run.started != speaker.started;
        if self.sample.as_ref().is_none_or(other) {
            self.sample = Some(StreamingSample {
                run: speaker.clone(),
                parts: Vec::new(),
                whole: VecDeque::new(),
                items: 0,
            });
            if let Some(said) = &mut said {
                said.begins = true;
            }
        }
        if let Some(saying) = &mut self.sample {
            saying.run.ts = speaker.ts;
            for delta in deltas {
                let (kind, offset) = saying.add(delta);
                if let Some(said) = &mut said {
                    said.add(delta, kind, offset);
                }
            }
            for (slot, item) in whole {
                let place = item.then(|| saying.next_item());
                match item {
                    true => saying.whole.push_back(*slot),
                    // A part that is said to be whole twice has its item from the first time.
                    false if saying.whole.contains(slot) => continue,
                    false => saying.drop(*slot),
                }
                if let Some(said) = &mut said {
                    said.whole.push((*slot, place));
                }
            }
        }
        speaker.started <= self.recorded
    }

    /// A call reports.
    pub(crate) fn add_reports(&mut self, live: &[LiveEvent]) {
        for live in live {
            if let LiveKind::Progress { call, .. } = &live.kind {
                self.events = None;
                self.reports.insert(*call, live.clone());
            }
        }
    }

    /// A fact is durable: what it says is shown no more. Answers whether that is news.
    pub(crate) fn on_durable(&mut self, recorded: &RecordedFact) -> bool {
        if recorded.seq <= self.durable {
            return false;
        }
        self.durable = recorded.seq;
        match TimelineEntry::of(recorded) {
            TimelineEntry::Sample(SampleEntry::Content { started, .. })
            | TimelineEntry::Call(_, CallEntry::Proposed(CallSource::Sample(started), _)) => {
                if let Some(saying) = &mut self.sample
                    && saying.run.started == started
                {
                    saying.items = saying.items.saturating_add(1);
                    if let Some(slot) = saying.whole.pop_front() {
                        saying.drop(slot);
                    }
                }
            }
            TimelineEntry::Sample(SampleEntry::Ended(ended)) => self.end_run(ended.started),
            TimelineEntry::Sample(SampleEntry::Cut(cut)) => self.end_run(cut.started),
            TimelineEntry::Call(call, CallEntry::Started(_) | CallEntry::Observed(_)) => {
                self.reports.remove(&call);
            }
            TimelineEntry::Turn(TurnEntry::Settled(_)) => {
                self.end_run(recorded.seq);
                self.reports.clear();
            }
            TimelineEntry::Sample(SampleEntry::Started(_)) => {}
            TimelineEntry::Session(_)
            | TimelineEntry::Input(_)
            | TimelineEntry::Turn(_)
            | TimelineEntry::Hook(_)
            | TimelineEntry::Context(_)
            | TimelineEntry::Compaction(_)
            | TimelineEntry::Call(..)
            | TimelineEntry::Program(_) => return true,
        }
        self.events = None;
        true
    }

    /// A run is over, and every one before it.
    fn end_run(&mut self, started: Seq) {
        self.last_ended = self.last_ended.max(started);
        let over = |saying: &mut StreamingSample| saying.run.started <= started;
        self.sample.take_if(over);
    }

    /// All of it, one delta a part. Whoever asks before something changes shares it.
    pub(crate) fn events(&mut self) -> Option<LiveBatch> {
        if self.events.is_none() {
            let said = self
                .current_sample()
                .into_iter()
                .flat_map(StreamingSample::events);
            let all: Vec<LiveEvent> = said.chain(self.reports.values().cloned()).collect();
            self.events = (!all.is_empty()).then(|| all.into());
        }
        self.events.clone()
    }
}

impl StreamingSample {
    /// Adds to a part. Answers what it is, and where in it this lies.
    fn add(&mut self, delta: &Delta) -> (live::PartKind, u64) {
        let (slot, kind, text) = match delta {
            Delta::Text { slot, text } => (*slot, StreamingPartKind::Text, text.as_str()),
            Delta::Refusal { slot, text } => (*slot, StreamingPartKind::Refusal, text.as_str()),
            Delta::Reasoning { slot, text } => (*slot, StreamingPartKind::Reasoning, text.as_str()),
            Delta::Arguments { slot, text } => {
                let name = String::new();
                (*slot, StreamingPartKind::Call { name }, text.as_str())
            }
            Delta::Call { slot, name } => {
                let name = name.clone();
                (*slot, StreamingPartKind::Call { name }, "")
            }
        };
        // The part that grew last is nearly always the one that grows now.
        let part = self.parts.iter_mut().rev().find(|part| part.slot == slot);
        match part {
            Some(part) => {
                let offset = part.len();
                part.text.push_str(text);
                (part.kind(), offset)
            }
            None => {
                let text = text.to_owned();
                let part = StreamingPart { slot, kind, text };
                let kind = part.kind();
                self.parts.push(part);
                (kind, 0)
            }
        }
    }

    fn drop(&mut self, slot: u32) {
        self.parts.retain(|part| part.slot != slot);
    }

    fn events(&self) -> impl Iterator<Item = LiveEvent> {
        let deltas = self.parts.iter().flat_map(StreamingPart::deltas);
        deltas.map(|delta| self.run.live(delta))
    }
}

impl StreamingPart {
    /// The part in one delta; a call in two, as its name is one of its own.
    fn deltas(&self) -> impl Iterator<Item = Delta> {
        let (slot, text) = (self.slot, || self.text.clone());
        let (call, more) = match &self.kind {
            StreamingPartKind::Text => (None, Some(Delta::Text { slot, text: text() })),
            StreamingPartKind::Refusal => (None, Some(Delta::Refusal { slot, text: text() })),
            StreamingPartKind::Reasoning => (None, Some(Delta::Reasoning { slot, text: text() })),
            StreamingPartKind::Call { name } => {
                let name = name.clone();
                let arguments = Delta::Arguments { slot, text: text() };
                let more = (!self.text.is_empty()).then_some(arguments);
                (Some(Delta::Call { slot, name }), more)
            }
        };
        call.into_iter().chain(more)
    }
}

#[cfg(test)]
mod tests;
