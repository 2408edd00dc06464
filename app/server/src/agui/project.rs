//! Projection: converts facts and live events into AG-UI events. Performs no I/O and reads no
//! clock.
//!
//! A thread is a session, and a run is a turn. A turn that waits only for people ends its run with
//! their questions; its work after an answer is another run.

mod ending;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_engine::core::{
    CallEntry, CallId, CallItem, CallSource, CompactionEntry, ContentPart, Delta, InputEntry,
    InputId, Reason, RecordedFact, SampleCut, SampleEntry, SampleView, Seq, SessionId,
    TimelineEntry, TurnEntry, TurnId, View, result_text,
};
use windlass_engine::{LiveEvent, LiveKind};

use super::event::{AguiEvent, Metadata, PROTOCOL, TokenUsage};
use super::question;
use super::sample::{AguiPartKind, Sample};
use crate::stream::client_stream::StoreNotice;

/// Turns that are presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnFilter {
    /// Every turn.
    All,
    /// The turn that accepts this input.
    Input(InputId),
    /// This turn.
    Turn(TurnId),
}

/// Converts a session's events into AG-UI events.
#[derive(Debug)]
pub(super) struct Projection {
    thread: SessionId,
    filter: TurnFilter,
    /// Facts up to this position are applied without being presented.
    known: Seq,
    /// Name of the next run, if a client gave one.
    next_run: Option<String>,
    /// Current run.
    run: Option<PresentedRun>,
    /// Previous run of the same turn.
    parent_run: Option<String>,
    /// Open turn.
    turn: Option<TurnId>,
    /// Turn that has ended.
    settled: Option<TurnId>,
    sample: Option<Sample>,
    view: View,
    /// Messages of calls.
    parents: BTreeMap<CallId, String>,
    /// True while the turn waits for people; hooks without a verdict do not count then.
    paused: bool,
    /// Samples up to this one are not presented while they stream.
    silent: Seq,
    /// Last fact.
    last: Seq,
}

#[derive(Debug)]
struct PresentedRun {
    id: String,
    usage: TokenUsage,
}

impl Projection {
    /// Creates a projection of a session that presents facts after a position.
    pub(super) fn new(thread: SessionId, about: TurnFilter, known: Seq) -> Self {
        Self {
            thread,
            filter: about,
            known,
            next_run: None,
            run: None,
            parent_run: None,
            turn: None,
            settled: None,
            sample: None,
            view: View::default(),
            parents: BTreeMap::new(),
            paused: false,
            silent: Seq::ZERO,
            last: Seq::ZERO,
        }
    }

    /// Starts a run that the client named.
    pub(super) fn start(&mut self, run: String, out: &mut Vec<AguiEvent>) {
        self.next_run = Some(run);
        self.open(out);
    }

    /// Reports fields of the request that are ignored.
    pub(super) fn ignored(&self, fields: &[&str], out: &mut Vec<AguiEvent>) {
        if !fields.is_empty() {
            self.custom("Ignored", json!({"fields": fields}), out);
        }
    }

    /// Returns true if this fact ends a turn that left an input waiting.
    pub(super) fn leaves_input_waiting(&self, fact: &RecordedFact) -> bool {
        if let (TurnFilter::Input(input), TimelineEntry::Turn(TurnEntry::Settled(settled))) =
            (self.filter, TimelineEntry::of(fact))
        {
            return settled.waiting.contains(&input);
        }
        false
    }

    /// Returns true if a run is presented.
    pub(super) fn has_run(&self) -> bool {
        self.run.is_some()
    }

    /// Handles a lag: live text begins again.
    pub(super) fn on_lagged(&mut self) {
        if let Some(sample) = &mut self.sample {
            sample.on_lagged();
        }
    }

    /// Ends the run with an error, although the turn may continue.
    pub(super) fn fail(&mut self, code: &str, message: &str, out: &mut Vec<AguiEvent>) {
        self.close(out);
        let usage = self.run.take().map(|run| run.usage.as_list());
        out.push(AguiEvent::RunError {
            message: message.to_owned(),
            code: code.to_owned(),
            usage: usage.unwrap_or_default(),
        });
    }

