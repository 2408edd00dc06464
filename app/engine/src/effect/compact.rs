//! Compaction effect: plans which items leave a conversation, and asks the model once for a summary
//! if one is wanted. Without a usable summary a plain list replaces it: a compaction does not fail
//! with its model.

use std::sync::Arc;

use windlass_core::{
    Assembler, AssemblerLimits, AssemblerOutput, CompactionStarted, EffectKey, History, Input,
    Item, Prompt, Settings, Usage, parse_summary, plan_compaction,
};
use windlass_ports::{Hooks, Provider, SampleRequest, StreamState};

use super::answer_reader::{AnswerReader, truncated};
use super::hook::REASON;
use super::redact;
use super::{EffectReporter, EffectSignals};
use crate::capacity::{self, FactCapacity};

/// Context of a compaction effect.
pub(crate) struct CompactEffect {
    pub(crate) key: EffectKey,
    /// Range and strategy of the compaction.
    pub(crate) started: CompactionStarted,
    pub(crate) history: History,
    pub(crate) settings: Arc<Settings>,
    /// Request, with a conversation that the question replaces.
    pub(crate) request: SampleRequest,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) hooks: Arc<dyn Hooks>,
    pub(crate) caps: AssemblerLimits,
    pub(crate) size: FactCapacity,
}

impl CompactEffect {
    /// Runs to the final report.
    pub(crate) async fn run(self, voice: EffectReporter, signals: EffectSignals) {
        let key = self.key;
        let turn = self.request.turn;
        let CompactionStarted { strategy, target_bytes, .. } = self.started;
        let sketch = plan_compaction(&self.history, &self.settings, turn, strategy, target_bytes);
        let mut usage = None;
        let (summary, fallback) = match sketch.summary_prompt.clone() {
            None => (None, None),
            Some(question) => {
                let asked = tokio::select! {
                    biased;
                    () = signals.cancel.cancelled() => Err("it was told to stop".to_owned()),
                    asked = self.summary(question, &mut usage) => asked,
                };
                match asked {
                    Ok(summary) => (Some(summary), None),
                    Err(mut why) => {
                        capacity::cut(&mut why, REASON);
                        (None, Some(why))
                    }
                }
            }
        };
        let mut compaction = sketch.finish(&self.history, turn, summary);
        compaction.usage = usage;
        compaction.fallback = fallback.or(compaction.fallback);
        let compaction = Ok(compaction);
        let inputs = vec![Input::CompactionEnded { key, compaction }];
        voice.send(inputs, true).await;
    }

    /// Asks the model once. Its answer is not published live.
    async fn summary(&self, question: Prompt, usage: &mut Option<Usage>) -> Result<String, String> {
        let wanted = self.settings.redaction.as_deref();
        if let Some(why) = redact::missing(wanted, &*self.hooks) {
            return Err(why);
        }
        let mut assembler = Assembler::new(self.caps);
        let read = self.read(question, &mut assembler).await;
        *usage = assembler.usage();
        let summary = self.redacted(parse_summary(&read?)?);
        if !self.size.fits(&[&summary]) {
            let bytes = summary.len();
            return Err(format!(
                "the summary has {bytes} bytes, which is more than the store takes"
            ));
        }
        Ok(summary)
    }

    async fn read(&self, prompt: Prompt, assembler: &mut Assembler) -> Result<String, String> {
        let request = SampleRequest { prompt, ..self.request.clone() };
        let failed = |failure: windlass_core::SampleFailure| failure.message;
        let mut reading =
            AnswerReader::begin(&self.provider, request, &mut None).await.map_err(failed)?;
        let (mut events, mut out, mut said) = (Vec::new(), Vec::new(), String::new());
        loop {
            let step = reading.next(&mut events).await.map_err(failed)?;
            for event in events.drain(..) {
                assembler.push(event, &mut out).map_err(|overflow| overflow.to_string())?;
            }
            for part in out.drain(..) {
                match part {
                    AssemblerOutput::Item(Item::Text { text }) => said.push_str(&text),
                    AssemblerOutput::Item(
                        Item::Refusal { .. } | Item::Reasoning(_) | Item::Call(_),
                    )
                    | AssemblerOutput::Delta(_)
                    | AssemblerOutput::Ended { .. } => {}
                }
            }
            match step {
                StreamState::End | StreamState::More if assembler.ended() => return Ok(said),
                StreamState::End => return Err(failed(truncated())),
                StreamState::More => {}
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
