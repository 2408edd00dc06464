//! The projection: facts and live events in, AG-UI events out. No input, no output, no clock.
//!
//! A thread is a session, and a run is a turn. A turn that waits for nothing but persons ends its run
//! with their questions; what it does after an answer is another run.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_engine::core::{
    Because, CallEntry, CallId, CallItem, CallSource, CompactionEntry, ContentPart, Delta, Entry,
    InputEntry, InputId, Outcome, Recorded, SampleCut, SampleEntry, SampleView, Seq, SessionId,
    Stands, TurnEntry, TurnId, TurnSettled, View,
};
use windlass_engine::{Live, LiveKind};

use super::event::{Agui, Finish, Metadata, PROTOCOL, TokenUsage};
use super::question;
use super::sample::{Kind, Sample};

/// Turns that are presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    /// Each.
    Every,
    /// The one that hears this input.
    Input(InputId),
    /// This one.
    Turn(TurnId),
}

/// A session's events as AG-UI has them.
#[derive(Debug)]
pub(super) struct Projection {
    thread: SessionId,
    about: About,
    /// Facts up to here are known, and not told.
    known: Seq,
    /// The name of the next run, where a client gave one.
    named: Option<String>,
    /// The run that is told.
    run: Option<Run>,
    /// The run before, of the same turn.
    before: Option<String>,
    /// The turn that is open.
    turn: Option<TurnId>,
    /// The turn that has ended.
    settled: Option<TurnId>,
    sample: Option<Sample>,
    view: View,
    /// The messages that calls belong to.
    parents: BTreeMap<CallId, String>,
    /// Hooks that have not spoken yet do not count while the turn waits for persons.
    paused: bool,
    heard: Heard,
    /// The last fact.
    last: Seq,
}

#[derive(Debug)]
struct Run {
    id: String,
    usage: TokenUsage,
}

/// From which sample on live events are heard from their beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// From the next one on of which something comes.
    Unknown,
    /// Those after this one.
    After(Seq),
}

impl Projection {
    /// Of a session: what is told of it comes after this position.
    pub(super) fn new(thread: SessionId, about: About, known: Seq) -> Self {
        Self {
            thread,
            about,
            known,
            named: None,
            run: None,
            before: None,
            turn: None,
            settled: None,
            sample: None,
            view: View::default(),
            parents: BTreeMap::new(),
            paused: false,
            heard: Heard::After(Seq::ZERO),
            last: Seq::ZERO,
        }
    }

    /// Begins a run that the client named.
    pub(super) fn start(&mut self, run: String, out: &mut Vec<Agui>) {
        self.named = Some(run);
        self.open(out);
    }

    /// The client asked for what is not done.
    pub(super) fn ignored(&self, fields: &[&str], out: &mut Vec<Agui>) {
        if !fields.is_empty() {
            self.custom("Ignored", json!({"fields": fields}), out);
        }
    }

    /// Returns true if this is the end of a turn that left an input waiting.
    pub(super) fn waits(&self, fact: &Recorded) -> bool {
        if let (About::Input(input), Entry::Turn(TurnEntry::Settled(settled))) =
            (self.about, Entry::of(fact))
        {
            return settled.waiting.contains(&input);
        }
        false
    }

    /// Returns true if a run is presented.
    pub(super) fn runs(&self) -> bool {
        self.run.is_some()
    }

    /// Live events were missed.
    pub(super) fn missed(&mut self) {
        self.heard = Heard::Unknown;
        if let Some(sample) = &mut self.sample {
            sample.missed();
        }
    }

    /// Nothing follows, though the turn may go on.
    pub(super) fn broken(&mut self, code: &str, message: &str, out: &mut Vec<Agui>) {
        self.close(out);
        let usage = self.run.take().map(|run| run.usage.told());
        out.push(Agui::RunError {
            message: message.to_owned(),
            code: code.to_owned(),
            usage: usage.unwrap_or_default(),
        });
    }

