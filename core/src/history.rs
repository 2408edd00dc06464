//! History: the payload of a session, folded into the model's view.
//!
//! A sample enters it as a whole: its items, then the observations of its calls in call order, once
//! the last of these exists. So each prefix of a log renders to a conversation in which every call
//! has its result. The order in which tools finish is not visible (laws 10 and 11).

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::append_list::AppendList;
use crate::call::Observation;
use crate::compact;
use crate::context;
use crate::error::InvalidFact;
use crate::fact::{
    CallObserved, CallStarted, CompactionFact, ContextFact, ContextInjected, ContextLifetime,
    ContextPart, ContextSource, FactGroup, HookDecided, HookFact, InputFact, PermissionFact,
    ProgramFact, RunFact, SampleFact, TurnFact,
};
use crate::hook::{Edit, Editable, HookOccurrence};
use crate::id::{CallId, InputId, Seq, TurnId};
use crate::image::Image;
use crate::item::{CallItem, Item};
use crate::program::CallReport;
use crate::record::RecordedFact;
use crate::render::PromptItem;
use crate::request_record::FailedAttempt;

mod commit;
mod programs;
mod size;
mod validate;

pub use programs::ProgramCallState;

pub(crate) use crate::context::{
    GOAL, INVALID_OUTPUT, LAST_SAMPLE, PERMISSIONS, WORKSPACE, hook_name, presenter_name,
};

/// Marker after text that was truncated by a steering input.
pub(crate) const CUT_OFF: &str = " [cut off here: the user spoke]";

/// Most pending contexts of hooks that outlive a turn.
const MAX_PENDING_CONTEXTS: usize = 256;

/// The payload of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    items: AppendList<PromptItem>,
    /// Starts of the indivisible parts, in order.
    units: Vec<ConversationUnit>,
    waiting: BTreeMap<InputId, WaitingInput>,
    /// Occurrences at which the hooks of the open turn were asked.
    asked: BTreeMap<Seq, HookOccurrence>,
    /// Contexts of hooks that await injection.
    pending_contexts: BTreeMap<Seq, PendingHookContext>,
    /// Items of the sample that has not entered yet, with their positions.
    open_items: Vec<(Seq, Item)>,
    /// Calls of that sample, in order.
    calls: Vec<OutstandingCall>,
    /// End of that sample, once its answer is complete.
    ended: Option<Seq>,
    /// Call ids that the conversation uses.
    ids: BTreeSet<Arc<str>>,
    /// Failed attempts at the current or next sample.
    failed: Vec<FailedAttempt>,
    /// Memory that programs left for later ones, in their runtime's format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory: Option<Arc<str>>,
    /// Value that the latest answer's program returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    returned: Option<Arc<str>>,
    /// Inline program of the latest answer, once the answer has entered the conversation. There it
    /// is no call, but its hooks may still be pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inline_program: Option<OutstandingCall>,
}

/// Indivisible part of the conversation: a compaction cuts between parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConversationUnit {
    /// Index of its first item.
    pub(crate) first: usize,
    /// Turn that it belongs to.
    pub(crate) turn: Option<TurnId>,
    /// Kind of the part.
    pub(crate) kind: ConversationUnitKind,
}

/// Kind of a conversation's part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ConversationUnitKind {
    /// Subject of a turn: an input, or the goal.
    Request,
    /// Context from another source.
    Context {
        /// Name under which a later part replaces it.
        name: Option<String>,
        /// Lifetime of the context.
        lifetime: ContextLifetime,
    },
    /// An answer with the results of its calls.
    Sample,
    /// Text that a compaction put in place of dropped parts.
    Summary,
}

/// An input that no turn has accepted yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WaitingInput {
    text: Arc<str>,
    context: Vec<ContextPart>,
    images: Vec<Image>,
}

/// Context from a hook that awaits injection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PendingHookContext {
    /// Name of the hook.
    name: String,
    text: Arc<str>,
    /// True if it outlives its turn.
    outlives_turn: bool,
}

/// A call whose sample has not entered the conversation yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OutstandingCall {
    id: CallId,
    call: Arc<CallItem>,
    /// Edited arguments, if they replaced the model's.
    edited: Option<Arc<str>>,
    observation: Option<Arc<Observation>>,
    /// True if a run of it started that does more than describe its effect.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    started: bool,
    /// Report on a program's calls, shown to the model with the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    report: Option<CallReport>,
    /// Program that made the call, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    program: Option<CallId>,
}

impl History {
    /// Returns the committed conversation.
    #[must_use]
    pub fn items(&self) -> &AppendList<PromptItem> {
        &self.items
    }

