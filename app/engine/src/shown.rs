//! Shown: what running effects have shown so far and no durable fact says yet, for whoever begins to
//! listen meanwhile.
//!
//! Of a sample it is the text of each part whose item is not durable, of a call its last report. It
//! is bounded by what bounds an answer, and empty while nothing runs.

mod telling;

use std::collections::{BTreeMap, VecDeque};

use windlass_core::{
    CallEntry, CallId, CallSource, Delta, Entry, Recorded, SampleEntry, Seq, SessionId, Timestamp,
    TurnEntry, TurnId,
};

use crate::event::{Live, LiveKind};
use crate::live;
use crate::published::LiveBatch;

pub(crate) use telling::Said;

/// Run of a sample, and its start.
#[derive(Debug, Clone)]
pub(crate) struct Speaker {
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    /// The run: the position of its `SampleStarted`.
    pub(crate) started: Seq,
    pub(crate) ts: Timestamp,
}

/// Live state that is not durable.
#[derive(Debug)]
pub(crate) struct Shown {
    /// The position up to which facts were published.
    durable: Seq,
    /// The position up to which they are on record by the word of whoever speaks here.
    recorded: Seq,
    /// A run whose beginning is not on record by that is not shown yet: where this node has lost the
    /// session, the driver elsewhere may have another run there.
    sample: Option<Saying>,
    /// The last run that is known to be over: nothing of it is shown any more.
    over: Seq,
    reports: BTreeMap<CallId, Live>,
    /// The same as events, as long as nothing changes.
    told: Option<LiveBatch>,
}

#[derive(Debug)]
struct Saying {
    speaker: Speaker,
    parts: Vec<Part>,
    /// Parts whose items are on their way to the log, in their order there.
    whole: VecDeque<u32>,
    /// Number of its items in the log.
    items: u32,
}

#[derive(Debug)]
struct Part {
    slot: u32,
    kind: Kind,
    text: String,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Refusal,
    Reasoning,
    Call { name: String },
}