    /// Takes a live event.
    pub(super) fn live(&mut self, live: &Live, out: &mut Vec<Agui>) {
        if self.turn != Some(live.turn) {
            return;
        }
        let told = self.last >= self.known && !self.paused;
        match &live.kind {
            LiveKind::Delta { started, delta } => self.delta(*started, delta, told, out),
            LiveKind::Progress { call, text } => {
                let open = |view: &SampleView| view.open_calls().any(|open| open.id == *call);
                if told && self.answer().is_some_and(open) {
                    let value = json!({"toolCallId": call.to_string(), "text": text});
                    self.custom("CallProgress", value, out);
                }
            }
        }
    }

    fn delta(&mut self, started: Seq, delta: &Delta, told: bool, out: &mut Vec<Agui>) {
        if self.heard == Heard::Unknown {
            self.heard = Heard::After(started);
        }
        let silent = matches!(self.heard, Heard::After(after) if started <= after);
        if self.sample.as_ref().map(|sample| sample.started) != Some(started) {
            return;
        }
        if !told {
            self.missed();
            self.heard = Heard::After(started);
            return;
        }
        self.open(out);
        let Some(sample) = &mut self.sample else {
            return;
        };
        let (slot, kind, text) = match delta {
            Delta::Text { slot, text } => (*slot, Kind::Text, text.as_str()),
            Delta::Refusal { slot, text } => (*slot, Kind::Refusal, text.as_str()),
            Delta::Reasoning { slot, text } => (*slot, Kind::Reasoning, text.as_str()),
            Delta::Call { slot, .. } => (*slot, Kind::Call, ""),
            Delta::Arguments { .. } => return,
        };
        sample.live(slot, kind, text, silent, out);
    }

    /// Takes the next fact.
    pub(super) fn take(&mut self, fact: &Recorded, out: &mut Vec<Agui>) {
        self.last = fact.seq;
        if !self.concerns(fact) {
            return;
        }
        if fact.seq > self.known {
            self.tell(fact, out);
            return;
        }
        // Whoever comes after it knows it, or does not want to.
        let (run, named) = (self.run.take(), self.named.take());
        self.tell(fact, &mut Vec::new());
        (self.run, self.named, self.before) = (run, named, None);
        if let Some(sample) = &mut self.sample {
            sample.is_step = false;
        }
    }

    /// Returns true if a fact is of a turn that is told.
    fn concerns(&mut self, fact: &Recorded) -> bool {
        let turn = fact.turn;
        if let About::Input(input) = self.about {
            let entry = Entry::of(fact);
            let hears = if let Entry::Turn(TurnEntry::Opened(opened)) = entry {
                opened.because == Because::Opened { input }
            } else {
                matches!(entry, Entry::Input(InputEntry::Accepted(accepted)) if accepted == input)
            };
            if let (true, Some(turn)) = (hears, turn) {
                self.about = About::Turn(turn);
            }
        }
        match self.about {
            About::Every => turn.is_some() && turn != self.settled,
            About::Input(_) => false,
            About::Turn(told) => turn == Some(told),
        }
    }

    fn tell(&mut self, fact: &Recorded, out: &mut Vec<Agui>) {
        self.turn = fact.turn;
        let entry = self.view.apply(fact);
        if goes_on(entry) {
            self.paused = false;
        }
        if !self.paused {
            self.open(out);
        }
        match entry {
            Entry::Sample(entry) => self.sample(fact, entry, out),
            Entry::Call(id, entry) => self.call(fact, id, entry, out),
            Entry::Turn(TurnEntry::Settled(settled)) => self.settle(settled, out),
            Entry::Compaction(entry) => {
                if let CompactionEntry::Done(compacted) = entry {
                    self.spend(compacted.usage.as_ref());
                }
                self.custom_fact(fact, out);
            }
            Entry::Hook(_)
            | Entry::Input(InputEntry::Blocked(_))
            | Entry::Program(_)
            | Entry::Turn(TurnEntry::Interrupted(_)) => self.custom_fact(fact, out),
            Entry::Session(_)
            | Entry::Input(InputEntry::Queued(_) | InputEntry::Accepted(_))
            | Entry::Turn(TurnEntry::Opened(_))
            | Entry::Context(_) => {}
        }
    }