    /// Returns the starts of the indivisible parts.
    pub(crate) fn units(&self) -> &[ConversationUnit] {
        &self.units
    }

    /// Returns the text of an input that no turn has accepted yet, with the edits of hooks.
    #[must_use]
    pub fn waiting(&self, input: InputId) -> Option<&Arc<str>> {
        Some(&self.waiting.get(&input)?.text)
    }

    /// Returns a call whose sample has not entered the conversation yet, as the model wrote it.
    #[must_use]
    pub fn call(&self, id: CallId) -> Option<&Arc<CallItem>> {
        let call = self.calls.iter().rfind(|call| call.id == id)?;
        Some(&call.call)
    }

    /// Returns the arguments that such a call runs with: the model's or the edited ones.
    #[must_use]
    pub fn arguments(&self, id: CallId) -> Option<Arc<str>> {
        let call = self.calls.iter().rfind(|call| call.id == id)?;
        let edited = call.edited.clone();
        Some(edited.unwrap_or_else(|| Arc::from(call.call.arguments.as_str())))
    }

    /// Returns the result of such a call, once it is known.
    #[must_use]
    pub fn observation(&self, id: CallId) -> Option<&Arc<Observation>> {
        let call = self.calls.iter().rfind(|call| call.id == id)?;
        call.observation.as_ref()
    }

    /// Returns the latest answer: its text to the user, and the tools that it calls. If its program
    /// returned a value, the text is that value as JSON.
    #[must_use]
    pub fn latest_answer(&self) -> (String, Vec<String>) {
        if let Some(returned) = &self.returned {
            return (String::from(&**returned), Vec::new());
        }
        let (mut said, mut calls) = (String::new(), Vec::new());
        let mut take = |text: Option<&str>, call: Option<&str>| {
            said.push_str(text.unwrap_or_default());
            calls.extend(call.map(String::from));
        };
        if self.open_items.is_empty() {
            let last = self
                .units
                .iter()
                .rfind(|unit| unit.kind == ConversationUnitKind::Sample);
            let first = last.map_or(self.items.len(), |unit| unit.first);
            for item in self.items.iter_from(first) {
                match item {
                    PromptItem::Text { text, .. } | PromptItem::Refusal { text, .. } => {
                        take(Some(text), None);
                    }
                    PromptItem::Call { call, .. } => take(None, Some(&call.name)),
                    PromptItem::User { .. }
                    | PromptItem::Image { .. }
                    | PromptItem::Context { .. }
                    | PromptItem::Reasoning { .. }
                    | PromptItem::Result { .. }
                    | PromptItem::CallReport { .. } => {}
                }
            }
        }
        for (_, item) in &self.open_items {
            match item {
                Item::Text { text } | Item::Refusal { text } => take(Some(text), None),
                Item::Call(call) => take(None, Some(&call.name)),
                Item::Reasoning(_) => {}
            }
        }
        (said, calls)
    }

    /// Returns the failed attempts at the current sample, oldest first: at most as many as the
    /// limits allow.
    #[must_use]
    pub fn failed(&self) -> &[FailedAttempt] {
        &self.failed
    }

    /// Applies a fact.
    ///
    /// # Errors
    /// [`InvalidFact`] when the fact names a missing input, call or text, or when a compaction's
    /// result differs from the fact.
    pub fn apply(&mut self, recorded: &RecordedFact) -> Result<(), InvalidFact> {
        match recorded.fact.group() {
            FactGroup::Input(fact) => self.input(recorded, fact)?,
            FactGroup::Hook(HookFact::HooksAsked(fact)) => {
                self.asked.insert(recorded.seq, fact.at);
            }
            FactGroup::Hook(HookFact::HookDecided(fact)) => self.on_hook_decided(recorded, fact)?,
            FactGroup::Context(ContextFact::ContextInjected(fact)) => {
                self.inject(recorded, fact)?;
            }
            FactGroup::Compaction(CompactionFact::Compacted(fact)) => {
                let (items, units) =
                    compact::apply(&self.items, &self.units, recorded.turn, &fact.cut);
                if context::visible_part(items.iter()) != fact.visible {
                    let why = "the compaction does not come out as it says";
                    return Err(invalid_fact(recorded, why));
                }
                (self.items, self.units) = (items, units);
                self.prune_ids();
            }
            FactGroup::Sample(fact) => self.sample(recorded, fact),
            FactGroup::Permission(PermissionFact::ApprovalAnswered(fact)) => {
                if let Some(edit) = &fact.edit {
                    self.edit(recorded, fact.call, edit)?;
                }
            }
            FactGroup::Program(ProgramFact::ProgramCalled(fact)) => {
                self.on_program_called(recorded.seq, fact.program, &fact.item);
            }
            FactGroup::Program(ProgramFact::ProgramRun(fact)) => {
                self.on_program_run(recorded, fact)?
            }
            FactGroup::Run(RunFact::CallStarted(fact)) => self.started(recorded, fact)?,
            FactGroup::Run(RunFact::CallObserved(fact)) => self.observe(recorded, fact)?,
            FactGroup::Turn(TurnFact::TurnSettled(_)) => {
                self.discard_sample();
                // Lasting context may still be injected in a later turn.
                self.pending_contexts.retain(|_, given| given.outlives_turn);
                while self.pending_contexts.len() > MAX_PENDING_CONTEXTS {
                    self.pending_contexts.pop_first();
                }
                self.asked.clear();
            }
            FactGroup::Turn(TurnFact::TurnOpened(_) | TurnFact::InterruptRequested(_))
            | FactGroup::Compaction(
                CompactionFact::CompactionStarted(_) | CompactionFact::CompactionFailed(_),
            )
            | FactGroup::Permission(
                PermissionFact::CallDecided(_) | PermissionFact::ApprovalAsked(_),
            )
            | FactGroup::Session(_)
            | FactGroup::Recovery(_)
            | FactGroup::Goal(_) => {}
        }
        Ok(())
    }

