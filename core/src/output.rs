//! Outputs: the tool by which a model reads an output that was shortened or cleared, and the
//! location of outputs in the log. Absent on purpose: the reading itself, which needs the stores.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::budget;
use crate::call::Observation;
use crate::fact::{FactGroup, InputFact, ProgramFact, RunFact, SampleFact, TurnFact};
use crate::history::History;
use crate::id::{CallId, Seq};
use crate::item::Item;
use crate::record::RecordedFact;
use crate::render::PromptItem;
use crate::settings::{Concurrency, EffectClass, Settings, ToolSpec};

/// Name of the tool that reads outputs of earlier calls. If the settings offer it and no executor
/// has a tool of that name, the engine itself runs it.
pub const READ_OUTPUT_TOOL: &str = "read_output";

/// Most bytes of one page, whatever the window is.
const MAX_PAGE_BYTES: u64 = 256 * 1024;
/// Most bytes of one page if the window is unknown.
const UNKNOWN_PAGE_BYTES: u64 = 32 * 1024;
/// Fewest bytes of a page in a small window.
const MIN_PAGE_BYTES: u64 = 256;
/// Bytes reserved for the remark at the end of a page.
const REMARK_BYTES: u64 = 256;
/// Most calls that [`History::readable_outputs`] names.
const MAX_NAMED: usize = 8;

/// Returns the tool that reads outputs of earlier calls, as the model sees it.
#[must_use]
pub fn read_output_tool() -> ToolSpec {
    ToolSpec {
        name: String::from(READ_OUTPUT_TOOL),
        description: String::from(
            "Reads the output of an earlier call again, whole or in part, where it was shortened \
             or cleared from the conversation. Give a pattern to see only the lines that match, or \
             an offset to read on from there. It runs nothing again. The last line in brackets \
             says how long the output is and how to go on.",
        ),
        parameters: String::from(
            r#"{"type":"object","properties":{"call":{"type":"string","minLength":1,"description":"The call, as the shortened output names it, or the id of a call in this conversation."},"offset":{"type":"integer","minimum":0,"description":"First byte to read. Default 0."},"pattern":{"type":"string","minLength":1,"description":"Regular expression (no look-around, no back-references). Only matching lines are shown, each with its offset."},"limit":{"type":"integer","minimum":1,"description":"Most bytes to show. Default and most: what fits into the conversation."}},"required":["call"],"additionalProperties":false}"#,
        ),
        effect: EffectClass::ReadOnly,
        concurrency: Concurrency::Parallel,
        timeout_ms: None,
        reconciles: false,
        client: false,
        deferred: false,
        agent: None,
        grammar: None,
    }
}

/// Returns a call of the tool for a text that the model reads, for example
/// `read_output {"call":"@17"}`.
#[must_use]
pub fn read_output_call(call: &str) -> String {
    let mut quoted = String::with_capacity(call.len());
    for c in call.chars().filter(|c| !c.is_control()) {
        if matches!(c, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    format!("{READ_OUTPUT_TOOL} {{\"call\":\"{quoted}\"}}")
}

impl CallId {
    /// Returns the name of the call in texts for the model, for example `@17`. Unlike a provider's
    /// id it names one call of the session for ever, also in a fork.
    #[must_use]
    pub fn reference(self) -> String {
        format!("@{self}")
    }
}

impl Settings {
    /// Returns true if texts may point the model to [`READ_OUTPUT_TOOL`]: it is offered, and is not
    /// a function of programs.
    #[must_use]
    pub fn offers_read_output(&self) -> bool {
        self.options.program.is_none() && self.tool(READ_OUTPUT_TOOL).is_some()
    }

    /// Returns the most bytes of an output that one call of [`READ_OUTPUT_TOOL`] shows: what the
    /// window leaves for one result, so that a page is never cut again.
    #[must_use]
    pub fn output_page_bytes(&self) -> u64 {
        let most = budget::result_form(self).map_or(UNKNOWN_PAGE_BYTES, |form| form.max_bytes);
        most.saturating_sub(REMARK_BYTES).clamp(MIN_PAGE_BYTES, MAX_PAGE_BYTES)
    }
}

/// Location of a call's output in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputLocation {
    /// Output of a call in the conversation.
    Sample {
        /// Sample that made the call.
        sample: Seq,
        /// Index of the call among the calls of its sample.
        index: usize,
    },
    /// Output of a call by its position.
    Call(CallId),
}

/// An output of the conversation, for a model that named none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadableOutput {
    /// Id of the call in the conversation.
    pub id: Arc<str>,
    /// Name of the tool.
    pub tool: String,
    /// True size of the output in bytes.
    pub bytes: u64,
}

impl History {
    /// Returns the location of the output that a model names: by the id of a call in the
    /// conversation, or else by its [`CallId::reference`], with or without the sign.
    #[must_use]
    pub fn output_location(&self, name: &str) -> Option<OutputLocation> {
        let mut at: Option<(Seq, usize)> = None;
        for item in self.items().iter() {
            let PromptItem::Call { sample, id, .. } = item else {
                continue;
            };
            let index = match at {
                Some((of, index)) if of == *sample => index.saturating_add(1),
                Some(_) | None => 0,
            };
            at = Some((*sample, index));
            if **id == *name {
                return Some(OutputLocation::Sample { sample: *sample, index });
            }
        }
        let position = name.strip_prefix('@').unwrap_or(name).parse();
        position.ok().map(|position| OutputLocation::Call(CallId(position)))
    }

