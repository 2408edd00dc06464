//! History: the payload of a session, folded into the model's view.
//!
//! A sample enters it as a whole: its items, then the observations of its calls in call order, once
//! the last of these exists. So each prefix of a log renders to a conversation in which every call
//! has its result. The order in which tools finish is not visible (laws 10 and 11).

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::append_list::AppendList;
use crate::call::Observation;
use crate::compaction::ResultForm;
use crate::digest::Digest;
use crate::error::InvalidFact;
use crate::fact::{ContextLifetime, ContextPart};
use crate::hook::HookOccurrence;
use crate::id::{CallId, InputId, Seq, TurnId};
use crate::image::Image;
use crate::item::{CallItem, Item};
use crate::outcome::InterruptSource;
use crate::program::{CallReport, ProgramFailure};
use crate::record::RecordedFact;
use crate::render::PromptItem;
use crate::request_record::FailedAttempt;
use crate::time::Timestamp;

mod apply;
mod commit;
mod memories;
mod programs;
mod rewind;
mod size;
mod validate;

use memories::Memories;
pub use programs::ProgramCallState;

pub(crate) use crate::context::{
    EMPTY_ANSWER, GOAL, INTERRUPT, INVALID_OUTPUT, LAST_SAMPLE, PERMISSIONS, REWIND, UNDO,
    WORKSPACE, hook_name, presenter_name,
};

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
    /// Time at which that answer was complete, if it has a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answered: Option<Timestamp>,
    /// Digests of the call ids that the conversation uses, which a checkpoint reads from it.
    #[serde(skip)]
    ids: BTreeSet<Digest>,
    /// Failed attempts at the current or next sample.
    failed: Vec<FailedAttempt>,
    /// Memory that programs left for later ones, in their runtime's format.
    #[serde(default, skip_serializing_if = "Memories::is_empty")]
    memories: Box<Memories>,
    /// Value that the latest answer's program returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    returned: Option<Arc<str>>,
    /// Failure of the last program of the open turn, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    program_failure: Option<Arc<ProgramFailure>>,
    /// Inline program of the latest answer, or command of the user, once it has entered the
    /// conversation. There it is no call, but its hooks may still be pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inline_program: Option<OutstandingCall>,
}

/// Indivisible part of the conversation: a compaction cuts between parts. Stored without names of
/// fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "StoredUnit", from = "StoredUnit")]
pub(crate) struct ConversationUnit {
    /// Index of its first item.
    pub(crate) first: usize,
    /// Turn that it belongs to.
    pub(crate) turn: Option<TurnId>,
    /// Kind of the part.
    pub(crate) kind: ConversationUnitKind,
}

type StoredUnit = (usize, Option<TurnId>, ConversationUnitKind);

impl From<ConversationUnit> for StoredUnit {
    fn from(ConversationUnit { first, turn, kind }: ConversationUnit) -> Self {
        (first, turn, kind)
    }
}

impl From<StoredUnit> for ConversationUnit {
    fn from((first, turn, kind): StoredUnit) -> Self {
        Self { first, turn, kind }
    }
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
    /// True if it is a user's command.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    command: bool,
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
    /// Form in which the model sees the observation, if it is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    form: Option<ResultForm>,
    /// True if a run of it started that does more than describe its effect.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    started: bool,
    /// Report on a program's calls, shown to the model with the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    report: Option<CallReport>,
    /// Program that made the call, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    program: Option<CallId>,
    /// True if a user made the call, so that it belongs to no answer.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    command: bool,
}

impl OutstandingCall {
    fn new(id: CallId, call: &Arc<CallItem>) -> Self {
        Self {
            id,
            call: call.clone(),
            edited: None,
            observation: None,
            form: None,
            started: false,
            report: None,
            program: None,
            command: false,
        }
    }
}

impl History {
    /// Returns the committed conversation.
    #[must_use]
    pub fn items(&self) -> &AppendList<PromptItem> {
        &self.items
    }

    /// Adds an item that no fact added.
    #[cfg(test)]
    pub(crate) fn push_for_test(&mut self, item: PromptItem) {
        self.items.push(item);
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

    /// Returns the result of such a call, once it is known. It is complete, also if the model sees
    /// a part of it.
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
            let last = self.units.iter().rfind(|unit| unit.kind == ConversationUnitKind::Sample);
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
                    | PromptItem::CallReport { .. }
                    | PromptItem::ProgramReport { .. } => {}
                }
            }
        }
        for (_, item) in &self.open_items {
            match item {
                Item::Text { text, .. } | Item::Refusal { text } => take(Some(text), None),
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
}

/// Returns truncated text with its marker; `None` if there is no text. A steering input truncated it
/// unless an interrupt did.
pub(crate) fn cut_off(partial: &str, stopped_by: Option<InterruptSource>) -> Option<Item> {
    if partial.trim().is_empty() {
        return None;
    }
    let cause = match stopped_by {
        None => "the user spoke",
        Some(InterruptSource::Person) => "the turn was interrupted",
        Some(InterruptSource::Parent) => "the calling session stopped the turn",
        Some(InterruptSource::Shutdown) => "the process was shut down",
        Some(InterruptSource::Deadline) => "the time of the turn was over",
    };
    Some(Item::text(format!("{partial} [cut off here: {cause}]")))
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