    fn input(&mut self, recorded: &RecordedFact, fact: InputFact<'_>) -> Result<(), InvalidFact> {
        match fact {
            InputFact::InputQueued(fact) => {
                let waiting = WaitingInput {
                    text: fact.text.clone(),
                    context: fact.context.clone(),
                    images: fact.images.clone(),
                };
                self.waiting.insert(InputId(recorded.seq.0), waiting);
            }
            InputFact::InputAccepted(fact) => {
                let waiting = self.waiting.remove(&fact.input);
                let waiting =
                    waiting.ok_or_else(|| invalid_fact(recorded, "no such input waits"))?;
                self.begin(recorded, ConversationUnitKind::Request);
                self.items.push(PromptItem::User { text: waiting.text });
                for image in waiting.images {
                    self.items.push(PromptItem::Image {
                        image: Arc::new(image),
                    });
                }
            }
            InputFact::InputBlocked(fact) => {
                self.waiting.remove(&fact.input);
            }
        }
        Ok(())
    }

    fn sample(&mut self, recorded: &RecordedFact, fact: SampleFact<'_>) {
        match fact {
            SampleFact::SampleStarted(fact) => {
                self.returned = None;
                if fact.attempt == 1 {
                    self.failed.clear();
                }
                self.discard_sample();
            }
            SampleFact::ItemAdded(fact) => self.add(recorded.seq, &fact.item),
            SampleFact::SampleEnded(fact) => {
                self.ended = Some(fact.started);
                self.commit_if_complete(recorded);
            }
            SampleFact::SampleCut(fact) => {
                self.failed.push(FailedAttempt {
                    kind: fact.failure.kind,
                    provider: fact.request.as_ref().map(|asked| asked.provider.clone()),
                    model: fact.request.as_ref().map(|asked| asked.model.clone()),
                });
                self.commit_retained(recorded, fact);
            }
        }
    }

    /// Begins a part of the conversation.
    fn begin(&mut self, recorded: &RecordedFact, kind: ConversationUnitKind) {
        self.units.push(ConversationUnit {
            first: self.items.len(),
            turn: recorded.turn,
            kind,
        });
    }

    fn on_hook_decided(
        &mut self,
        recorded: &RecordedFact,
        fact: &HookDecided,
    ) -> Result<(), InvalidFact> {
        if let Some(context) = &fact.context {
            let at = self.asked.get(&fact.asked);
            let given = PendingHookContext {
                name: fact.name.clone(),
                text: context.clone(),
                outlives_turn: at
                    .is_some_and(|at| at.point().properties().lifetime == ContextLifetime::Session),
            };
            self.pending_contexts.insert(recorded.seq, given);
        }
        let Some(edit) = &fact.edit else {
            return Ok(());
        };
        let at = self.asked.get(&fact.asked).copied();
        let at = at.ok_or_else(|| invalid_fact(recorded, "no such hook was asked"))?;
        let nothing = || invalid_fact(recorded, "there is nothing to change here");
        match at.point().properties().edits {
            Editable::Nothing => Err(nothing()),
            Editable::Prompt => {
                let waiting = at.input().and_then(|input| self.waiting.get_mut(&input));
                let waiting =
                    waiting.ok_or_else(|| invalid_fact(recorded, "no such input waits"))?;
                waiting.text = edit.text.clone();
                Ok(())
            }
            Editable::Arguments => {
                let call = at.call().ok_or_else(nothing)?;
                self.edit(recorded, call, edit)
            }
        }
    }