impl Speaker {
    /// Returns a delta as a live event.
    pub(crate) fn live(&self, delta: Delta) -> Live {
        Live {
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

impl Shown {
    /// Nothing yet, of a log that is durable up to there.
    pub(crate) fn new(durable: Seq) -> Self {
        Self {
            durable,
            recorded: durable,
            sample: None,
            over: Seq::ZERO,
            reports: BTreeMap::new(),
            told: None,
        }
    }

    /// Returns the shown part of a running sample.
    fn saying(&self) -> Option<&Saying> {
        let on_record = |saying: &&Saying| saying.speaker.started <= self.recorded;
        self.sample.as_ref().filter(on_record)
    }

    /// The position is on record by the word of whoever speaks here. Answers whether the run that speaks
    /// begins there, and was not on record before.
    pub(crate) fn record(&mut self, seq: Seq) -> bool {
        if seq <= self.recorded {
            return false;
        }
        self.recorded = seq;
        self.told = None;
        self.speaks(seq)
    }

    /// Returns true if this run speaks, and its beginning is durable.
    pub(crate) fn speaks(&self, started: Seq) -> bool {
        let saying = self.saying();
        saying.is_some_and(|saying| saying.speaker.started == started)
    }

    /// Returns the run's text so far, one delta for each part; `None` if there is none.
    pub(crate) fn said(&self) -> Option<LiveBatch> {
        let said: Vec<Live> = self.saying()?.told().collect();
        (!said.is_empty()).then(|| said.into())
    }

    /// A sample says more. `whole` are its parts that are whole by now, each with whether there is an
    /// item of it. Answers whether that is shown: the run's beginning is durable, and it is not over.
    /// What was said is noted where it is asked for.
    pub(crate) fn say(
        &mut self,
        speaker: &Speaker,
        deltas: &[Delta],
        whole: &[(u32, bool)],
        mut said: Option<&mut Said>,
    ) -> bool {
        if speaker.started <= self.over {
            return false;
        }
        self.told = None;
        let other = |saying: &Saying| saying.speaker.started != speaker.started;
        if self.sample.as_ref().is_none_or(other) {
            self.sample = Some(Saying {
                speaker: speaker.clone(),
                parts: Vec::new(),
                whole: VecDeque::new(),
                items: 0,
            });
            if let Some(said) = &mut said {
                said.begins = true;
            }
        }
        if let Some(saying) = &mut self.sample {
            saying.speaker.ts = speaker.ts;
            for delta in deltas {
                let (kind, offset) = saying.add(delta);
                if let Some(said) = &mut said {
                    said.add(delta, kind, offset);
                }
            }
            for (slot, item) in whole {
                let place = item.then(|| saying.next());
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
    pub(crate) fn report(&mut self, live: &[Live]) {
        for live in live {
            if let LiveKind::Progress { call, .. } = &live.kind {
                self.told = None;
                self.reports.insert(*call, live.clone());
            }
        }
    }

    /// A fact is durable: what it says is shown no more. Answers whether that is news.
    pub(crate) fn durable(&mut self, recorded: &Recorded) -> bool {
        if recorded.seq <= self.durable {
            return false;
        }
        self.durable = recorded.seq;
        match Entry::of(recorded) {
            Entry::Sample(SampleEntry::Content { started, .. })
            | Entry::Call(_, CallEntry::Proposed(CallSource::Sample(started), _)) => {
                if let Some(saying) = &mut self.sample
                    && saying.speaker.started == started
                {
                    saying.items = saying.items.saturating_add(1);
                    if let Some(slot) = saying.whole.pop_front() {
                        saying.drop(slot);
                    }
                }
            }
            Entry::Sample(SampleEntry::Ended(ended)) => self.end(ended.started),
            Entry::Sample(SampleEntry::Cut(cut)) => self.end(cut.started),
            Entry::Call(call, CallEntry::Started(_) | CallEntry::Observed(_)) => {
                self.reports.remove(&call);
            }
            Entry::Turn(TurnEntry::Settled(_)) => {
                self.end(recorded.seq);
                self.reports.clear();
            }
            Entry::Sample(SampleEntry::Started(_)) => {}
            Entry::Session(_)
            | Entry::Input(_)
            | Entry::Turn(_)
            | Entry::Hook(_)
            | Entry::Context(_)
            | Entry::Compaction(_)
            | Entry::Call(..)
            | Entry::Program(_) => return true,
        }
        self.told = None;
        true
    }

    /// A run is over, and every one before it.
    fn end(&mut self, started: Seq) {
        self.over = self.over.max(started);
        let over = |saying: &mut Saying| saying.speaker.started <= started;
        self.sample.take_if(over);
    }

    /// All of it, one delta a part. Whoever asks before something changes shares it.
    pub(crate) fn told(&mut self) -> Option<LiveBatch> {
        if self.told.is_none() {
            let said = self.saying().into_iter().flat_map(Saying::told);
            let all: Vec<Live> = said.chain(self.reports.values().cloned()).collect();
            self.told = (!all.is_empty()).then(|| all.into());
        }
        self.told.clone()
    }
}

impl Saying {
    /// Adds to a part. Answers what it is, and where in it this lies.
    fn add(&mut self, delta: &Delta) -> (live::Kind, u64) {
        let (slot, kind, text) = match delta {
            Delta::Text { slot, text } => (*slot, Kind::Text, text.as_str()),
            Delta::Refusal { slot, text } => (*slot, Kind::Refusal, text.as_str()),
            Delta::Reasoning { slot, text } => (*slot, Kind::Reasoning, text.as_str()),
            Delta::Arguments { slot, text } => {
                let name = String::new();
                (*slot, Kind::Call { name }, text.as_str())
            }
            Delta::Call { slot, name } => {
                let name = name.clone();
                (*slot, Kind::Call { name }, "")
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
                let part = Part { slot, kind, text };
                let kind = part.kind();
                self.parts.push(part);
                (kind, 0)
            }
        }
    }

    fn drop(&mut self, slot: u32) {
        self.parts.retain(|part| part.slot != slot);
    }

    fn told(&self) -> impl Iterator<Item = Live> {
        let deltas = self.parts.iter().flat_map(Part::told);
        deltas.map(|delta| self.speaker.live(delta))
    }
}

impl Part {
    /// The part in one delta; a call in two, as its name is one of its own.
    fn told(&self) -> impl Iterator<Item = Delta> {
        let (slot, text) = (self.slot, || self.text.clone());
        let (call, more) = match &self.kind {
            Kind::Text => (None, Some(Delta::Text { slot, text: text() })),
            Kind::Refusal => (None, Some(Delta::Refusal { slot, text: text() })),
            Kind::Reasoning => (None, Some(Delta::Reasoning { slot, text: text() })),
            Kind::Call { name } => {
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
