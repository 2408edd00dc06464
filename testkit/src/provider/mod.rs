//! A provider that answers from a script, in process.

mod recorded;
mod step;
mod stream;
pub mod suite;

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{FailureKind, Prompt, PromptItem, Retry};
use windlass_ports::sync::Mutex;
use windlass_ports::{Provider, ProviderCapabilities, ProviderError, SampleRequest, SampleStream};

pub use recorded::RecordedProvider;
pub use step::{Failure, Step, call, calls, cut_after, fail, say, stall};

use crate::answer::MODEL;
use crate::ledger::Ledger;
use stream::ScriptedStream;

/// A provider that answers from a script and keeps what it was asked. Clones are the same
/// provider.
///
/// When the script has run out it fails with a typed error that is never worth a retry, and
/// keeps the miss ([`misses`](Self::misses)), so a test that asks once too often cannot pass by
/// accident.
///
/// ```
/// use serde_json::json;
/// use windlass_testkit::provider::{ScriptedProvider, call, say};
///
/// let provider = ScriptedProvider::new([
///     call("read_file", json!({ "path": "README.md" })),
///     say("It is about winches."),
/// ]);
/// assert_eq!(provider.remaining(), 2);
/// ```
#[derive(Clone)]
pub struct ScriptedProvider {
    shared: Arc<Shared>,
}

struct Shared {
    name: String,
    source: Source,
    capabilities: Mutex<ProviderCapabilities>,
    asked: Ledger<Asked>,
    misses: Ledger<String>,
}

enum Source {
    List(Mutex<VecDeque<Step>>),
    Function(Box<dyn Fn(&SampleRequest) -> Step + Send + Sync>),
}

/// A request that the provider saw.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The request.
    pub request: SampleRequest,
    /// How its answer ended, once it has.
    pub ended: Option<Ended>,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All of it was given out.
    Whole,
    /// It failed, as scripted or because the script had run out.
    Failed,
    /// The caller dropped it first.
    Dropped,
}

impl ScriptedProvider {
    /// A provider that gives these answers, one a request.
    #[must_use]
    pub fn new(script: impl IntoIterator<Item = Step>) -> Self {
        Self::over(Source::List(Mutex::new(script.into_iter().collect())))
    }

    /// A provider that finds its answer by the request: for turns that are resumed, where a
    /// request may come again.
    #[must_use]
    pub fn responding(answer: impl Fn(&SampleRequest) -> Step + Send + Sync + 'static) -> Self {
        Self::over(Source::Function(Box::new(answer)))
    }

    /// A provider that gives its N-th answer to each request whose conversation has N - 1 answers
    /// since the first input: a process that resumes the turn receives the same answer again.
    #[must_use]
    pub fn by_place(script: impl IntoIterator<Item = Step>) -> Self {
        let script: Vec<Step> = script.into_iter().collect();
        Self::responding(move |request| {
            let place = answers(&request.prompt);
            let missing = || {
                let context = format!("the script has no answer {}", place + 1);
                let failure = Failure::scripted(FailureKind::InvalidRequest, Retry::Never);
                Step::refused(Failure { context, ..failure })
            };
            script.get(place).cloned().unwrap_or_else(missing)
        })
    }

