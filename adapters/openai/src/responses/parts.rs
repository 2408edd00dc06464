//! The parts of one output item while it streams: pieces of a message, a reasoning, a call.
//!
//! What counts is, in this order: the whole item, the part's own closing event, the deltas.

use serde_json::value::RawValue;
use windlass_core::{Citation, Opaque, Settings, StreamEvent};

use super::text_calls::{TextArgument, argument};
use super::wire::WireItem;
use crate::citations;
use windlass_kit_http::json::{BorrowedText, non_empty};

/// Hands out slots. Each part gets its own when it first shows.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct SlotCounter(u32);

impl SlotCounter {
    pub(super) fn next(&mut self) -> u32 {
        let slot = self.0;
        self.0 = self.0.saturating_add(1);
        slot
    }
}

/// One piece of a message.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MessagePart {
    pub(super) at: u64,
    pub(super) refusal: bool,
    slot: u32,
    streamed: bool,
    whole: Option<String>,
    cited: Vec<Citation>,
}

impl MessagePart {
    pub(super) fn new(at: u64, refusal: bool, slots: &mut SlotCounter) -> Self {
        Self { at, refusal, slot: slots.next(), streamed: false, whole: None, cited: Vec::new() }
    }

    pub(super) fn delta(&mut self, text: String, out: &mut Vec<StreamEvent>) {
        self.streamed = true;
        let slot = self.slot;
        out.push(if self.refusal {
            StreamEvent::Refusal { slot, text }
        } else {
            StreamEvent::Text { slot, text }
        });
    }

    /// Takes the text of the piece's own closing event, or of the whole item.
    pub(super) fn whole(&mut self, text: Option<BorrowedText<'_>>, out: &mut Vec<StreamEvent>) {
        let Some(text) = non_empty(text) else { return };
        if !self.streamed {
            self.delta(text.clone(), out);
        }
        self.whole = Some(text);
    }

    /// Adds a source that came by itself.
    pub(super) fn cite(&mut self, annotation: &RawValue) {
        citations::extend(&mut self.cited, citations::citation(annotation));
    }

    /// Takes the sources of the whole item, if it has any.
    pub(super) fn whole_citations(&mut self, annotations: &RawValue) {
        let cited = citations::citations(annotations);
        if !cited.is_empty() {
            self.cited = cited;
        }
    }

    fn close(self, closing: &mut Vec<StreamEvent>) {
        closing.extend(citations::events(self.slot, self.cited));
        closing.push(StreamEvent::Done { slot: self.slot, text: self.whole, opaque: None });
    }
}

/// Closes a message's pieces in their order.
pub(super) fn close_pieces(mut pieces: Vec<MessagePart>) -> Vec<StreamEvent> {
    let mut closing = Vec::new();
    pieces.sort_by_key(|piece| piece.at);
    pieces.into_iter().for_each(|piece| piece.close(&mut closing));
    closing
}

/// A reasoning: raw text and summaries, told as one text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReasoningPart {
    slot: u32,
    /// Part that the last delta belonged to.
    last: Option<(bool, u64)>,
    whole: Vec<((bool, u64), String)>,
}

impl ReasoningPart {
    pub(super) fn new(slots: &mut SlotCounter) -> Self {
        Self { slot: slots.next(), last: None, whole: Vec::new() }
    }

    pub(super) fn delta(&mut self, part: (bool, u64), text: &str, out: &mut Vec<StreamEvent>) {
        let apart = self.last.replace(part).is_some_and(|last| last != part);
        let text = if apart { format!("\n\n{text}") } else { text.to_owned() };
        out.push(StreamEvent::Reasoning { slot: self.slot, text });
    }

    /// Takes the text of a part's closing event.
    pub(super) fn whole(&mut self, part: (bool, u64), text: Option<BorrowedText<'_>>) {
        if let Some(text) = non_empty(text) {
            self.whole.retain(|(other, _)| *other != part);
            self.whole.push((part, text));
        }
    }

