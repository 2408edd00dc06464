//! Sample effect: asks the model, streams its answer to the bus, and reports each finished item to
//! the driver. It sends one request; the core decides about another attempt.

use std::sync::Arc;

use windlass_core::{
    Assembler, AssemblerLimits, AssemblerOutput, AssemblerOverflow, EffectKey, FailureKind, Input,
    Item, RequestRecord, Retry, SampleEvent, SampleFailure, StopReason, StreamEvent,
};
use windlass_ports::{
    CancelSignal, Clock, Hooks, Provider, SampleRequest, StreamState, arguments_sha256,
};

use super::answer_reader::{AnswerReader, truncated};
use super::inline_program::InlineProgramExtractor;
use super::redact::{self, Redaction};
use super::{EffectReporter, EffectSignals};
use crate::arguments::Checker;
use crate::bus::EventBus;
use crate::capacity;
use crate::live_state::StreamingRun;

/// Longest message of a failure, in bytes; the rest is cut.
const MESSAGE: usize = 8 * 1_024;

/// Capacity that fits the events of most reads.
const TYPICAL_EVENTS: usize = 8;

/// Longest recorded name of a model, in characters.
const MODEL_NAME: usize = 200;

/// Context of a sampling effect.
pub(crate) struct SampleEffect {
    pub(crate) key: EffectKey,
    pub(crate) request: SampleRequest,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) hooks: Arc<dyn Hooks>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) checker: Arc<Checker>,
    pub(crate) bus: EventBus,
    pub(crate) caps: AssemblerLimits,
    /// Extraction of programs from the answer's text, if the session has inline programs.
    pub(crate) inline_programs: Option<InlineProgramExtractor>,
}

/// Answer received so far.
struct StreamedAnswer {
    assembler: Assembler,
    redaction: Option<Redaction>,
    request: Option<Box<RequestRecord>>,
    /// Text so far, if the answer has an output schema or may contain a program.
    text: String,
}

impl StreamedAnswer {
    /// Returns true if the answer is complete and calls nothing.
    fn is_whole(&self, stop: &StopReason) -> bool {
        let whole = match stop {
            StopReason::Stop | StopReason::Other(_) => true,
            StopReason::Length | StopReason::ContentFilter | StopReason::Unfinished => false,
        };
        whole && !self.assembler.has_calls()
    }
}

impl SampleEffect {
    /// Runs to the final report.
    pub(crate) async fn run(self, voice: EffectReporter, signals: EffectSignals) {
        let mut answer = StreamedAnswer {
            assembler: Assembler::new(self.caps),
            redaction: self.hooks.redactor().map(Redaction::new),
            request: None,
            text: String::new(),
        };
        let ended = tokio::select! {
            biased;
            () = signals.cancel.cancelled() => Err(cancelled()),
            ended = self.stream(&mut answer, &voice, &signals.steer) => ended,
        };
        let news = match ended {
            Ok(news) => news,
            Err(mut failure) => {
                capacity::cut(&mut failure.message, MESSAGE);
                vec![SampleEvent::Failed {
                    failure,
                    partial: answer.assembler.partial_text(),
                    usage: answer.assembler.usage(),
                    asked: answer.request.take(),
                }]
            }
        };
        voice.send(self.inputs(news), true).await;
    }

    fn inputs(&self, news: Vec<SampleEvent>) -> Vec<Input> {
        let key = self.key;
        news.into_iter().map(|news| Input::SampleEvent { key, event: news }).collect()
    }

    /// Streams the answer. Returns the final report: the items of the last read and the end of the
    /// answer.
    ///
    /// It yields between two reads, as long as no call has begun. Text received by then is
    /// reported.
    async fn stream(
        &self,
        answer: &mut StreamedAnswer,
        voice: &EffectReporter,
        give_way: &CancelSignal,
    ) -> Result<Vec<SampleEvent>, SampleFailure> {
        let wanted = self.request.prompt.settings.redaction.as_deref();
        if let Some(why) = redact::missing(wanted, &*self.hooks) {
            let kind = FailureKind::Hook;
            return Err(SampleFailure::new(kind, Retry::Never, why));
        }
        let mut reading = tokio::select! {
            biased;
            () = give_way.cancelled() => return Err(steered()),
            reading = AnswerReader::begin(&self.provider, self.request.clone(), &mut answer.request) =>
                reading?,
        };
        let mut events = Vec::with_capacity(TYPICAL_EVENTS);
        loop {
            let step = tokio::select! {
                biased;
                () = give_way.cancelled(), if !answer.assembler.has_calls() => return Err(steered()),
                step = reading.next(&mut events) => step,
            };
            let news = self.assemble(answer, &mut events)?;
            let news = self.with_program(answer, news).await;
            match step? {
                StreamState::End if answer.assembler.ended() => return Ok(news),
                StreamState::End => return Err(truncated()),
                StreamState::More if answer.assembler.ended() => return Ok(news),
                StreamState::More if news.is_empty() => {}
                StreamState::More => voice.send(self.inputs(news), false).await,
            }
        }
    }

