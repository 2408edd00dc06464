//! Live state: output of running effects that no durable fact contains yet, for new subscribers.
//!
//! It has the text of each part of a sample whose item is not durable, and the last report of each
//! call. It is bounded by the limits of an answer, and empty while nothing runs.

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
    /// Position of the `SampleStarted` of the run.
    pub(crate) started: Seq,
    pub(crate) ts: Timestamp,
}

/// Live state that is not durable.
#[derive(Debug)]
pub(crate) struct LiveState {
    /// Position up to which facts were published.
    durable: Seq,
    /// Position up to which the writer that streams here has confirmed its facts.
    recorded: Seq,
    /// Run that is streaming. It is not shown before its start is confirmed: if this node has lost
    /// the session, the driver elsewhere may have another run at that position.
    sample: Option<StreamingSample>,
    /// Last run that is known to be over. Nothing of it is shown any more.
    last_ended: Seq,
    reports: BTreeMap<CallId, LiveEvent>,
    /// The live state as events, cached until it changes.
    events: Option<LiveBatch>,
}

#[derive(Debug)]
struct StreamingSample {
    run: StreamingRun,
    parts: Vec<StreamingPart>,
    /// Complete parts whose items are not durable yet, in log order.
    whole: VecDeque<u32>,
    /// Number of the run's items in the log.
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
            kind: LiveKind::Delta { started: self.started, delta },
        }
    }
}

impl LiveState {
    /// Creates an empty live state of a log that is durable up to this position.
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

    /// Records that the writer that streams here has confirmed its facts up to a position. Returns
    /// true if the streaming run starts there and was not confirmed before.
    pub(crate) fn record(&mut self, seq: Seq) -> bool {
        if seq <= self.recorded {
            return false;
        }
        self.recorded = seq;
        self.events = None;
        self.is_streaming(seq)
    }

    /// Returns true if this run is streaming and its start is durable.
    pub(crate) fn is_streaming(&self, started: Seq) -> bool {
        let saying = self.current_sample();
        saying.is_some_and(|saying| saying.run.started == started)
    }

    /// Returns the run's text so far, one delta for each part; `None` if there is none.
    pub(crate) fn sample_events(&self) -> Option<LiveBatch> {
        let said: Vec<LiveEvent> = self.current_sample()?.events().collect();
        (!said.is_empty()).then(|| said.into())
    }

    /// Adds deltas of a sample. `whole` lists the parts that are complete by now, each with a flag
    /// that is true if it has an item. Returns true if the deltas are shown: the run's start is
    /// durable, and the run is not over. Records the added text in the update, if one is passed.
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
                    // If a part is reported complete twice, the first report determines its item.
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

    /// Adds progress reports of calls.
    pub(crate) fn add_reports(&mut self, live: &[LiveEvent]) {
        for live in live {
            if let LiveKind::Progress { call, .. } = &live.kind {
                self.events = None;
                self.reports.insert(*call, live.clone());
            }
        }
    }

    /// Records a durable fact, and removes its content from the live state. Returns true if the
    /// fact is new.
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

    /// Ends a run and every earlier one.
    fn end_run(&mut self, started: Seq) {
        self.last_ended = self.last_ended.max(started);
        let over = |saying: &mut StreamingSample| saying.run.started <= started;
        self.sample.take_if(over);
    }

    /// Returns the whole live state, one delta for each part. Callers share it until it changes.
    pub(crate) fn events(&mut self) -> Option<LiveBatch> {
        if self.events.is_none() {
            let said = self.current_sample().into_iter().flat_map(StreamingSample::events);
            let all: Vec<LiveEvent> = said.chain(self.reports.values().cloned()).collect();
            self.events = (!all.is_empty()).then(|| all.into());
        }
        self.events.clone()
    }
}

impl StreamingSample {
    /// Adds to a part. Returns the part's kind, and the offset of the addition.
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
    /// Returns the part as one delta; a call as two, since its name is a delta of its own.
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
