//! The projection: facts and live events in, AG-UI events out. No input, no output, no clock.
//!
//! A thread is a session, and a run is a turn. A turn that waits for nothing but persons ends its run
//! with their questions; what it does after an answer is another run.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_engine::core::{
    Because, CallId, Delta, EffectStart, Fact, InputId, Item, Outcome, ProgramCalled, Recorded,
    SampleCut, Seq, SessionId, Stands, TurnId, TurnSettled,
};
use windlass_engine::{Live, LiveKind};

use super::event::{Agui, Finish, Metadata, PROTOCOL, TokenUsage};
use super::question::{self, Call, Question};
use super::sample::{Kind, Sample};

/// Which turns are told.
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
    /// Calls that have no observation.
    calls: BTreeMap<CallId, Call>,
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
            calls: BTreeMap::new(),
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

    /// Whether an input is still to be heard, and this is the end of a turn that left it waiting.
    pub(super) fn waits(&self, fact: &Recorded) -> bool {
        match (self.about, &fact.fact) {
            (About::Input(input), Fact::TurnSettled(settled)) => settled.waiting.contains(&input),
            _ => false,
        }
    }

    /// Whether a run is told.
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
                if told && self.calls.contains_key(call) {
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

    /// Whether a fact is of a turn that is told.
    fn concerns(&mut self, fact: &Recorded) -> bool {
        let turn = turn(fact);
        if let About::Input(input) = self.about {
            let hears = if let Fact::TurnOpened(opened) = &fact.fact {
                opened.because == Because::Opened { input }
            } else if let Fact::InputAccepted(accepted) = &fact.fact {
                accepted.input == input
            } else {
                false
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

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a new fact is told to front ends only on purpose"
    )]
    fn tell(&mut self, fact: &Recorded, out: &mut Vec<Agui>) {
        self.turn = turn(fact);
        let goes_on = matches!(
            &fact.fact,
            Fact::TurnOpened(_)
                | Fact::SampleStarted(_)
                | Fact::ItemAdded(_)
                | Fact::ApprovalAnswered(_)
                | Fact::CallStarted(_)
                | Fact::ProgramCalled(_)
                | Fact::CallObserved(_)
                | Fact::CompactionStarted(_)
                | Fact::TurnSettled(_)
        ) || matches!(fact.fact.start(), Some(EffectStart::Reconcile(_)));
        if goes_on {
            self.paused = false;
        }
        if !self.paused {
            self.open(out);
        }
        match &fact.fact {
            Fact::SampleStarted(started) => {
                self.close(out);
                let step_name = match started.attempt {
                    0 | 1 => format!("sample {}", started.sample),
                    again => format!("sample {}, attempt {again}", started.sample),
                };
                self.sample = Some(Sample::new(fact.seq, step_name));
                self.open(out);
            }
            Fact::ItemAdded(added) => self.item(fact.seq, added.started, &added.item, out),
            Fact::SampleEnded(ended) => {
                self.spend(ended.usage.as_ref());
                self.close(out);
                self.pause(out);
            }
            Fact::SampleCut(cut) => self.cut(fact, cut, out),
            Fact::ApprovalAsked(asked) => {
                if let Some(call) = self.calls.get_mut(&asked.call) {
                    call.asked = Some(Question {
                        digest: asked.arguments,
                        deadline: asked.deadline,
                    });
                }
                self.pause(out);
            }
            Fact::ApprovalAnswered(answered) => {
                if let Some(call) = self.calls.get_mut(&answered.call) {
                    call.asked = None;
                }
                self.custom_fact(fact, out);
            }
            Fact::ProgramCalled(called) => self.called(fact.seq, called, out),
            Fact::CallObserved(observed) => {
                self.calls.remove(&observed.call);
                let status = json!({"status": observed.observation.status});
                out.push(Agui::ToolCallResult {
                    message_id: fact.seq.to_string(),
                    tool_call_id: observed.call.to_string(),
                    content: observed.observation.output.clone(),
                    role: "tool",
                    metadata: Metadata::from([("windlass", status)]),
                });
                self.pause(out);
            }
            Fact::Compacted(compacted) => {
                self.spend(compacted.usage.as_ref());
                self.custom_fact(fact, out);
            }
            Fact::HooksAsked(_)
            | Fact::HookDecided(_)
            | Fact::CompactionStarted(_)
            | Fact::CompactionFailed(_)
            | Fact::InputBlocked(_)
            | Fact::ProgramRun(_)
            | Fact::InterruptRequested(_) => self.custom_fact(fact, out),
            Fact::TurnSettled(settled) => self.settle(settled, out),
            _ => {}
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

    fn item(&mut self, seq: Seq, started: Seq, item: &Item, out: &mut Vec<Agui>) {
        let Some(sample) = self
            .sample
            .as_mut()
            .filter(|sample| sample.started == started)
        else {
            return;
        };
        match item {
            Item::Text { text } => sample.item(seq, Kind::Text, text, out),
            Item::Refusal { text } => sample.item(seq, Kind::Refusal, text, out),
            Item::Reasoning(reasoning) => {
                let text = Arc::from(reasoning.text.as_str());
                sample.item(seq, Kind::Reasoning, &text, out);
            }
            Item::Call(call) => {
                sample.item(seq, Kind::Call, &Arc::from(""), out);
                let call = Call::told(seq, call, sample.parent(), None, out);
                self.calls.insert(CallId(seq.0), call);
            }
        }
    }

    /// A program calls a tool: that is told like a call of the answer.
    fn called(&mut self, seq: Seq, called: &ProgramCalled, out: &mut Vec<Agui>) {
        if let Some(parent) = self.calls.get(&called.program).map(|call| &call.parent) {
            let (program, parent) = (Some(called.program), parent.clone());
            let call = Call::told(seq, &called.item, parent, program, out);
            self.calls.insert(CallId(seq.0), call);
        }
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
        let stands = |seq: Seq| match cut.stands {
            Stands::Nothing => false,
            Stands::Through { item } => seq <= item,
            Stands::Said => true,
        };
        self.calls
            .retain(|call, _| call.0 < cut.started.0 || stands(Seq(call.0)));
        let fallen = sample.told.iter().filter(|(seq, _)| !stands(*seq));
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
        if self.sample.is_some() || self.paused || !question::wait(&self.calls) {
            return;
        }
        self.paused = true;
        let Some(run) = self.run.take() else {
            return;
        };
        let open = self.calls.iter();
        let interrupts = open.filter_map(|(id, call)| call.interrupt(*id));
        let outcome = Finish::Interrupt {
            interrupts: interrupts.collect(),
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
        self.calls.clear();
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

/// The turn of a fact.
fn turn(fact: &Recorded) -> Option<TurnId> {
    if let Fact::TurnOpened(_) = &fact.fact {
        return Some(TurnId(fact.seq.0));
    }
    fact.turn
}

/// A name that serde gives.
fn name(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
