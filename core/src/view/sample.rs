//! View of the latest answer of a turn, with all attempts.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::call::{CallStage, CallView};
use super::entry::{CallEntry, ContentPart, SampleEntry};
use crate::fact::{ProgramRun, Retained, SampleCut, SampleStarted};
use crate::failure::SampleFailure;
use crate::id::{CallId, Seq};
use crate::item::StopReason;
use crate::program::SampleKind;
use crate::reason::Reason;
use crate::record::RecordedFact;
use crate::time::Timestamp;
use crate::usage::Usage;

/// The latest answer of a turn, with its calls.
#[derive(Debug, Clone)]
pub struct SampleView {
    /// Number of the sample in its turn, from 1; 0 before the first.
    pub number: u32,
    /// Attempts at it so far.
    pub attempts: u32,
    /// Its purpose, in program mode or after an invalid output.
    pub kind: SampleKind,
    /// Time of the first attempt.
    pub started: Timestamp,
    /// Time of its latest fact or that of a call.
    pub changed: Timestamp,
    /// Tokens of all attempts, as far as the provider reported them.
    pub usage: Option<Usage>,
    /// State of the answer.
    pub end: SampleEnd,
    /// End of its program, if one ran.
    pub program: Option<ProgramRun>,
    /// Texts and refusals of the latest attempt.
    texts: Vec<AnswerText>,
    calls: BTreeMap<CallId, CallView>,
    /// Calls that are neither observed nor superseded.
    open: BTreeSet<CallId>,
}

/// State of an answer.
#[derive(Debug, Clone)]
pub enum SampleEnd {
    /// The answer is incomplete.
    Pending,
    /// The answer is complete.
    Complete {
        /// Reason the model stopped.
        stop: StopReason,
        /// Fault that makes the answer unusable, if there is one.
        fault: Option<String>,
    },
    /// The answer was truncated.
    Cut {
        /// Failure that truncated it.
        failure: SampleFailure,
        /// Time of the next attempt, if one is due.
        retry_at: Option<Timestamp>,
    },
}

#[derive(Debug, Clone)]
struct AnswerText {
    seq: Seq,
    text: Arc<str>,
    retained: bool,
}

impl SampleView {
    /// Returns the state before the first sample.
    pub(super) fn none(at: Timestamp) -> Self {
        Self {
            number: 0,
            attempts: 0,
            kind: SampleKind::Normal,
            started: at,
            changed: at,
            usage: None,
            end: SampleEnd::Pending,
            program: None,
            texts: Vec::new(),
            calls: BTreeMap::new(),
            open: BTreeSet::new(),
        }
    }

    pub(super) fn apply(&mut self, recorded: &RecordedFact, entry: SampleEntry<'_>) {
        match entry {
            SampleEntry::Started(fact) => return self.start(recorded.ts, fact),
            SampleEntry::Content { part, .. } => match part {
                ContentPart::Text { text, .. } | ContentPart::Refusal(text) => {
                    self.add_text(recorded.seq, text.clone(), true);
                }
                ContentPart::Reasoning(_) => {}
            },
            SampleEntry::Ended(fact) => {
                self.spend(fact.usage.as_ref());
                let (stop, fault) = (fact.stop.clone(), fact.fault.clone());
                self.end = SampleEnd::Complete { stop, fault };
            }
            SampleEntry::Cut(fact) => self.cut(recorded.seq, fact),
        }
        self.changed = recorded.ts;
    }

    /// Starts the next attempt at an open answer, or another answer.
    fn start(&mut self, at: Timestamp, fact: &SampleStarted) {
        if fact.attempt > 1 && self.number > 0 && !self.is_over() {
            self.attempts = fact.attempt;
            self.texts.clear();
            self.end = SampleEnd::Pending;
            return;
        }
        let again = matches!(fact.reason, Reason::InvalidOutput { .. });
        *self = Self {
            number: fact.sample,
            attempts: fact.attempt,
            kind: if again { SampleKind::ReAsk } else { fact.kind },
            ..Self::none(at)
        };
    }