    /// Returns the latest calls of the conversation with an output, oldest first.
    #[must_use]
    pub fn readable_outputs(&self) -> Vec<ReadableOutput> {
        let (mut tools, mut found) = (Vec::new(), Vec::new());
        for item in self.items().iter() {
            match item {
                PromptItem::Call { id, call, .. } => tools.push((id, &call.name)),
                PromptItem::Result { id, observation, .. } if observation.output_bytes > 0 => {
                    let tool = tools.iter().rfind(|(of, _)| *of == id);
                    found.push(ReadableOutput {
                        id: id.clone(),
                        tool: tool.map_or_else(String::new, |(_, tool)| String::from(*tool)),
                        bytes: observation.output_bytes,
                    });
                }
                PromptItem::User { .. }
                | PromptItem::Image { .. }
                | PromptItem::Context { .. }
                | PromptItem::Text { .. }
                | PromptItem::Refusal { .. }
                | PromptItem::Reasoning { .. }
                | PromptItem::Result { .. }
                | PromptItem::CallReport { .. }
                | PromptItem::ProgramReport { .. } => {}
            }
        }
        found.split_off(found.len().saturating_sub(MAX_NAMED))
    }
}

/// Finds an output in the facts of a log.
#[derive(Debug, Clone)]
pub struct OutputFinder {
    location: OutputLocation,
    /// Calls of the sample so far.
    calls: usize,
    call: Option<CallId>,
}

/// Result of a fact for an [`OutputFinder`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputSearch {
    /// The output may follow.
    Continue,
    /// The recorded result of the call.
    Found(Arc<Observation>),
    /// There is no such output.
    Missing,
}

impl OutputFinder {
    /// Creates a finder.
    #[must_use]
    pub fn new(location: OutputLocation) -> Self {
        Self { location, calls: 0, call: None }
    }

    /// Returns the position after which to read the log.
    #[must_use]
    pub fn after(&self) -> Seq {
        match self.location {
            OutputLocation::Sample { sample, .. } => sample,
            OutputLocation::Call(call) => Seq(call.0.saturating_sub(1)),
        }
    }

    /// Returns the call, once it is found.
    #[must_use]
    pub fn call(&self) -> Option<CallId> {
        self.call
    }

    /// Applies the next fact.
    pub fn apply(&mut self, recorded: &RecordedFact) -> OutputSearch {
        let here = CallId(recorded.seq.0);
        match recorded.fact.group() {
            FactGroup::Sample(SampleFact::ItemAdded(fact)) => {
                if let Item::Call(call) = &fact.item {
                    self.add(here, call.inline);
                }
            }
            FactGroup::Input(InputFact::InputAccepted(fact)) => {
                if fact.call.is_some() {
                    self.add(here, true);
                }
            }
            FactGroup::Program(ProgramFact::ProgramCalled(_)) => self.add(here, true),
            FactGroup::Run(RunFact::CallObserved(fact)) if Some(fact.call) == self.call => {
                return OutputSearch::Found(fact.observation.clone());
            }
            // A call is observed in its turn.
            FactGroup::Turn(TurnFact::TurnSettled(_)) => return OutputSearch::Missing,
            FactGroup::Turn(TurnFact::TurnOpened(_) | TurnFact::InterruptRequested(_))
            | FactGroup::Run(_)
            | FactGroup::Sample(
                SampleFact::SampleStarted(_)
                | SampleFact::SampleEnded(_)
                | SampleFact::SampleCut(_),
            )
            | FactGroup::Program(ProgramFact::ProgramRun(_))
            | FactGroup::Session(_)
            | FactGroup::Recovery(_)
            | FactGroup::Goal(_)
            | FactGroup::Input(
                InputFact::InputQueued(_)
                | InputFact::InputBlocked(_)
                | InputFact::InputEdited(_)
                | InputFact::InputMoved(_)
                | InputFact::InputWithdrawn(_),
            )
            | FactGroup::Hook(_)
            | FactGroup::Context(_)
            | FactGroup::Compaction(_)
            | FactGroup::Permission(_) => {}
        }
        match (self.location, self.call) {
            // The position is that of another fact.
            (OutputLocation::Call(_), None) => OutputSearch::Missing,
            (OutputLocation::Call(_), Some(_)) | (OutputLocation::Sample { .. }, _) => {
                OutputSearch::Continue
            }
        }
    }

    /// Adds a call. `hidden` calls are no calls of the conversation.
    fn add(&mut self, here: CallId, hidden: bool) {
        match self.location {
            OutputLocation::Call(call) if call == here => self.call = Some(here),
            OutputLocation::Sample { index, .. } if !hidden => {
                if self.call.is_none() && self.calls == index {
                    self.call = Some(here);
                }
                self.calls = self.calls.saturating_add(1);
            }
            OutputLocation::Call(_) | OutputLocation::Sample { .. } => {}
        }
    }
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
