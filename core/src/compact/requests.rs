//! Requests for a summary: which request is sent next, and when that is given up.
//!
//! The effect sends each request and reports its end here. A failed request is repeated like a
//! sample. One that the provider rejects as too large is repeated without the oldest parts. A
//! summary that is too long is requested again once, and then cut. All requests together use the
//! attempts of one sample.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use super::parse::{CUT_MARK, cut_summary, parse_summary};
use super::{CompactionPlan, question, summary};
use crate::context;
use crate::decide::draw;
use crate::failure::{FailureKind, SampleFailure};
use crate::history::History;
use crate::id::TurnId;
use crate::input::CompactionResult;
use crate::limits::Limits;
use crate::render::{Prompt, PromptItem};
use crate::settings::Settings;
use crate::usage::Usage;

/// Bytes of text of a token on average, for the limit that the model is told.
const TOKEN_BYTES: usize = 4;

/// Requests for the summary of one compaction.
#[derive(Debug, Clone)]
pub struct SummaryRequests {
    plan: CompactionPlan,
    history: History,
    turn: TurnId,
    limits: Limits,
    /// Most bytes of the summary with its frame.
    most: u64,
    prompt: Prompt,
    /// Request to the turn's own model, while another one is asked.
    own: Option<Prompt>,
    /// What the summary should say most about, in the user's words.
    focus: Option<Arc<str>>,
    attempts: u32,
    failures: u32,
    /// Shortest summary so far that is too long.
    long: Option<String>,
    usage: Option<Usage>,
    /// Answers and failures with unknown usage that may be billed.
    unmeasured: u32,
}

/// Next step of the requests for a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SummaryStep {
    /// Send this request.
    Ask {
        /// The request.
        prompt: Prompt,
        /// Time to wait before, in milliseconds.
        wait_ms: u64,
    },
    /// The compaction is complete.
    Done(CompactionResult),
}

/// Answer to a request for a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryAnswer {
    /// Text of the answer.
    pub text: String,
    /// True if the model ended it by itself.
    pub whole: bool,
    /// Usage, if the provider reported it.
    pub usage: Option<Usage>,
}

impl SummaryRequests {
    /// Creates the requests of a plan; `None` if it wants no summary. `limits` are those of the
    /// turn, with the attempts that its budget leaves. The summary has at most `max_text` bytes.
    #[must_use]
    pub fn new(
        plan: &CompactionPlan,
        history: &History,
        turn: TurnId,
        limits: Limits,
        max_text: usize,
    ) -> Option<Self> {
        let prompt = plan.summary_prompt.clone()?;
        let frame = summary::framed_bytes("");
        Some(Self {
            most: plan.summary_bytes.min(frame.saturating_add(max_text as u64)),
            plan: plan.clone(),
            history: history.clone(),
            turn,
            limits,
            prompt,
            own: None,
            focus: None,
            attempts: 0,
            failures: 0,
            long: None,
            usage: None,
            unmeasured: 0,
        })
    }

    /// Adds what the summary should say most about.
    #[must_use]
    pub fn with_focus(self, focus: Option<Arc<str>>) -> Self {
        Self { focus, ..self }
    }

    /// Asks the model of these settings first, which has read the whole conversation. If it does not
    /// answer, the turn's own model is asked.
    #[must_use]
    pub fn with_reader(mut self, reader: Option<&Arc<Settings>>) -> Self {
        if let Some(reader) = reader {
            let prompt = self.question(reader, u64::MAX);
            self.own = Some(core::mem::replace(&mut self.prompt, prompt));
        }
        self
    }

    /// Returns the first step.
    #[must_use]
    pub fn begin(&mut self) -> SummaryStep {
        self.ask(0)
    }

    /// Returns the step after an answer.
    #[must_use]
    pub fn on_answer(&mut self, answer: &SummaryAnswer) -> SummaryStep {
        self.count(answer.usage, true);
        let mut text = match parse_summary(&answer.text) {
            Ok(text) => text,
            Err(why) => return self.stop(why),
        };
        if answer.whole && summary::framed_bytes(&text) <= self.most {
            return self.done(Some(text), None);
        }
        let why = if answer.whole {
            let bytes = text.len();
            format!("the model's summary of {bytes} bytes was too long and was cut")
        } else {
            text.push('\n');
            text.push_str(CUT_MARK);
            String::from("the model's summary was cut off by the limit of its answers")
        };
        let again = self.long.is_none() && self.attempts < self.limits.attempts;
        let shorter = |long: &String| text.len() < long.len();
        if self.long.as_ref().is_none_or(shorter) {
            self.long = Some(text);
        }
        if again { self.ask(0) } else { self.stop(why) }
    }