    fn over(source: Source) -> Self {
        let all = ProviderCapabilities::default();
        let all = all.with_tools().with_effort().with_temperature().with_reasoning();
        let shared = Shared {
            name: MODEL.into(),
            source,
            capabilities: Mutex::new(all),
            asked: Ledger::default(),
            misses: Ledger::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Declares these capabilities, and refuses what needs others; by default it declares all.
    #[must_use]
    pub fn with_capabilities(self, capabilities: ProviderCapabilities) -> Self {
        *self.shared.capabilities.lock() = capabilities;
        self
    }

    /// Adds an answer to the end of the script. A provider that responds by a function has no
    /// script; for it this is a miss.
    pub fn push(&self, step: Step) {
        match &self.shared.source {
            Source::List(list) => {
                list.lock().push_back(step);
            }
            Source::Function(_) => {
                let miss = "push: this provider answers by a function and has no script";
                self.shared.misses.push(miss.into());
            }
        }
    }

    /// What it was asked, in order.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked.snapshot()
    }

    /// The prompts that it saw, in order.
    #[must_use]
    pub fn prompts(&self) -> Vec<Prompt> {
        let prompt = |asked: &Asked| asked.request.prompt.clone();
        self.shared.asked.look(|all| all.iter().map(prompt).collect())
    }

    /// Requests for which there was no answer, in words. A test asserts that this is empty.
    #[must_use]
    pub fn misses(&self) -> Vec<String> {
        self.shared.misses.snapshot()
    }

    /// How many answers are left; 0 for a provider that responds by a function.
    #[must_use]
    pub fn remaining(&self) -> usize {
        match &self.shared.source {
            Source::List(list) => list.lock().len(),
            Source::Function(_) => 0,
        }
    }

    /// Waits until it has been asked `count` times.
    pub async fn wait_asked(&self, count: usize) {
        self.shared.asked.until(|all| (all.len() >= count).then_some(())).await;
    }

    /// Waits until the answer to request `index`, from 0, has ended.
    pub async fn ended(&self, index: usize) -> Ended {
        self.shared.asked.until(|all| all.get(index)?.ended).await
    }
}

impl fmt::Debug for ScriptedProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedProvider")
            .field("asked", &self.shared.asked.look(<[Asked]>::len))
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}

/// The number of answers that a conversation has.
fn answers(prompt: &Prompt) -> usize {
    let samples = prompt.items.iter().filter_map(|item| match item {
        PromptItem::Text { sample, .. }
        | PromptItem::Refusal { sample, .. }
        | PromptItem::Reasoning { sample, .. }
        | PromptItem::Call { sample, .. } => Some(*sample),
        PromptItem::User { .. }
        | PromptItem::Image { .. }
        | PromptItem::Context { .. }
        | PromptItem::Result { .. }
        | PromptItem::CallReport { .. }
        | PromptItem::ProgramReport { .. } => None,
    });
    samples.collect::<BTreeSet<_>>().len()
}

#[async_trait]
impl Provider for ScriptedProvider {
    fn name(&self) -> &str {
        &self.shared.name
    }

    fn capabilities(&self) -> ProviderCapabilities {
        *self.shared.capabilities.lock()
    }

    async fn sample(&self, request: SampleRequest) -> Result<Box<dyn SampleStream>, ProviderError> {
        self.capabilities().check(&request)?;
        let step = match &self.shared.source {
            Source::List(list) => list.lock().pop_front(),
            Source::Function(answer) => Some(answer(&request)),
        };
        let index = self.shared.asked.push(Asked { request, ended: None });
        let Some(step) = step else {
            return Err(self.shared.miss(index));
        };
        let mut ending = Ending::new(self.shared.clone(), index);
        if let Some(gate) = &step.before_head {
            gate.pass().await;
        }
        if let Some(failure) = step.refusal {
            ending.set(Ended::Failed);
            return Err(failure.into());
        }
        Ok(Box::new(ScriptedStream::new(step.beats, ending)))
    }
}

impl Shared {
    fn miss(&self, index: usize) -> ProviderError {
        self.asked.update(index, |asked| asked.ended = Some(Ended::Failed));
        let context = format!(
            "the scripted provider was asked a {}. time and its script has {index} answers: \
             add one, or find out who asks once too often",
            index + 1,
        );
        self.misses.push(context.clone());
        ProviderError::new(FailureKind::InvalidRequest, Retry::Never, context)
    }
}

/// Writes down how an answer ended; dropped before that, it was dropped.
struct Ending {
    shared: Arc<Shared>,
    index: usize,
    open: bool,
}

impl Ending {
    fn new(shared: Arc<Shared>, index: usize) -> Self {
        Self { shared, index, open: true }
    }

    fn set(&mut self, ended: Ended) {
        if std::mem::replace(&mut self.open, false) {
            self.shared.asked.update(self.index, |asked| asked.ended = Some(ended));
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.set(Ended::Dropped);
    }
}

#[cfg(test)]
mod tests;
