//! Adds an answer to the history: completely, or its retained part.

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{ConversationUnitKind, History, OutstandingCall, cut_off};
use crate::call::shown;
use crate::digest::Digest;
use crate::fact::{ContextLifetime, Retained, SampleCut};
use crate::id::{CallId, Seq};
use crate::item::{CallItem, Item};
use crate::program::PROGRAM_TOOL;
use crate::record::RecordedFact;
use crate::render::{PromptItem, command_result_text};

impl History {
    pub(super) fn add(&mut self, seq: Seq, item: &Item) {
        self.open_items.push((seq, item.clone()));
        if let Item::Call(call) = item {
            self.calls.push(OutstandingCall::new(CallId(seq.0), call));
        }
    }

    /// Adds the retained part of a truncated answer, like a complete one.
    pub(super) fn commit_retained(&mut self, recorded: &RecordedFact, fact: &SampleCut) {
        match fact.retained {
            Retained::Nothing => self.discard_sample(),
            Retained::Through { item } => self.retain_through(item, recorded, fact),
            Retained::Text => self.retain_through(Seq::ZERO, recorded, fact),
        }
    }

    /// Retains the items up to a position, and behind it the texts that the cut retains.
    fn retain_through(&mut self, last: Seq, recorded: &RecordedFact, fact: &SampleCut) {
        self.calls.retain(|call| call.id.0 <= last.0);
        self.open_items.retain(|(seq, item)| match item {
            Item::Text { .. } | Item::Refusal { .. } => fact.retains_text() || *seq <= last,
            Item::Reasoning(_) | Item::Call(_) => *seq <= last,
        });
        let partial = cut_off(&fact.partial, fact.stopped_by).filter(|_| fact.retains_text());
        self.open_items.extend(partial.map(|item| (recorded.seq, item)));
        if self.open_items.is_empty() {
            return;
        }
        self.complete(fact.started, recorded);
    }

    /// Completes the open sample: its calls may run.
    pub(super) fn complete(&mut self, started: Seq, recorded: &RecordedFact) {
        self.ended = Some(started);
        let has_program = self.calls.iter().any(|call| call.call.name == PROGRAM_TOOL);
        self.answered = has_program.then_some(recorded.ts);
        self.commit_if_complete(recorded);
    }

    pub(super) fn discard_sample(&mut self) {
        self.open_items.clear();
        self.calls.clear();
        self.ended = None;
        self.answered = None;
        self.inline_program = None;
    }

    /// Adds the sample once its answer is complete and each call has its observation.
    pub(super) fn commit_if_complete(&mut self, recorded: &RecordedFact) {
        let Some(sample) = self.ended else { return };
        if self.calls.iter().any(|call| call.observation.is_none()) {
            return;
        }
        self.ended = None;
        self.answered = None;
        if let Some(command) = self.calls.pop_if(|call| call.command) {
            self.commit_command(recorded, command);
            return;
        }
        if !self.open_items.is_empty() {
            self.begin(recorded, ConversationUnitKind::Sample);
        }
        let mut ids = Vec::new();
        let told = self.call_report();
        self.calls.retain(|call| call.program.is_none());
        for (seq, item) in core::mem::take(&mut self.open_items) {
            let entry = match item {
                Item::Text { text, opaque, .. } => PromptItem::Text { sample, text, opaque },
                Item::Refusal { text } => PromptItem::Refusal { sample, text },
                Item::Reasoning(item) => PromptItem::Reasoning { sample, item },
                Item::Call(call) if call.inline => {
                    ids.push(None);
                    continue;
                }
                Item::Call(call) => {
                    let id = self.unique_id(seq, &call.provider_id);
                    ids.push(Some(id.clone()));
                    PromptItem::Call { sample, id, call }
                }
            };
            self.items.push(entry);
        }
        // Nothing comes between the calls and their results.
        let mut spoken = Vec::new();
        for (id, call) in ids.into_iter().zip(core::mem::take(&mut self.calls)) {
            let Some(observation) = call.observation.clone() else {
                continue;
            };
            match id {
                Some(id) => {
                    let observation = shown(&observation, call.form, call.id);
                    self.items.push(PromptItem::Result { id, observation, edited: call.edited });
                }
                None => {
                    spoken.push(PromptItem::ProgramReport { call: call.id, observation });
                    self.inline_program = Some(call);
                }
            }
        }
        for item in spoken.into_iter().chain(told) {
            self.items.push(item);
        }
    }

    /// Begins a user's command: its result follows.
    pub(super) fn begin_command(&mut self, recorded: &RecordedFact, call: &Arc<CallItem>) {
        self.discard_sample();
        let id = CallId(recorded.seq.0);
        self.calls.push(OutstandingCall { command: true, ..OutstandingCall::new(id, call) });
        self.ended = Some(recorded.seq);
    }

    fn commit_command(&mut self, recorded: &RecordedFact, command: OutstandingCall) {
        let Some(observation) = &command.observation else { return };
        let seen = shown(observation, command.form, command.id);
        let text = command_result_text(&seen, command.edited.as_deref());
        let (name, lifetime) = (None, ContextLifetime::Turn);
        self.begin(recorded, ConversationUnitKind::Context { name, lifetime });
        self.items.push(PromptItem::User { text: text.into() });
        self.inline_program = Some(command);
    }

    /// Collects the ids of the conversation's calls: those that left it are free again.
    pub(crate) fn collect_ids(&mut self) {
        let calls = self.items.iter().filter_map(PromptItem::as_call);
        self.ids = calls.map(|(_, id, _)| id_digest(id)).collect();
    }

    /// Returns the provider's id of a call, or one made from the call's position if the
    /// conversation already uses it. Many servers restart at `call_0` with each answer.
    fn unique_id(&mut self, seq: Seq, provider_id: &str) -> Arc<str> {
        let mut id: Arc<str> = Arc::from(provider_id);
        let mut tries = 0_u32;
        while id.is_empty() || self.ids.contains(&id_digest(&id)) {
            id = Arc::from(format!("call_w{seq}_{tries}").as_str());
            tries = tries.saturating_add(1);
        }
        self.ids.insert(id_digest(&id));
        id
    }
}

/// Returns the digest by which an id is known. Two ids of one digest would only name a call anew.
fn id_digest(id: &str) -> Digest {
    Digest::EMPTY.part(id.as_bytes())
}