    fn sample(&mut self, fact: &Recorded, entry: SampleEntry<'_>, out: &mut Vec<Agui>) {
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
                let Some(sample) = streams(&mut self.sample, started) else {
                    return;
                };
                match part {
                    ContentPart::Text(text) => sample.item(fact.seq, Kind::Text, text, out),
                    ContentPart::Refusal(text) => sample.item(fact.seq, Kind::Refusal, text, out),
                    ContentPart::Reasoning(item) => {
                        let text = Arc::from(item.text.as_str());
                        sample.item(fact.seq, Kind::Reasoning, &text, out);
                    }
                }
            }
            SampleEntry::Ended(ended) => {
                self.spend(ended.usage.as_ref());
                self.close(out);
                self.pause(out);
            }
            SampleEntry::Cut(cut) => self.cut(fact, cut, out),
        }
    }

    fn call(&mut self, fact: &Recorded, id: CallId, entry: CallEntry<'_>, out: &mut Vec<Agui>) {
        match entry {
            CallEntry::Proposed(source, item) => self.proposed(id, source, item, out),
            CallEntry::Asked(_) => self.pause(out),
            CallEntry::Answered(_) => self.custom_fact(fact, out),
            CallEntry::Observed(observed) => {
                self.parents.remove(&id);
                let status = json!({"status": observed.observation.status});
                out.push(Agui::ToolCallResult {
                    message_id: fact.seq.to_string(),
                    tool_call_id: id.to_string(),
                    content: observed.observation.output.clone(),
                    role: "tool",
                    metadata: Metadata::from([("windlass", status)]),
                });
                self.pause(out);
            }
            CallEntry::Decided(_) | CallEntry::Started(_) | CallEntry::Reconciling => {}
        }
    }

    /// Opens a run, and the step that goes on in it, unless they are open.
    fn open(&mut self, out: &mut Vec<Agui>) {
        if self.run.is_none() {
            let turn = self.turn.map(|turn| turn.to_string()).unwrap_or_default();
            let named = self.named.take();
            let id = named.unwrap_or_else(|| match &self.before {
                Some(_) => format!("{turn}.{}", self.last),
                None => turn,
            });
            out.push(Agui::RunStarted {
                thread_id: self.thread.to_string(),
                run_id: id.clone(),
                protocol_version: PROTOCOL,
                parent_run_id: self.before.clone(),
            });
            let usage = TokenUsage::default();
            self.run = Some(Run { id, usage });
        }
        if let Some(sample) = &mut self.sample
            && !std::mem::replace(&mut sample.is_step, true)
        {
            let step_name = sample.step.clone();
            out.push(Agui::StepStarted { step_name });
        }
    }

    /// Tells of a call; one that a program makes is told like one of the answer.
    fn proposed(&mut self, id: CallId, source: CallSource, item: &CallItem, out: &mut Vec<Agui>) {
        let parent = match source {
            CallSource::Sample(started) => streams(&mut self.sample, started).map(|sample| {
                sample.item(Seq(id.0), Kind::Call, &Arc::from(""), out);
                sample.parent()
            }),
            CallSource::Program(program) => self.parents.get(&program).cloned(),
        };
        if let Some(parent) = parent {
            question::propose(id, item, &parent, out);
            self.parents.insert(id, parent);
        }
    }

    /// The latest answer of the turn that is told.
    fn answer(&self) -> Option<&SampleView> {
        self.view.turn().map(|turn| &turn.sample)
    }

    /// Ends what is open of the sample.
    fn close(&mut self, out: &mut Vec<Agui>) {
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

    /// The answer broke off: what of it does not stand is named.
    fn cut(&mut self, fact: &Recorded, cut: &SampleCut, out: &mut Vec<Agui>) {
        self.spend(cut.usage.as_ref());
        let Some(mut sample) = self.sample.take() else {
            return;
        };
        let open = sample.close(out);
        let told = sample.told.iter();
        let fallen = told.filter(|(seq, _)| !cut.stands.includes(*seq));
        let mut fallen: Vec<_> = fallen.map(|(_, message)| message.clone()).collect();
        if cut.stands != Stands::Said {
            fallen.extend(open);
        }
        let value = json!({
            "seq": fact.seq, "failure": cut.failure, "stands": cut.stands,
            "retryAt": cut.retry_at, "messageIds": fallen,
        });
        self.custom("SampleCut", value, out);
        sample.finish(out);
        self.pause(out);
    }

    /// Ends the run where nothing goes on without a person.
    fn pause(&mut self, out: &mut Vec<Agui>) {
        let waits = self.answer().is_some_and(SampleView::waits_for_people);
        if self.sample.is_some() || self.paused || !waits {
            return;
        }
        self.paused = true;
        let Some(run) = self.run.take() else {
            return;
        };
        let open = self.answer().into_iter().flat_map(SampleView::open_calls);
        let outcome = Finish::Interrupt {
            interrupts: open.filter_map(question::interrupt).collect(),
        };
        self.before = Some(run.id.clone());
        self.finish(run, outcome, None, out);
    }

    fn finish(&self, run: Run, outcome: Finish, result: Option<Value>, out: &mut Vec<Agui>) {
        out.push(Agui::RunFinished {
            thread_id: self.thread.to_string(),
            run_id: run.id,
            result,
            outcome,
            usage: run.usage.told(),
        });
    }

    fn settle(&mut self, settled: &TurnSettled, out: &mut Vec<Agui>) {
        self.close(out);
        self.parents.clear();
        (self.settled, self.before) = (self.turn.take(), None);
        let Some(run) = self.run.take() else {
            return;
        };
        let result = json!(settled.outcome);
        let failed = match &settled.outcome {
            Outcome::Completed | Outcome::NoAnswer | Outcome::Refused => {
                return self.finish(run, Finish::Success, Some(result), out);
            }
            Outcome::Interrupted { .. } => {
                return self.finish(run, Finish::Cancelled, Some(result), out);
            }
            Outcome::Misshapen { fault } => fault.clone(),
            Outcome::Blocked { reason } => reason.clone(),
            Outcome::Exhausted { limit } => {
                format!("the turn reached its limit: {}", name(&json!(limit)))
            }
            Outcome::Failed { message, .. } => message.clone(),
        };
        let code = if let Outcome::Failed { failure, .. } = &settled.outcome {
            name(&json!(failure))
        } else {
            name(&result["outcome"])
        };
        out.push(Agui::RunError {
            message: failed,
            code,
            usage: run.usage.told(),
        });
    }

    fn spend(&mut self, usage: Option<&windlass_engine::core::Usage>) {
        if let (Some(run), Some(usage)) = (&mut self.run, usage) {
            run.usage.add(usage);
        }
    }

    fn custom(&self, name: &str, value: Value, out: &mut Vec<Agui>) {
        if self.run.is_some() {
            let name = format!("windlass.{name}");
            out.push(Agui::Custom { name, value });
        }
    }

    /// A fact that has no event is told as it stands in the log.
    fn custom_fact(&self, fact: &Recorded, out: &mut Vec<Agui>) {
        self.custom(fact.fact.kind(), json!(fact), out);
    }
}

/// The sample that is told, if it is this one.
fn streams(sample: &mut Option<Sample>, started: Seq) -> Option<&mut Sample> {
    sample.as_mut().filter(|sample| sample.started == started)
}

/// Returns true if something goes on without a person.
fn goes_on(entry: Entry<'_>) -> bool {
    matches!(
        entry,
        Entry::Turn(TurnEntry::Opened(_) | TurnEntry::Settled(_))
            | Entry::Sample(SampleEntry::Started(_) | SampleEntry::Content { .. })
            | Entry::Compaction(CompactionEntry::Started(_))
            | Entry::Call(
                _,
                CallEntry::Proposed(..)
                    | CallEntry::Answered(_)
                    | CallEntry::Started(_)
                    | CallEntry::Reconciling
                    | CallEntry::Observed(_)
            )
    )
}

/// A name that serde gives.
fn name(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
