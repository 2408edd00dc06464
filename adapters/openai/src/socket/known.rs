//! The part of a conversation that a server knows over one connection, and the part of a prompt
//! that is new to it. Pure.

use std::sync::Arc;

use bytes::Bytes;
use windlass_core::{
    Assembled, Assembler, Caps, Chain, Item, Lowered, Prompt, PromptItem, Settings, StopReason,
    StreamEvent,
};
use windlass_kit_http::request::call_id;

/// The new part is unknown, for this reason: everything is sent.
pub(super) type Why = &'static str;

/// State that a server has once an answer has ended.
pub(super) struct Known {
    /// The response that it knows the conversation by.
    pub(super) response_id: String,
    /// First part of a request, up to the conversation.
    pub(super) head: Bytes,
    /// Parts of the conversation that it received in lowered form.
    pub(super) lowered: Vec<Lowered>,
    asked: Prompt,
    said: Vec<Item>,
}

impl Known {
    /// From which item on a prompt is new to the server. It knows the rest if the prompt goes on
    /// from the last one by exactly what the model said, under the same settings. What two prompts
    /// of one history share is not read for it.
    pub(super) fn rest(&self, prompt: &Prompt) -> Result<usize, Why> {
        let settings: &Arc<Settings> = &prompt.settings;
        if !Arc::ptr_eq(&self.asked.settings, settings) && self.asked.settings != *settings {
            return Err("the settings are not those of the answer before");
        }
        let items: &Chain<PromptItem> = &prompt.items;
        if !items.extends(&self.asked.items) {
            return Err("the conversation does not go on from the one before");
        }
        let mut new = items.iter_from(self.asked.items.len());
        if !self
            .said
            .iter()
            .all(|said| new.next().is_some_and(|item| is(item, said)))
        {
            return Err("the conversation does not hold the answer before as it was given");
        }
        if new.next().is_none() {
            return Err("nothing has come after the answer before");
        }
        Ok(self.asked.items.len().saturating_add(self.said.len()))
    }
}

/// Returns true if an item of a prompt is the model's own, under the id that the model gave it.
fn is(item: &PromptItem, said: &Item) -> bool {
    match (item, said) {
        (PromptItem::Text { text, .. }, Item::Text { text: said })
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
            | PromptItem::Told { .. },
            Item::Text { .. } | Item::Refusal { .. } | Item::Reasoning(_) | Item::Call(_),
        ) => false,
    }
}

/// Gathers the model's items while they stream.
pub(super) struct Said {
    /// Gone when the answer is too large to be gathered.
    assembler: Option<Assembler>,
    items: Vec<Item>,
    out: Vec<Assembled>,
    response_id: Option<String>,
    whole: bool,
}

impl Default for Said {
    fn default() -> Self {
        Self {
            assembler: Some(Assembler::new(Caps::default())),
            items: Vec::new(),
            out: Vec::new(),
            response_id: None,
            whole: false,
        }
    }
}

impl Said {
    pub(super) fn push(&mut self, event: &StreamEvent) {
        let Some(assembler) = &mut self.assembler else {
            return;
        };
        if assembler.push(event.clone(), &mut self.out).is_err() {
            self.assembler = None;
        }
        for assembled in self.out.drain(..) {
            match assembled {
                Assembled::Delta(_) => {}
                Assembled::Item(item) => self.items.push(item),
                Assembled::Ended {
                    stop, response_id, ..
                } => {
                    self.whole = stop == StopReason::Stop;
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
    pub(super) fn known(self, asked: Prompt, head: Bytes, lowered: Vec<Lowered>) -> Option<Known> {
        self.assembler.filter(|_| self.whole)?;
        Some(Known {
            response_id: self.response_id.filter(|id| !id.is_empty())?,
            head,
            lowered,
            asked,
            said: self.items,
        })
    }
}

#[cfg(test)]
#[path = "known_tests.rs"]
mod tests;