    /// Assembles the events of one read: deltas go to the bus, items into the report.
    fn assemble(
        &self,
        answer: &mut StreamedAnswer,
        events: &mut Vec<StreamEvent>,
    ) -> Result<Vec<SampleEvent>, SampleFailure> {
        if let Some(redaction) = &mut answer.redaction {
            redaction.rewrite(events);
            if redaction.bytes() > self.caps.bytes {
                return Err(too_large(AssemblerOverflow::Bytes(self.caps.bytes)));
            }
        }
        let mut assembled = Vec::with_capacity(events.len());
        let mut whole = Vec::new();
        for event in events.drain(..) {
            if let (StreamEvent::Opened { model: Some(name), .. }, Some(request)) =
                (&event, &mut answer.request)
            {
                request.report_model(name.chars().take(MODEL_NAME).collect::<String>().as_str());
            }
            let (done, before) = (done(&event), assembled.len());
            let pushed = answer.assembler.push(event, &mut assembled);
            pushed.map_err(too_large)?;
            whole.extend(done.map(|slot| (slot, assembled.len() > before)));
        }
        let (mut news, mut deltas) = (Vec::new(), Vec::new());
        for part in assembled {
            match part {
                AssemblerOutput::Delta(delta) => deltas.push(delta),
                AssemblerOutput::Item(item) => {
                    let reads = self.checker.answer().is_some() || self.inline_programs.is_some();
                    if let (Item::Text { text, .. }, true) = (&item, reads) {
                        answer.text.push_str(text);
                    }
                    news.push(SampleEvent::Item(self.checked(item)));
                }
                AssemblerOutput::Ended { stop, usage, response_id } => {
                    news.push(SampleEvent::Ended {
                        usage,
                        response_id,
                        request: answer.request.take(),
                        fault: self.fault(answer, &stop),
                        stop,
                    })
                }
            }
        }
        let speaker = StreamingRun {
            session: self.request.session.clone(),
            turn: self.request.turn,
            started: self.request.started,
            ts: self.clock.now(),
        };
        self.bus.publish_deltas(&speaker, deltas, &whole);
        Ok(news)
    }

    /// Returns the final report of an answer, with the call of the program in its text.
    async fn with_program(
        &self,
        answer: &mut StreamedAnswer,
        mut news: Vec<SampleEvent>,
    ) -> Vec<SampleEvent> {
        let Some(spoken) = &self.inline_programs else {
            return news;
        };
        let Some(SampleEvent::Ended { stop, .. }) = news.last() else {
            return news;
        };
        if !answer.is_whole(stop) {
            return news;
        }
        let text = std::mem::take(&mut answer.text);
        let Some(call) = spoken.call(text, &self.checker).await else {
            return news;
        };
        let mut end = news.pop();
        if let Some(SampleEvent::Ended { fault, .. }) = &mut end {
            // An answer with a call is not the last one.
            *fault = None;
        }
        news.push(SampleEvent::Item(Item::Call(Arc::new(call))));
        news.extend(end);
        news
    }

    /// Describes the fault of a possible last answer, if the turn has an output schema.
    fn fault(&self, answer: &StreamedAnswer, stop: &StopReason) -> Option<String> {
        if !answer.is_whole(stop) {
            return None;
        }
        self.checker.answer()?.fault(&answer.text)
    }

    /// Returns the item. A call gets the faults of its arguments and the rules that match it.
    fn checked(&self, item: Item) -> Item {
        let Item::Call(mut call) = item else {
            return item;
        };
        let fault = self.checker.fault(&call.name, &call.arguments);
        let rules = self.checker.rules(&call.name, &call.arguments);
        let sha256 = Some(arguments_sha256(&call.arguments));
        let outside = self.checker.asks_outside(&call.name, &call.arguments);
        let recorded = Arc::make_mut(&mut call);
        recorded.outside_sandbox = outside;
        (recorded.fault, recorded.sha256) = (fault, sha256);
        (recorded.rules, recorded.possible_rules) = (rules.certain, rules.possible);
        Item::Call(call)
    }
}

/// Returns the part that an event completes.
fn done(event: &StreamEvent) -> Option<u32> {
    match event {
        StreamEvent::Done { slot, .. } => Some(*slot),
        StreamEvent::Opened { .. }
        | StreamEvent::Text { .. }
        | StreamEvent::Refusal { .. }
        | StreamEvent::Reasoning { .. }
        | StreamEvent::Citation { .. }
        | StreamEvent::Search { .. }
        | StreamEvent::CallOpened { .. }
        | StreamEvent::CallArguments { .. }
        | StreamEvent::Usage(_)
        | StreamEvent::Finished { .. } => None,
    }
}

fn too_large(overflow: AssemblerOverflow) -> SampleFailure {
    let message = format!("{overflow}: raise the cap or ask for less");
    SampleFailure::new(FailureKind::TooLarge, Retry::Never, message)
}

fn cancelled() -> SampleFailure {
    let message = "the turn was asked to stop while the model answered";
    SampleFailure::new(FailureKind::Cancelled, Retry::Never, message)
}

fn steered() -> SampleFailure {
    let message = "the user spoke while the model answered";
    SampleFailure::new(FailureKind::Steered, Retry::Never, message)
}