    /// Returns the step after a failed request.
    #[must_use]
    pub fn on_failure(
        &mut self,
        failure: &SampleFailure,
        usage: Option<Usage>,
        entropy: u64,
    ) -> SummaryStep {
        self.count(usage, failure.kind.is_billed());
        if self.attempts >= self.limits.attempts {
            return self.stop(failure.message.clone());
        }
        if failure.kind == FailureKind::ContextOverflow {
            return match self.shorter_prompt().or_else(|| self.own.take()) {
                Some(prompt) => {
                    self.prompt = prompt;
                    self.ask(0)
                }
                None => self.stop(failure.message.clone()),
            };
        }
        let wait = self.limits.wait_ms(self.failures, failure.retry, |most| draw(entropy, most));
        self.failures = self.failures.saturating_add(1);
        // The last attempt belongs to the turn's own model.
        let last = self.attempts.saturating_add(1) >= self.limits.attempts;
        let own = if last || wait.is_none() { self.own.take() } else { None };
        match (own, wait) {
            (Some(own), _) => {
                self.prompt = own;
                self.ask(0)
            }
            (None, Some(wait_ms)) => self.ask(wait_ms),
            (None, None) => self.stop(failure.message.clone()),
        }
    }

    /// Ends without a further request: with the shortest summary, cut, or else with the plain list.
    #[must_use]
    pub fn stop(&mut self, why: String) -> SummaryStep {
        let cut = self.long.take().map(|long| {
            let mut most = self.most;
            loop {
                let text = cut_summary(&long, usize::try_from(most).unwrap_or(usize::MAX));
                let over = summary::framed_bytes(&text).saturating_sub(self.most);
                if over == 0 || most == 0 {
                    return text;
                }
                most = most.saturating_sub(over);
            }
        });
        self.done(cut, Some(why))
    }

    fn done(&self, summary: Option<String>, why: Option<String>) -> SummaryStep {
        let mut result = self.plan.clone().finish(&self.history, self.turn, summary);
        result.usage = self.usage;
        result.unmeasured = Some(self.unmeasured);
        result.fallback = why.or(result.fallback);
        SummaryStep::Done(result)
    }

    fn ask(&mut self, wait_ms: u64) -> SummaryStep {
        self.attempts = self.attempts.saturating_add(1);
        let mut prompt = self.prompt.clone();
        if let Some(focus) = &self.focus {
            let text = format!(
                "The user asks that the summary keep above all what concerns this, in every \
                 detail:\n{focus}"
            );
            prompt.items.push(PromptItem::User { text: text.into() });
        }
        if let Some(long) = &self.long {
            let tokens = self.max_tokens();
            let text = format!(
                "Your last summary had about {} tokens, which is too long to be used. Write it \
                 again under the same four headings, in {tokens} tokens at most.",
                long.len() / TOKEN_BYTES
            );
            prompt.items.push(PromptItem::User { text: text.into() });
        }
        SummaryStep::Ask { prompt, wait_ms }
    }

    /// Returns the most tokens of the summary, by its room and by the limit of the model's answers.
    fn max_tokens(&self) -> u64 {
        let room = self.most.saturating_sub(summary::framed_bytes(""));
        let room = room / TOKEN_BYTES as u64;
        self.prompt.settings.max_output_tokens.map_or(room, |most| most.min(room))
    }

    fn count(&mut self, usage: Option<Usage>, billed: bool) {
        match usage {
            Some(usage) => self.usage.get_or_insert_default().add(&usage),
            None => self.unmeasured = self.unmeasured.saturating_add(u32::from(billed)),
        }
    }

    fn question(&self, settings: &Arc<Settings>, bytes: u64) -> Prompt {
        let CompactionPlan { cut_point, summary_bytes, .. } = &self.plan;
        let (history, turn) = (&self.history, self.turn);
        question::summary_prompt(history, settings, turn, cut_point, bytes, *summary_bytes)
    }

    /// Returns the request with half of the text: the oldest parts are shortened, then left out.
    /// `None` if no part would be left.
    fn shorter_prompt(&self) -> Option<Prompt> {
        let bytes = prompt_bytes(&self.prompt);
        let prompt = self.question(&self.prompt.settings, bytes / 2);
        (prompt.items.len() > 1 && prompt_bytes(&prompt) < bytes).then_some(prompt)
    }
}

fn prompt_bytes(prompt: &Prompt) -> u64 {
    let items = prompt.items.iter().map(|item| context::prompt_item(item).bytes);
    items.fold(0, u64::saturating_add)
}