    /// Applies a live event.
    pub(super) fn on_live(&mut self, live: &LiveEvent, out: &mut Vec<AguiEvent>) {
        if self.turn != Some(live.turn) {
            return;
        }
        let told = self.last >= self.known && !self.paused;
        match &live.kind {
            LiveKind::Delta { started, delta } => self.on_delta(*started, delta, told, out),
            LiveKind::Progress { call, text } => {
                let open = |view: &SampleView| view.open_calls().any(|open| open.id == *call);
                if told && self.answer().is_some_and(open) {
                    let value = json!({"toolCallId": call.to_string(), "text": text});
                    self.custom("CallProgress", value, out);
                }
            }
        }
    }

    fn on_delta(&mut self, started: Seq, delta: &Delta, told: bool, out: &mut Vec<AguiEvent>) {
        let silent = started <= self.silent;
        if self.sample.as_ref().map(|sample| sample.started) != Some(started) {
            return;
        }
        if !told {
            self.silent = started;
            if let Some(sample) = &mut self.sample {
                sample.on_missed();
            }
            return;
        }
        self.open(out);
        let Some(sample) = &mut self.sample else {
            return;
        };
        let (slot, kind, text) = match delta {
            Delta::Text { slot, text } => (*slot, AguiPartKind::Text, text.as_str()),
            Delta::Refusal { slot, text } => (*slot, AguiPartKind::Refusal, text.as_str()),
            Delta::Reasoning { slot, text } => (*slot, AguiPartKind::Reasoning, text.as_str()),
            Delta::Call { slot, .. } => (*slot, AguiPartKind::Call, ""),
            Delta::Arguments { .. } => return,
        };
        sample.on_live(slot, kind, text, silent, out);
    }

    /// Applies the next fact.
    pub(super) fn apply(&mut self, fact: &RecordedFact, out: &mut Vec<AguiEvent>) {
        self.last = fact.seq;
        if let TimelineEntry::Input(entry) = TimelineEntry::of(fact)
            && let Some(input) = changed_input(entry)
        {
            return self.on_queue_change(fact, input, entry, out);
        }
        if !self.concerns(fact) {
            return;
        }
        if fact.seq > self.known {
            self.project(fact, out);
            return;
        }
        // A client that starts after it knows it or does not request it.
        let (run, named) = (self.run.take(), self.next_run.take());
        self.project(fact, &mut Vec::new());
        (self.run, self.next_run, self.parent_run) = (run, named, None);
        if let Some(sample) = &mut self.sample {
            sample.is_step = false;
        }
    }

    /// Presents a change of a waiting input. A run whose input is withdrawn has ended.
    fn on_queue_change(
        &mut self,
        fact: &RecordedFact,
        input: InputId,
        entry: InputEntry<'_>,
        out: &mut Vec<AguiEvent>,
    ) {
        let awaited = matches!(self.filter, TurnFilter::Input(awaited) if awaited == input);
        if fact.seq > self.known {
            self.custom_fact(fact, out);
        }
        if awaited && matches!(entry, InputEntry::Withdrawn(_)) {
            self.fail("withdrawn", "the input was withdrawn", out);
        }
    }

    /// Returns true if a fact belongs to a presented turn.
    fn concerns(&mut self, fact: &RecordedFact) -> bool {
        let turn = fact.turn;
        if let TurnFilter::Input(input) = self.filter {
            let entry = TimelineEntry::of(fact);
            let hears = if let TimelineEntry::Turn(TurnEntry::Opened(opened)) = entry {
                opened.reason == Reason::Input { input }
            } else {
                matches!(entry, TimelineEntry::Input(InputEntry::Accepted(accepted)) if accepted == input)
            };
            if let (true, Some(turn)) = (hears, turn) {
                self.filter = TurnFilter::Turn(turn);
            }
        }
        match self.filter {
            TurnFilter::All => turn.is_some() && turn != self.settled,
            TurnFilter::Input(_) => false,
            TurnFilter::Turn(told) => turn == Some(told),
        }
    }