    fn cut(&mut self, seq: Seq, fact: &SampleCut) {
        self.spend(fact.usage.as_ref());
        for said in &mut self.texts {
            said.retained = fact.retains_text_at(said.seq);
        }
        let partial = Arc::from(fact.partial.as_str());
        self.add_text(seq, partial, fact.retains_text());
        for call in self.calls.values_mut() {
            if !fact.retained.includes(Seq(call.id.0)) {
                call.stage = CallStage::Superseded;
                self.open.remove(&call.id);
            }
        }
        self.end = SampleEnd::Cut {
            failure: fact.failure.clone(),
            retry_at: fact.retry_at.filter(|_| fact.retained == Retained::Nothing),
        };
    }

    pub(super) fn call(&mut self, recorded: &RecordedFact, id: CallId, entry: CallEntry<'_>) {
        match entry {
            CallEntry::Proposed(source, item) => {
                self.calls.insert(id, CallView::new(id, source, item));
                self.open.insert(id);
                self.changed = recorded.ts;
            }
            CallEntry::Observed(_) => {
                self.open.remove(&id);
                self.changed = recorded.ts;
            }
            CallEntry::Decided(_)
            | CallEntry::Asked(_)
            | CallEntry::Answered(_)
            | CallEntry::Started(_)
            | CallEntry::Suspended(_)
            | CallEntry::Resumed(_)
            | CallEntry::Reconciling => {}
        }
        if let Some(call) = self.calls.get_mut(&id) {
            call.apply(recorded.seq, entry);
        }
    }

    pub(super) fn ran(&mut self, at: Timestamp, fact: &ProgramRun) {
        self.program = Some(fact.clone());
        self.changed = at;
    }

    pub(super) fn call_mut(&mut self, id: CallId) -> Option<&mut CallView> {
        self.calls.get_mut(&id)
    }

    fn add_text(&mut self, seq: Seq, text: Arc<str>, stands: bool) {
        self.texts.push(AnswerText { seq, text, retained: stands });
    }

    fn spend(&mut self, usage: Option<&Usage>) {
        if let Some(usage) = usage {
            self.usage.get_or_insert_default().add(usage);
        }
    }

    /// Returns the calls in the order of their proposals.
    pub fn calls(&self) -> impl Iterator<Item = &CallView> {
        self.calls.values()
    }

    /// Returns the calls that are neither observed nor superseded, in order.
    pub fn open_calls(&self) -> impl Iterator<Item = &CallView> {
        self.open.iter().filter_map(|id| self.calls.get(id))
    }

    /// Returns a call of the sample.
    #[must_use]
    pub fn find(&self, id: CallId) -> Option<&CallView> {
        self.calls.get(&id)
    }

    /// Returns the text of the latest attempt so far.
    #[must_use]
    pub fn text(&self) -> String {
        self.texts.iter().map(|said| &*said.text).collect()
    }

    /// Returns the retained text to the user. If its program has [returned](Self::returned) a
    /// value, returns that value as JSON text.
    #[must_use]
    pub fn answer(&self) -> String {
        match self.returned() {
            Some(value) => String::from(value),
            None => {
                let stands = self.texts.iter().filter(|said| said.retained);
                stands.map(|said| &*said.text).collect()
            }
        }
    }

    /// Returns the value that its program returned, as JSON text.
    #[must_use]
    pub fn returned(&self) -> Option<&str> {
        let ran = self.program.as_ref()?;
        let value = ran.outcome.end.returned();
        value.map(|value| &**value).filter(|_| ran.fault.is_none())
    }

    /// Returns true if the answer and all of its calls have ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        match &self.end {
            SampleEnd::Pending => false,
            SampleEnd::Cut { retry_at, .. } => retry_at.is_none() && self.open.is_empty(),
            SampleEnd::Complete { .. } => self.open.is_empty(),
        }
    }

    /// Returns true if there are open calls and all of them wait for approval or for a client's
    /// result. A program waits while one of its calls does.
    #[must_use]
    pub fn waits_for_client(&self) -> bool {
        let waits = |call: &CallView| {
            let made = |other: &CallView| other.source.program() == Some(call.id);
            call.question().is_some() || call.is_awaiting_result() || self.open_calls().any(made)
        };
        !self.open.is_empty() && self.open_calls().all(waits)
    }
}