    /// Closes it by the whole item, where there is one.
    pub(super) fn close(
        mut self,
        item: Option<WireItem<'_>>,
        opaque: Option<Opaque>,
        out: &mut Vec<StreamEvent>,
    ) -> Vec<StreamEvent> {
        let item = item.unwrap_or_default();
        let parts = item.content.into_iter().flatten().chain(item.summary.into_iter().flatten());
        let mut texts: Vec<String> = parts.filter_map(|part| non_empty(part.text)).collect();
        if texts.is_empty() {
            self.whole.sort_by_key(|(part, _)| *part);
            texts = self.whole.into_iter().map(|(_, text)| text).collect();
        }
        let text = texts.join("\n\n");
        if self.last.is_none() {
            // Opens the part, which may hold nothing readable.
            out.push(StreamEvent::Reasoning { slot: self.slot, text: text.clone() });
        }
        let text = (!text.is_empty()).then_some(text);
        vec![StreamEvent::Done { slot: self.slot, text, opaque }]
    }
}

/// A call of a function, or of a tool that takes free text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallPart {
    slot: u32,
    id: String,
    name: String,
    opened: bool,
    /// Argument text that came before the call could be opened.
    held: String,
    streamed: bool,
    whole: Option<String>,
    /// Argument that the text of the call is.
    argument: Option<TextArgument>,
}

impl CallPart {
    pub(super) fn new(slots: &mut SlotCounter) -> Self {
        Self {
            slot: slots.next(),
            id: String::new(),
            name: String::new(),
            opened: false,
            held: String::new(),
            streamed: false,
            whole: None,
            argument: None,
        }
    }

    /// Takes id and name from an item, and opens the call once both are known. The text of a tool with
    /// a grammar among `settings` becomes its argument.
    pub(super) fn named(
        &mut self,
        item: &WireItem<'_>,
        settings: Option<&Settings>,
        out: &mut Vec<StreamEvent>,
    ) {
        let take = |kept: &mut String, text: &Option<BorrowedText<'_>>| {
            if let Some(text) = text.as_ref().filter(|_| kept.is_empty()) {
                kept.push_str(&text.0);
            }
        };
        take(&mut self.id, &item.call_id);
        take(&mut self.name, &item.name);
        if !self.opened && item.is_text_call() {
            let argument = settings.and_then(|settings| argument(settings, &self.name));
            self.argument = argument.map(TextArgument::new);
        }
        if !self.id.is_empty() && !self.name.is_empty() {
            self.open(out);
        }
    }

    /// The provider's id of the call, as far as known.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn delta(&mut self, text: String, out: &mut Vec<StreamEvent>) {
        if self.opened {
            let first = !std::mem::replace(&mut self.streamed, true);
            let text = match &self.argument {
                Some(argument) if first => argument.opening() + &TextArgument::part(&text),
                Some(_) => TextArgument::part(&text),
                None => text,
            };
            out.push(StreamEvent::CallArguments { slot: self.slot, text });
        } else {
            self.held.push_str(&text);
        }
    }

    /// Takes the arguments of the call's closing event, or of the whole item.
    pub(super) fn whole(
        &mut self,
        arguments: Option<BorrowedText<'_>>,
        out: &mut Vec<StreamEvent>,
    ) {
        let Some(arguments) = non_empty(arguments) else {
            return;
        };
        if self.opened && !self.streamed {
            self.delta(arguments.clone(), out);
        }
        self.whole = Some(arguments);
    }

    pub(super) fn close(mut self, out: &mut Vec<StreamEvent>) -> Vec<StreamEvent> {
        if self.name.is_empty() {
            return Vec::new();
        }
        self.open(out);
        if let Some(argument) = &self.argument {
            if self.streamed {
                let text = TextArgument::CLOSING.to_owned();
                out.push(StreamEvent::CallArguments { slot: self.slot, text });
            }
            let whole = self.whole.as_deref().or((!self.streamed).then_some(""));
            self.whole = whole.map(|text| argument.whole(text));
        }
        if let Some(text) = self.whole.clone().filter(|_| !self.streamed) {
            out.push(StreamEvent::CallArguments { slot: self.slot, text });
        }
        vec![StreamEvent::Done { slot: self.slot, text: self.whole, opaque: None }]
    }

    fn open(&mut self, out: &mut Vec<StreamEvent>) {
        if std::mem::replace(&mut self.opened, true) {
            return;
        }
        let (id, name) = (self.id.clone(), self.name.clone());
        out.push(StreamEvent::CallOpened { slot: self.slot, id, name });
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            self.delta(held, out);
        }
    }
}
