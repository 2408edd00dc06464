//! The sampling effect: asks the model, streams its answer to the bus, and says each finished
//! item to the driver. One request; whether to try again is the core's decision.

use std::sync::Arc;

use windlass_core::{
    Asked, Assembled, Assembler, Caps, EffectKey, FailureKind, Input, Item, Overflow, Retry,
    SampleFailure, SampleNews, StopReason, StreamEvent,
};
use windlass_ports::{CancelSignal, Clock, Hooks, Provider, SampleRequest, Streaming};

use super::reading::{Reading, truncated};
use super::redact::{self, Redaction};
use super::spoken::Spoken;
use super::{Signals, Voice};
use crate::arguments::Checker;
use crate::bus::Bus;
use crate::shown::Speaker;
use crate::size;

/// The longest message of a failure, in bytes; the rest of it is dropped.
const MESSAGE: usize = 8 * 1_024;

/// Context of a sampling effect.
pub(crate) struct SampleEffect {
    pub(crate) key: EffectKey,
    pub(crate) request: SampleRequest,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) hooks: Arc<dyn Hooks>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) checker: Arc<Checker>,
    pub(crate) bus: Bus,
    pub(crate) caps: Caps,
    /// Extraction of programs from the answer's text, if the session has inline programs.
    pub(crate) spoken: Option<Spoken>,
}

/// An answer as far as it has come.
struct Answer {
    assembler: Assembler,
    redaction: Option<Redaction>,
    asked: Option<Box<Asked>>,
    /// Its text so far, where it is to have a shape or a program.
    text: String,
}

impl Answer {
    /// Returns true if it came to its end and calls nothing.
    fn is_whole(&self, stop: &StopReason) -> bool {
        let whole = match stop {
            StopReason::Stop | StopReason::Other(_) => true,
            StopReason::Length | StopReason::ContentFilter | StopReason::Unfinished => false,
        };
        whole && !self.assembler.calls()
    }
}

impl SampleEffect {
    /// Runs to the last word.
    pub(crate) async fn run(self, voice: Voice, signals: Signals) {
        let mut answer = Answer {
            assembler: Assembler::new(self.caps),
            redaction: self.hooks.redactor().map(Redaction::new),
            asked: None,
            text: String::new(),
        };
        let ended = tokio::select! {
            biased;
            () = signals.wind.cancelled() => Err(cancelled()),
            ended = self.stream(&mut answer, &voice, &signals.give_way) => ended,
        };
        let news = match ended {
            Ok(news) => news,
            Err(mut failure) => {
                size::cut(&mut failure.message, MESSAGE);
                vec![SampleNews::Failed {
                    failure,
                    partial: answer.assembler.partial(),
                    usage: answer.assembler.usage(),
                    asked: answer.asked.take(),
                }]
            }
        };
        voice.say(self.inputs(news), true).await;
    }

    fn inputs(&self, news: Vec<SampleNews>) -> Vec<Input> {
        let key = self.key;
        news.into_iter()
            .map(|news| Input::Sampled { key, news })
            .collect()
    }

    /// Streams the answer. What comes back are the last words: the items of the last read and the
    /// end of the answer.
    ///
    /// It gives way between two reads, as long as no call has begun: what has come by then is told.
    async fn stream(
        &self,
        answer: &mut Answer,
        voice: &Voice,
        give_way: &CancelSignal,
    ) -> Result<Vec<SampleNews>, SampleFailure> {
        let wanted = self.request.prompt.settings.redaction.as_deref();
        if let Some(why) = redact::missing(wanted, &*self.hooks) {
            let kind = FailureKind::Hook;
            return Err(SampleFailure::new(kind, Retry::Never, why));
        }
        let mut reading = tokio::select! {
            biased;
            () = give_way.cancelled() => return Err(steered()),
            reading = Reading::begin(&self.provider, self.request.clone(), &mut answer.asked) =>
                reading?,
        };
        let mut events = Vec::new();
        loop {
            let step = tokio::select! {
                biased;
                () = give_way.cancelled(), if !answer.assembler.calls() => return Err(steered()),
                step = reading.next(&mut events) => step,
            };
            let news = self.take(answer, &mut events)?;
            let news = self.with_program(answer, news).await;
            match step? {
                Streaming::End if answer.assembler.ended() => return Ok(news),
                Streaming::End => return Err(truncated()),
                Streaming::More if answer.assembler.ended() => return Ok(news),
                Streaming::More if news.is_empty() => {}
                Streaming::More => voice.say(self.inputs(news), false).await,
            }
        }
    }