    fn project(&mut self, fact: &RecordedFact, out: &mut Vec<AguiEvent>) {
        self.turn = fact.turn;
        let entry = self.view.apply(fact);
        if continues(entry) {
            self.paused = false;
        }
        if !self.paused {
            self.open(out);
        }
        match entry {
            TimelineEntry::Sample(entry) => self.on_sample(fact, entry, out),
            TimelineEntry::Call(id, entry) => self.on_call(fact, id, entry, out),
            TimelineEntry::Turn(TurnEntry::Settled(settled)) => self.settle(settled, out),
            TimelineEntry::Compaction(entry) => {
                if let CompactionEntry::Done(compacted) = entry {
                    self.add_usage(compacted.usage.as_ref());
                }
                self.custom_fact(fact, out);
            }
            TimelineEntry::Hook(_)
            | TimelineEntry::Input(InputEntry::Blocked(_))
            | TimelineEntry::Program(_)
            | TimelineEntry::Turn(TurnEntry::Interrupted(_)) => self.custom_fact(fact, out),
            // Changes of waiting inputs are presented before.
            TimelineEntry::Session(_)
            | TimelineEntry::Input(
                InputEntry::Queued(_)
                | InputEntry::Accepted(_)
                | InputEntry::Edited(_)
                | InputEntry::Moved(_)
                | InputEntry::Withdrawn(_),
            )
            | TimelineEntry::Turn(TurnEntry::Opened(_))
            | TimelineEntry::Context(_) => {}
        }
    }

    fn on_sample(&mut self, fact: &RecordedFact, entry: SampleEntry<'_>, out: &mut Vec<AguiEvent>) {
        match entry {
            SampleEntry::Started(started) => {
                self.close(out);
                let step_name = match started.attempt {
                    0 | 1 => format!("sample {}", started.sample),
                    again => format!("sample {}, attempt {again}", started.sample),
                };
                self.sample = Some(Sample::new(fact.seq, step_name));
                self.open(out);
            }
            SampleEntry::Content { started, part } => {
                let Some(sample) = current_sample(&mut self.sample, started) else {
                    return;
                };
                match part {
                    ContentPart::Text { text, .. } => {
                        sample.on_item(fact.seq, AguiPartKind::Text, text, out)
                    }
                    ContentPart::Refusal(text) => {
                        sample.on_item(fact.seq, AguiPartKind::Refusal, text, out)
                    }
                    ContentPart::Reasoning(item) => {
                        let text = Arc::from(item.text.as_str());
                        sample.on_item(fact.seq, AguiPartKind::Reasoning, &text, out);
                    }
                }
            }
            SampleEntry::Ended(ended) => {
                self.add_usage(ended.usage.as_ref());
                self.close(out);
                self.pause(out);
            }
            SampleEntry::Cut(cut) => self.on_cut(fact, cut, out),
        }
    }

    fn on_call(
        &mut self,
        fact: &RecordedFact,
        id: CallId,
        entry: CallEntry<'_>,
        out: &mut Vec<AguiEvent>,
    ) {
        match entry {
            CallEntry::Proposed(source, item) => self.on_proposed(id, source, item, out),
            CallEntry::Asked(_) => self.pause(out),
            CallEntry::Started(started) if started.client => self.pause(out),
            CallEntry::Suspended(_) => {
                self.custom_fact(fact, out);
                self.pause(out);
            }
            CallEntry::Answered(_) | CallEntry::Resumed(_) => self.custom_fact(fact, out),
            CallEntry::Observed(observed) => {
                self.parents.remove(&id);
                let status = json!({"status": observed.observation.status});
                out.push(AguiEvent::ToolCallResult {
                    message_id: fact.seq.to_string(),
                    tool_call_id: id.to_string(),
                    content: result_text(&observed.observation, None).into_owned(),
                    role: "tool",
                    metadata: Metadata::from([("windlass", status)]),
                });
                self.pause(out);
            }
            CallEntry::Decided(_) | CallEntry::Started(_) | CallEntry::Reconciling => {}
        }
    }

    /// Starts the run and its current step, unless they are started.
    fn open(&mut self, out: &mut Vec<AguiEvent>) {
        if self.run.is_none() {
            let turn = self.turn.map(|turn| turn.to_string()).unwrap_or_default();
            let named = self.next_run.take();
            let id = named.unwrap_or_else(|| match &self.parent_run {
                Some(_) => format!("{turn}.{}", self.last),
                None => turn,
            });
            out.push(AguiEvent::RunStarted {
                thread_id: self.thread.to_string(),
                run_id: id.clone(),
                protocol_version: PROTOCOL,
                parent_run_id: self.parent_run.clone(),
            });
            let usage = TokenUsage::default();
            self.run = Some(PresentedRun { id, usage });
        }
        if let Some(sample) = &mut self.sample
            && !std::mem::replace(&mut sample.is_step, true)
        {
            let step_name = sample.step.clone();
            out.push(AguiEvent::StepStarted { step_name });
        }
    }

