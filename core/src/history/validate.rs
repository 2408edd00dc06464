//! Validation: checks that a deserialised history could result from facts.

use alloc::collections::{BTreeSet, VecDeque};
use core::iter;

use super::{History, OutstandingCall};
use crate::compaction::VisiblePart;
use crate::context;
use crate::id::{InputId, Seq};
use crate::item::Item;
use crate::render::PromptItem;

impl History {
    /// Returns the size and digest of the conversation as a session with `out` pending calls counts
    /// them. Their answer counts once it is complete, their results once hooks have replied. Reads
    /// all of it.
    pub(crate) fn visible_part(&self, out: usize) -> VisiblePart {
        if self.ended.is_none() {
            let counted = self.items.len().saturating_sub(out);
            return context::visible_part(self.items.iter().take(counted));
        }
        // An inline program is no item of its own.
        let spoken = |item: &Item| matches!(item, Item::Call(call) if call.inline);
        let arriving = self.open_items.iter().filter(|(_, item)| !spoken(item));
        let arriving = arriving.map(|(_, item)| context::item(item));
        arriving.fold(context::visible_part(self.items.iter()), VisiblePart::with)
    }

    /// Returns true if these are the inputs that no turn has accepted yet.
    pub(crate) fn has_waiting(&self, inputs: &BTreeSet<InputId>) -> bool {
        self.waiting.keys().eq(inputs)
    }

    /// Returns true if each result is of a call of its sample, in the order of the calls.
    fn results_follow_calls(&self) -> bool {
        let (mut sample, mut open) = (None, VecDeque::new());
        self.items.iter().all(|item| match item {
            PromptItem::Call { sample: of, id, .. } => {
                if sample != Some(*of) {
                    open.clear();
                }
                sample = Some(*of);
                open.push_back(id);
                true
            }
            // Each call is looked at once, whatever a planted checkpoint has.
            PromptItem::Result { id, .. } => {
                iter::from_fn(|| open.pop_front()).any(|call| call == id)
            }
            PromptItem::User { .. }
            | PromptItem::Image { .. }
            | PromptItem::Context { .. }
            | PromptItem::Text { .. }
            | PromptItem::Refusal { .. }
            | PromptItem::Reasoning { .. }
            | PromptItem::CallReport { .. }
            | PromptItem::ProgramReport { .. } => true,
        })
    }

    /// Checks that its parts are consistent and come from facts before position `next`.
    pub(crate) fn validate(&self, next: Seq) -> Result<(), &'static str> {
        let firsts = self.units.iter().map(|unit| unit.first);
        if !firsts.clone().is_sorted() || firsts.max().is_some_and(|at| at >= self.items.len()) {
            return Err("the parts of the conversation do not begin where it has items");
        }
        let calls = self.items.iter().filter(|item| item.as_call().is_some()).count();
        if self.ids.len() != calls || !self.results_follow_calls() {
            return Err("the conversation's calls do not have ids and results of their own");
        }
        let arrived = self.open_items.iter().filter_map(|(seq, item)| match item {
            Item::Call(call) => Some((seq.0, call)),
            Item::Text { .. } | Item::Refusal { .. } | Item::Reasoning(_) => None,
        });
        let answered = self.calls.iter().filter(|call| call.program.is_none() && !call.command);
        if !arrived.eq(answered.map(|call| (call.id.0, &call.call))) {
            return Err("the calls that are out are not those of the answer");
        }
        let mut programs = self.calls.iter().filter_map(|call| call.program);
        if programs.any(|program| self.call(program).is_none()) {
            return Err("a call is out of a program that is not");
        }
        let alone = |call: &OutstandingCall| call.call.inline || call.command;
        if self.inline_program.iter().any(|call| !alone(call) || call.observation.is_none()) {
            return Err("what stood in the text of the answer is no program that has ended");
        }
        let positions = self.waiting.keys().map(|input| Seq(input.0));
        let positions = positions.chain(self.asked.keys().copied());
        let positions = positions.chain(self.pending_contexts.keys().copied());
        let calls = self.calls.iter().chain(&self.inline_program);
        let positions = positions.chain(calls.map(|call| Seq(call.id.0)));
        let mut positions = positions.chain(self.open_items.iter().map(|(seq, _)| *seq));
        if positions.any(|seq| seq >= next) {
            return Err("it holds what a later fact says");
        }
        Ok(())
    }
}