    fn edit(
        &mut self,
        recorded: &RecordedFact,
        id: CallId,
        edit: &Edit,
    ) -> Result<(), InvalidFact> {
        let call = self.calls.iter_mut().rfind(|call| call.id == id);
        let call = call.ok_or_else(|| invalid_fact(recorded, "no such call is out"))?;
        call.edited = Some(edit.text.clone());
        Ok(())
    }

    fn inject(
        &mut self,
        recorded: &RecordedFact,
        fact: &ContextInjected,
    ) -> Result<(), InvalidFact> {
        let lasting = fact.lifetime;
        let named = |name: &str| ConversationUnitKind::Context {
            name: Some(String::from(name)),
            lifetime: lasting,
        };
        let (kind, from, text) = match &fact.from {
            ContextSource::Workspace { text } => (named(WORKSPACE), WORKSPACE, text.clone()),
            ContextSource::Permissions { text } => (named(PERMISSIONS), PERMISSIONS, text.clone()),
            ContextSource::Goal { text } => (ConversationUnitKind::Request, GOAL, text.clone()),
            ContextSource::LastSample { text } => {
                let name = None;
                (
                    ConversationUnitKind::Context {
                        name,
                        lifetime: lasting,
                    },
                    LAST_SAMPLE,
                    text.clone(),
                )
            }
            ContextSource::InvalidOutput { text, .. } => {
                let name = None;
                (
                    ConversationUnitKind::Context {
                        name,
                        lifetime: lasting,
                    },
                    INVALID_OUTPUT,
                    text.clone(),
                )
            }
            ContextSource::Presenter { input, part } => {
                let waiting = self.waiting.get(input);
                let part = usize::try_from(*part).unwrap_or(usize::MAX);
                let part = waiting.and_then(|waiting| waiting.context.get(part));
                let part = part.ok_or_else(|| invalid_fact(recorded, "no such context waits"))?;
                let (kind, text) = (named(&presenter_name(&part.from)), part.text.clone());
                let item = framed(&part.from, &text);
                self.begin(recorded, kind);
                self.items.push(item);
                return Ok(());
            }
            ContextSource::Hook { decided } => {
                let given = self.pending_contexts.remove(decided);
                let given =
                    given.ok_or_else(|| invalid_fact(recorded, "no hook has given this"))?;
                let (name, text) = (given.name, given.text);
                self.begin(
                    recorded,
                    ConversationUnitKind::Context {
                        name: None,
                        lifetime: lasting,
                    },
                );
                self.items.push(framed(&hook_name(&name), &text));
                return Ok(());
            }
        };
        self.begin(recorded, kind);
        self.items.push(framed(from, &text));
        Ok(())
    }

    /// Marks a call as started, unless the run is a dry run, which changes nothing.
    fn started(&mut self, recorded: &RecordedFact, fact: &CallStarted) -> Result<(), InvalidFact> {
        let call = self.calls.iter_mut().rfind(|call| call.id == fact.call);
        let call = call.ok_or_else(|| invalid_fact(recorded, "no such call is out"))?;
        call.started |= !fact.plan;
        Ok(())
    }

    fn observe(&mut self, recorded: &RecordedFact, fact: &CallObserved) -> Result<(), InvalidFact> {
        let call = self.calls.iter_mut().rfind(|call| call.id == fact.call);
        let call = call.ok_or_else(|| invalid_fact(recorded, "no such call is out"))?;
        if call.observation.is_some() {
            return Err(invalid_fact(
                recorded,
                "the call has its observation already",
            ));
        }
        call.observation = Some(fact.observation.clone());
        call.report = fact.report.clone();
        self.commit_if_complete(recorded);
        Ok(())
    }
}

/// Returns truncated text with its marker; `None` if there is no text.
pub(crate) fn cut_off(partial: &str) -> Option<Item> {
    (!partial.trim().is_empty()).then(|| Item::Text {
        text: format!("{partial}{CUT_OFF}").into(),
    })
}

fn framed(from: &str, text: &str) -> PromptItem {
    PromptItem::Context {
        text: context::frame(from, text).into(),
    }
}

fn invalid_fact(recorded: &RecordedFact, why: &str) -> InvalidFact {
    InvalidFact {
        at: recorded.seq,
        kind: Cow::Borrowed(recorded.fact.kind()),
        reason: String::from(why),
    }
}

#[cfg(test)]
mod tests;