    /// Presents a call; a program's call is presented like one of the answer.
    fn on_proposed(
        &mut self,
        id: CallId,
        source: CallSource,
        item: &CallItem,
        out: &mut Vec<AguiEvent>,
    ) {
        let parent = match source {
            CallSource::Sample(of) => current_sample(&mut self.sample, of).map(|sample| {
                sample.on_item(Seq(id.0), AguiPartKind::Call, &Arc::from(""), out);
                sample.parent()
            }),
            CallSource::Program(program) => self.parents.get(&program).cloned(),
            CallSource::User(input) => Some(format!("input-{input}")),
        };
        if let Some(parent) = parent {
            question::propose(id, item, &parent, out);
            self.parents.insert(id, parent);
        }
    }

    /// Returns the latest answer of the presented turn.
    fn answer(&self) -> Option<&SampleView> {
        self.view.turn().map(|turn| &turn.sample)
    }

    /// Ends the open messages of the sample.
    fn close(&mut self, out: &mut Vec<AguiEvent>) {
        let Some(mut sample) = self.sample.take() else {
            return;
        };
        let left = sample.close(out);
        if !left.is_empty() {
            let value = json!({"messageIds": left});
            self.custom("Superseded", value, out);
        }
        sample.finish(out);
    }

    /// Handles an answer that was cut, and names its discarded messages.
    fn on_cut(&mut self, fact: &RecordedFact, cut: &SampleCut, out: &mut Vec<AguiEvent>) {
        self.add_usage(cut.usage.as_ref());
        let Some(mut sample) = self.sample.take() else {
            return;
        };
        let open = sample.close(out);
        let told = sample.messages.iter();
        let fallen = told.filter(|(seq, _)| !cut.retains_text_at(*seq));
        let mut fallen: Vec<_> = fallen.map(|(_, message)| message.clone()).collect();
        if !cut.retains_text() {
            fallen.extend(open);
        }
        let value = json!({
            "seq": fact.seq, "failure": cut.failure, "retained": cut.retained,
            "retryAt": cut.retry_at, "messageIds": fallen,
        });
        self.custom("SampleCut", value, out);
        sample.finish(out);
        self.pause(out);
    }

    fn add_usage(&mut self, usage: Option<&windlass_engine::core::Usage>) {
        if let (Some(run), Some(usage)) = (&mut self.run, usage) {
            run.usage.add(usage);
        }
    }

    /// Presents a change of the state of the store.
    pub(super) fn on_store(&self, store: StoreNotice, out: &mut Vec<AguiEvent>) {
        self.custom("Store", json!(store), out);
    }

    fn custom(&self, name: &str, value: Value, out: &mut Vec<AguiEvent>) {
        if self.run.is_some() {
            let name = format!("windlass.{name}");
            out.push(AguiEvent::Custom { name, value });
        }
    }

    /// Presents a fact without an AG-UI event of its own as it is in the log.
    fn custom_fact(&self, fact: &RecordedFact, out: &mut Vec<AguiEvent>) {
        self.custom(fact.fact.kind(), json!(fact), out);
    }
}

/// Returns the presented sample, if it is this one.
fn current_sample(sample: &mut Option<Sample>, started: Seq) -> Option<&mut Sample> {
    sample.as_mut().filter(|sample| sample.started == started)
}

/// Returns true if this entry continues without a person.
fn continues(entry: TimelineEntry<'_>) -> bool {
    matches!(
        entry,
        TimelineEntry::Turn(TurnEntry::Opened(_) | TurnEntry::Settled(_))
            | TimelineEntry::Sample(SampleEntry::Started(_) | SampleEntry::Content { .. })
            | TimelineEntry::Compaction(CompactionEntry::Started(_))
            | TimelineEntry::Call(
                _,
                CallEntry::Proposed(..)
                    | CallEntry::Answered(_)
                    | CallEntry::Started(_)
                    | CallEntry::Resumed(_)
                    | CallEntry::Reconciling
                    | CallEntry::Observed(_)
            )
    )
}

/// Returns the name of a serialised enum value.
fn name(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the waiting input that an entry changes, if it changes one.
fn changed_input(entry: InputEntry<'_>) -> Option<InputId> {
    match entry {
        InputEntry::Edited(fact) => Some(fact.input),
        InputEntry::Moved(fact) => Some(fact.input),
        InputEntry::Withdrawn(fact) => Some(fact.input),
        InputEntry::Queued(_) | InputEntry::Accepted(_) | InputEntry::Blocked(_) => None,
    }
}
