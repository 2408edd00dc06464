//! Compaction effect: plans which items leave a conversation, and sends the requests for a summary
//! that the core chooses. Without a usable summary a plain list replaces it: a compaction does not
//! fail with its model.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_core::{
    Assembler, AssemblerLimits, AssemblerOutput, CompactionResult, CompactionStarted, EffectKey,
    FailureKind, History, Input, Item, Prompt, Retry, SampleFailure, Settings, StopReason,
    SummaryAnswer, SummaryRequests, SummaryStep, plan_compaction,
};
use windlass_ports::{CancelSignal, Clock, Hooks, Provider, SampleRequest, StreamState};

use super::answer_reader::{AnswerReader, truncated};
use super::hook::REASON;
use super::redact;
use super::{EffectReporter, EffectSignals};
use crate::capacity::{self, FactCapacity};

/// Reason of a summary that was cancelled.
const STOPPED: &str = "the turn was asked to stop while the model summarized";

/// Context of a compaction effect.
pub(crate) struct CompactEffect {
    pub(crate) key: EffectKey,
    /// Range and strategy of the compaction.
    pub(crate) started: CompactionStarted,
    pub(crate) history: History,
    pub(crate) settings: Arc<Settings>,
    /// Settings of a model that has read the whole conversation, which is asked about all of it.
    pub(crate) reader: Option<Arc<Settings>>,
    /// What the summary should say most about, in the user's words.
    pub(crate) focus: Option<Arc<str>>,
    /// Most requests for the summary.
    pub(crate) attempts: u32,
    /// Request, with a conversation that the question replaces.
    pub(crate) request: SampleRequest,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) hooks: Arc<dyn Hooks>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) caps: AssemblerLimits,
    pub(crate) size: FactCapacity,
}

impl CompactEffect {
    /// Runs to the final report.
    pub(crate) async fn run(self, voice: EffectReporter, signals: EffectSignals) {
        let (key, turn) = (self.key, self.request.turn);
        let CompactionStarted { strategy, target_bytes, .. } = self.started;
        let plan = plan_compaction(&self.history, &self.settings, turn, strategy, target_bytes);
        let limits = self.request.limits.with(|it| it.attempts = self.attempts);
        let max_text = self.size.max_text();
        let mut compaction =
            match SummaryRequests::new(&plan, &self.history, turn, limits, max_text) {
                Some(requests) => {
                    let requests =
                        requests.with_reader(self.reader.as_ref()).with_focus(self.focus.clone());
                    self.summarize(requests, &signals.cancel).await
                }
                None => plan.finish(&self.history, turn, None),
            };
        if let Some(why) = &mut compaction.fallback {
            capacity::cut(why, REASON);
        }
        let inputs = vec![Input::CompactionEnded { key, compaction: Ok(compaction) }];
        voice.send(inputs, true).await;
    }

    /// Sends the requests for the summary until there is a result.
    async fn summarize(
        &self,
        mut requests: SummaryRequests,
        cancel: &CancelSignal,
    ) -> CompactionResult {
        let mut step = requests.begin();
        loop {
            let (prompt, wait_ms) = match step {
                SummaryStep::Ask { prompt, wait_ms } => (prompt, wait_ms),
                SummaryStep::Done(result) => return result,
            };
            if wait_ms > 0 {
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => {
                        step = requests.stop(STOPPED.to_owned());
                        continue;
                    }
                    () = sleep(Duration::from_millis(wait_ms)) => {}
                }
            }
            let mut assembler = Assembler::new(self.caps);
            let answer = tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    Err(SampleFailure::new(FailureKind::Cancelled, Retry::Never, STOPPED))
                }
                answer = self.ask(prompt, &mut assembler) => answer,
            };
            step = match answer {
                Ok(answer) => requests.on_answer(&answer),
                Err(failure) => {
                    requests.on_failure(&failure, assembler.usage(), self.clock.entropy())
                }
            };
        }
    }

    /// Asks the model. Its answer is not published live.
    async fn ask(
        &self,
        prompt: Prompt,
        assembler: &mut Assembler,
    ) -> Result<SummaryAnswer, SampleFailure> {
        let wanted = self.settings.redaction.as_deref();
        if let Some(why) = redact::missing(wanted, &*self.hooks) {
            return Err(SampleFailure::new(FailureKind::Hook, Retry::Never, why));
        }
        let (said, stop) = self.read(prompt, assembler).await?;
        let whole = match stop {
            Some(StopReason::Stop | StopReason::Other(_)) => true,
            Some(StopReason::Length | StopReason::ContentFilter | StopReason::Unfinished)
            | None => false,
        };
        Ok(SummaryAnswer { text: self.redacted(said), whole, usage: assembler.usage() })
    }

    /// Reads an answer to its end. Returns its text and its stop reason; `None` if the answer has
    /// more than the engine accepts.
    async fn read(
        &self,
        prompt: Prompt,
        assembler: &mut Assembler,
    ) -> Result<(String, Option<StopReason>), SampleFailure> {
        let request = SampleRequest { prompt, ..self.request.clone() };
        let mut reading = AnswerReader::begin(&self.provider, request, &mut None).await?;
        let (mut events, mut out, mut said) = (Vec::new(), Vec::new(), String::new());
        let mut ended = None;
        loop {
            let step = reading.next(&mut events).await;
            for event in events.drain(..) {
                if assembler.push(event, &mut out).is_err() {
                    said.push_str(&assembler.partial_text());
                    return Ok((said, None));
                }
            }
            for part in out.drain(..) {
                match part {
                    AssemblerOutput::Item(Item::Text { text, .. }) => said.push_str(&text),
                    AssemblerOutput::Ended { stop, .. } => ended = Some(stop),
                    AssemblerOutput::Item(
                        Item::Refusal { .. } | Item::Reasoning(_) | Item::Call(_),
                    )
                    | AssemblerOutput::Delta(_) => {}
                }
            }
            match (step?, ended.take()) {
                (StreamState::End | StreamState::More, Some(stop)) => {
                    return Ok((said, Some(stop)));
                }
                (StreamState::End, None) => return Err(truncated()),
                (StreamState::More, None) => {}
            }
        }
    }

    /// Redacts a summary like an answer, since it is shown and recorded like one.
    fn redacted(&self, said: String) -> String {
        match self.hooks.redactor() {
            Some(redactor) => redactor.redact(&said),
            None => said,
        }
    }
}