    /// Assembles what one read brought: deltas go to the bus, items into the news.
    fn take(
        &self,
        answer: &mut Answer,
        events: &mut Vec<StreamEvent>,
    ) -> Result<Vec<SampleNews>, SampleFailure> {
        if let Some(redaction) = &mut answer.redaction {
            redaction.rewrite(events);
            if redaction.bytes() > self.caps.bytes {
                return Err(too_large(Overflow::Bytes(self.caps.bytes)));
            }
        }
        let mut assembled = Vec::with_capacity(events.len());
        let mut whole = Vec::new();
        for event in events.drain(..) {
            let (done, before) = (done(&event), assembled.len());
            let pushed = answer.assembler.push(event, &mut assembled);
            pushed.map_err(too_large)?;
            whole.extend(done.map(|slot| (slot, assembled.len() > before)));
        }
        let (mut news, mut deltas) = (Vec::new(), Vec::new());
        for part in assembled {
            match part {
                Assembled::Delta(delta) => deltas.push(delta),
                Assembled::Item(item) => {
                    let reads = self.checker.answer().is_some() || self.spoken.is_some();
                    if let (Item::Text { text }, true) = (&item, reads) {
                        answer.text.push_str(text);
                    }
                    news.push(SampleNews::Item(self.checked(item)));
                }
                Assembled::Ended {
                    stop,
                    usage,
                    response_id,
                } => news.push(SampleNews::Ended {
                    usage,
                    response_id,
                    asked: answer.asked.take(),
                    fault: self.fault(answer, &stop),
                    stop,
                }),
            }
        }
        let speaker = Speaker {
            session: self.request.session.clone(),
            turn: self.request.turn,
            started: self.request.started,
            ts: self.clock.now(),
        };
        self.bus.say(&speaker, deltas, &whole);
        Ok(news)
    }

    /// The last words of an answer, with the call of the program that stands in its text.
    async fn with_program(
        &self,
        answer: &mut Answer,
        mut news: Vec<SampleNews>,
    ) -> Vec<SampleNews> {
        let Some(spoken) = &self.spoken else {
            return news;
        };
        let Some(SampleNews::Ended { stop, .. }) = news.last() else {
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
        if let Some(SampleNews::Ended { fault, .. }) = &mut end {
            // It is not the last answer.
            *fault = None;
        }
        news.push(SampleNews::Item(Item::Call(Arc::new(call))));
        news.extend(end);
        news
    }

    /// Describes the fault of a possible last answer, if the turn has an output schema.
    fn fault(&self, answer: &Answer, stop: &StopReason) -> Option<String> {
        if !answer.is_whole(stop) {
            return None;
        }
        self.checker.answer()?.fault(&answer.text)
    }

    /// The item, with what is wrong with its arguments and the rules that it meets, if it is a
    /// call.
    fn checked(&self, item: Item) -> Item {
        let Item::Call(mut call) = item else {
            return item;
        };
        let fault = self.checker.fault(&call.name, &call.arguments);
        let rules = self.checker.rules(&call.name, &call.arguments);
        if fault.is_some() || !rules.is_empty() {
            let call = Arc::make_mut(&mut call);
            (call.fault, call.rules) = (fault, rules);
        }
        Item::Call(call)
    }
}

/// The part that an event says is whole.
fn done(event: &StreamEvent) -> Option<u32> {
    match event {
        StreamEvent::Done { slot, .. } => Some(*slot),
        StreamEvent::Opened { .. }
        | StreamEvent::Text { .. }
        | StreamEvent::Refusal { .. }
        | StreamEvent::Reasoning { .. }
        | StreamEvent::CallOpened { .. }
        | StreamEvent::CallArguments { .. }
        | StreamEvent::Usage(_)
        | StreamEvent::Finished { .. } => None,
    }
}

fn too_large(overflow: Overflow) -> SampleFailure {
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
