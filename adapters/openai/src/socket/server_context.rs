//! The part of a conversation that a server knows over one connection, and the part of a prompt
//! that is new to it. Pure.

use std::sync::Arc;

use bytes::Bytes;
use windlass_core::{
    AppendList, Assembler, AssemblerLimits, AssemblerOutput, Item, LoweringRecord, Prompt,
    PromptItem, Settings, StopReason, StreamEvent,
};
use windlass_kit_http::request::call_id;

/// The new part is unknown, for this reason: everything is sent.
pub(super) type ResendReason = &'static str;

/// State that a server has once an answer has ended.
pub(super) struct ServerContext {
    /// The response that it knows the conversation by.
    pub(super) response_id: String,
    /// First part of a request, up to the conversation.
    pub(super) head: Bytes,
    /// Parts of the conversation that it received in lowered form.
    pub(super) lowered: Vec<LoweringRecord>,
    prompt: Prompt,
    items: Vec<Item>,
}

impl ServerContext {
    /// From which item on a prompt is new to the server. It knows the rest if the prompt goes on
    /// from the last one by exactly what the model said, under the same settings. What two prompts
    /// of one history share is not read for it.
    pub(super) fn first_new_item(&self, prompt: &Prompt) -> Result<usize, ResendReason> {
        let settings: &Arc<Settings> = &prompt.settings;
        if !Arc::ptr_eq(&self.prompt.settings, settings) && self.prompt.settings != *settings {
            return Err("the settings are not those of the answer before");
        }
        let items: &AppendList<PromptItem> = &prompt.items;
        if !items.extends(&self.prompt.items) {
            return Err("the conversation does not go on from the one before");
        }
        let mut new = items.iter_from(self.prompt.items.len());
        if !self.items.iter().all(|said| new.next().is_some_and(|item| is(item, said))) {
            return Err("the conversation does not hold the answer before as it was given");
        }
        if new.next().is_none() {
            return Err("nothing has come after the answer before");
        }
        Ok(self.prompt.items.len().saturating_add(self.items.len()))
    }
}

/// Returns true if an item of a prompt is the model's own, under the id that the model gave it.
fn is(item: &PromptItem, said: &Item) -> bool {
    match (item, said) {
        (PromptItem::Text { text, .. }, Item::Text { text: said, .. })
        | (PromptItem::Refusal { text, .. }, Item::Refusal { text: said }) => text == said,
        (PromptItem::Reasoning { item, .. }, Item::Reasoning(said)) => item == said,
        (PromptItem::Call { id, call, .. }, Item::Call(said)) => {
            // A result has to name its call as the server knows it.
            let named = **id == *said.provider_id && call_id(id) == said.provider_id;
            named && call.name == said.name && call.arguments == said.arguments
        }
        (
            PromptItem::User { .. }
            | PromptItem::Image { .. }
            | PromptItem::Context { .. }
            | PromptItem::Text { .. }
            | PromptItem::Refusal { .. }
            | PromptItem::Reasoning { .. }
            | PromptItem::Call { .. }
            | PromptItem::Result { .. }
            | PromptItem::CallReport { .. }
            | PromptItem::ProgramReport { .. },
            Item::Text { .. } | Item::Refusal { .. } | Item::Reasoning(_) | Item::Call(_),
        ) => false,
    }
}

/// Gathers the model's items while they stream.
pub(super) struct ItemCollector {
    /// Gone when the answer is too large to be gathered.
    assembler: Option<Assembler>,
    items: Vec<Item>,
    out: Vec<AssemblerOutput>,
    response_id: Option<String>,
    whole: bool,
}

impl Default for ItemCollector {
    fn default() -> Self {
        Self {
            assembler: Some(Assembler::new(AssemblerLimits::default())),
            items: Vec::new(),
            out: Vec::new(),
            response_id: None,
            whole: false,
        }
    }
}

impl ItemCollector {
    pub(super) fn push(&mut self, event: &StreamEvent) {
        let Some(assembler) = &mut self.assembler else {
            return;
        };
        if assembler.push(event.clone(), &mut self.out).is_err() {
            self.assembler = None;
        }
        for assembled in self.out.drain(..) {
            match assembled {
                AssemblerOutput::Delta(_) => {}
                AssemblerOutput::Item(item) => self.items.push(item),
                AssemblerOutput::Ended { stop, response_id, .. } => {
                    self.whole = matches!(stop, StopReason::Stop | StopReason::Unfinished);
                    self.response_id = response_id;
                }
            }
        }
    }

    /// The id of the response, where it has been told.
    pub(super) fn response_id(&self) -> Option<&str> {
        self.response_id.as_deref()
    }

    /// Returns the server's new state, unless the answer was incomplete or had no id.
    pub(super) fn into_context(
        self,
        asked: Prompt,
        head: Bytes,
        lowered: Vec<LoweringRecord>,
    ) -> Option<ServerContext> {
        self.assembler.filter(|_| self.whole)?;
        Some(ServerContext {
            response_id: self.response_id.filter(|id| !id.is_empty())?,
            head,
            lowered,
            prompt: asked,
            items: self.items,
        })
    }
}

#[cfg(test)]
#[path = "server_context_tests.rs"]
mod tests;
