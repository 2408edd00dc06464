//! The output items of one response: which item an event speaks of, and when each is given out.
//!
//! An event names its item by `output_index`, by `item_id`, or not at all. Items are closed in
//! the order of their indices, whichever is whole first.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_core::{Opaque, Settings, StreamEvent};

use super::parts::{CallPart, MessagePart, ReasoningPart, SlotCounter, close_pieces};
use super::returned::queries;
use super::wire::{ItemKind, WireItem};
use windlass_kit_http::DecodeError;
use windlass_kit_http::json::non_empty;

/// Most items of one response.
const MOST: usize = 4_096;

/// Most bytes of an item of another kind, such as a tool that the provider runs itself, that is
/// kept.
const MOST_FOREIGN_BYTES: usize = 256 * 1024;

/// Identifiers by which an event names its item.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ItemName<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: &'a str,
}

/// The items of one response.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct OutputItems {
    items: Vec<OutputItem>,
    slots: SlotCounter,
    /// Foreign items that are not reported: they never became whole, or are too large.
    unreported: BTreeSet<String>,
    /// Settings of the request, if tools were sent with a grammar.
    pub(super) settings: Option<Arc<Settings>>,
}

#[derive(Debug, Clone, PartialEq)]
struct OutputItem {
    /// Its place: its `output_index`, or one after all before it.
    position: u64,
    indexed: bool,
    id: String,
    /// True once an event other than a delta announced it.
    announced: bool,
    stage: ItemStage,
    kind: ItemKind,
}

#[derive(Debug, Clone, PartialEq)]
enum ItemStage {
    Message(Vec<MessagePart>),
    Reasoning(ReasoningPart),
    Call(CallPart),
    Foreign,
    /// Whole: what is left to say of it when its turn comes.
    Closed(Vec<StreamEvent>),
    Emitted,
}

/// Returns the identity of an item: its id, or else its place.
fn key_of(index: Option<u64>, item: &WireItem<'_>) -> String {
    match item.id.as_ref().filter(|id| !id.0.is_empty()) {
        Some(id) => id.0.clone().into_owned(),
        None => format!("#{}", index.map_or(String::new(), |index| index.to_string())),
    }
}

impl OutputItems {
    /// Returns true if no event has named an item.
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns true if there was an item of another kind that is not reported.
    pub(super) fn foreign(&self) -> bool {
        !self.unreported.is_empty()
    }

    /// A piece of a message that is still open.
    pub(super) fn piece(
        &mut self,
        name: ItemName<'_>,
        at: u64,
        refusal: bool,
    ) -> Result<Option<&mut MessagePart>, DecodeError> {
        let item = self.locate(name, ItemKind::Message)?;
        let Some(item) = self.items.get_mut(item) else {
            return Ok(None);
        };
        let ItemStage::Message(pieces) = &mut item.stage else {
            return Ok(None);
        };
        let known = pieces.iter().position(|piece| piece.at == at && piece.refusal == refusal);
        let known = match known {
            Some(known) => known,
            None if pieces.len() >= MOST => return Err(too_many()),
            None => {
                pieces.push(MessagePart::new(at, refusal, &mut self.slots));
                pieces.len() - 1
            }
        };
        Ok(pieces.get_mut(known))
    }

    /// A reasoning that is still open.
    pub(super) fn thought(
        &mut self,
        name: ItemName<'_>,
    ) -> Result<Option<&mut ReasoningPart>, DecodeError> {
        let item = self.locate(name, ItemKind::Reasoning)?;
        Ok(match self.items.get_mut(item).map(|item| &mut item.stage) {
            Some(ItemStage::Reasoning(thought)) => Some(thought),
            Some(
                ItemStage::Message(_)
                | ItemStage::Call(_)
                | ItemStage::Foreign
                | ItemStage::Closed(_)
                | ItemStage::Emitted,
            )
            | None => None,
        })
    }

    /// A call that is still open.
    pub(super) fn call(
        &mut self,
        name: ItemName<'_>,
    ) -> Result<Option<&mut CallPart>, DecodeError> {
        let item = self.locate(name, ItemKind::Call)?;
        Ok(match self.items.get_mut(item).map(|item| &mut item.stage) {
            Some(ItemStage::Call(call)) => Some(call),
            Some(
                ItemStage::Message(_)
                | ItemStage::Reasoning(_)
                | ItemStage::Foreign
                | ItemStage::Closed(_)
                | ItemStage::Emitted,
            )
            | None => None,
        })
    }

    /// Handles `output_item.added`.
    pub(super) fn added(
        &mut self,
        index: Option<u64>,
        item: &WireItem<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        if item.kind() == ItemKind::Foreign {
            // It is reported once it is whole, so that none that never is holds others back.
            self.unreported.insert(key_of(index, item));
            return Ok(());
        }
        let at = self.announced(index, item)?;
        let Some(kept) = self.items.get_mut(at) else {
            return Ok(());
        };
        match &mut kept.stage {
            ItemStage::Call(call) => call.named(item, self.settings.as_deref(), out),
            ItemStage::Message(_)
            | ItemStage::Reasoning(_)
            | ItemStage::Foreign
            | ItemStage::Closed(_)
            | ItemStage::Emitted => {}
        }
        Ok(())
    }

    /// Takes `output_item.done`: the whole item, which outweighs what has streamed.
    pub(super) fn done(
        &mut self,
        index: Option<u64>,
        mut item: WireItem<'_>,
        opaque: Opaque,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        let at = self.announced(index, &item)?;
        let key = key_of(index, &item);
        let Some(kept) = self.items.get_mut(at) else {
            return Ok(());
        };
        let status = non_empty(item.status.take()).unwrap_or_default();
        kept.stage = match std::mem::replace(&mut kept.stage, ItemStage::Emitted) {
            ItemStage::Message(mut pieces) => {
                Self::contents(&mut pieces, &mut item, &mut self.slots, out)?;
                ItemStage::Closed(close_pieces(pieces))
            }
            ItemStage::Reasoning(thought) => {
                ItemStage::Closed(thought.close(Some(item), Some(opaque), out))
            }
            // A call that was cut off is not given out.
            ItemStage::Call(_) if matches!(status.as_str(), "incomplete" | "failed") => {
                ItemStage::Closed(Vec::new())
            }
            ItemStage::Call(mut call) => {
                call.named(&item, self.settings.as_deref(), out);
                let arguments = item.arguments.take().filter(|text| !text.0.is_empty());
                call.whole(arguments.or(item.input.take()), out);
                ItemStage::Closed(call.close(out))
            }
            ItemStage::Foreign if opaque.payload.len() > MOST_FOREIGN_BYTES => {
                let kind = item.kind.unwrap_or_default().into_string();
                let (kind, bytes) = (shown(&kind), opaque.payload.len());
                tracing::warn!(kind, bytes, "an item of the answer is too large to be kept");
                self.unreported.insert(key);
                ItemStage::Closed(Vec::new())
            }
            ItemStage::Foreign => {
                self.unreported.remove(&key);
                let slot = self.slots.next();
                out.push(StreamEvent::Reasoning { slot, text: String::new() });
                let queries = queries(&opaque.payload).into_iter();
                out.extend(queries.map(|query| StreamEvent::Search { slot, query }));
                let opaque = Some(opaque);
                ItemStage::Closed(vec![StreamEvent::Done { slot, text: None, opaque }])
            }
            // The same item once more.
            ItemStage::Closed(closing) => ItemStage::Closed(closing),
            ItemStage::Emitted => ItemStage::Emitted,
        };
        self.emit_complete(out);
        Ok(())
    }

    /// Ends the response: what is still open stands as it has streamed. When the answer was cut
    /// off, open calls do not.
    pub(super) fn finish(&mut self, cut: bool, out: &mut Vec<StreamEvent>) {
        for item in &mut self.items {
            item.stage = match std::mem::replace(&mut item.stage, ItemStage::Emitted) {
                ItemStage::Message(pieces) => ItemStage::Closed(close_pieces(pieces)),
                ItemStage::Reasoning(thought) => ItemStage::Closed(thought.close(None, None, out)),
                ItemStage::Call(_) if cut => ItemStage::Closed(Vec::new()),
                ItemStage::Call(call) => ItemStage::Closed(call.close(out)),
                ItemStage::Foreign => ItemStage::Closed(Vec::new()),
                ItemStage::Closed(closing) => ItemStage::Closed(closing),
                ItemStage::Emitted => ItemStage::Emitted,
            };
        }
        if self.foreign() {
            tracing::warn!("the answer has an item of the provider that never became whole");
        }
        self.emit_complete(out);
    }

    /// Gives out what is whole, up to the first item that is not.
    fn emit_complete(&mut self, out: &mut Vec<StreamEvent>) {
        let waits = |item: &&mut OutputItem| !matches!(item.stage, ItemStage::Emitted);
        while let Some(item) = self.items.iter_mut().filter(waits).min_by_key(|item| item.position)
        {
            let ItemStage::Closed(closing) = &mut item.stage else {
                return;
            };
            out.append(closing);
            item.stage = ItemStage::Emitted;
        }
    }

    fn contents(
        pieces: &mut Vec<MessagePart>,
        item: &mut WireItem<'_>,
        slots: &mut SlotCounter,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        let contents = item.content.take().unwrap_or_default();
        let mut whole: Vec<(u64, bool)> = Vec::new();
        for (at, content) in (0_u64..).zip(contents) {
            if content.text.is_none() && content.refusal.is_none() {
                tracing::warn!("a part of the answer's message is no text and is left out");
            }
            for (refusal, text) in [(false, content.text), (true, content.refusal)] {
                if text.as_ref().is_none_or(|text| text.0.is_empty()) {
                    continue;
                }
                let known = pieces.iter().position(|p| p.at == at && p.refusal == refusal);
                let known = known.unwrap_or_else(|| {
                    pieces.push(MessagePart::new(at, refusal, slots));
                    pieces.len() - 1
                });
                if pieces.len() > MOST {
                    return Err(too_many());
                }
                if let Some(piece) = pieces.get_mut(known) {
                    piece.whole(text, out);
                    if let (false, Some(annotations)) = (refusal, content.annotations) {
                        piece.whole_citations(annotations);
                    }
                    whole.push((at, refusal));
                }
            }
        }
        if !whole.is_empty() {
            // The item is the authority: a piece that it does not hold is none.
            pieces.retain(|piece| whole.contains(&(piece.at, piece.refusal)));
        }
        Ok(())
    }

    /// The item that an announcement (`added`, `done`) speaks of, new or known.
    fn announced(&mut self, index: Option<u64>, item: &WireItem<'_>) -> Result<usize, DecodeError> {
        let kind = item.kind();
        let id = item.id.as_ref().map_or("", |id| &id.0);
        let call_id = item.call_id.as_ref().map_or("", |id| &id.0);
        let known = self.items.iter().rposition(|kept| {
            let named = match index {
                Some(index) => kept.indexed && kept.position == index,
                None => !id.is_empty() && kept.id == id || kept.is_call(call_id),
            };
            // Only what streamed before its announcement may turn out to be it without a name.
            let unnamed = !kept.announced && !kept.indexed && kept.id.is_empty();
            kept.kind == kind && (named && kept.is_still(id, call_id) || unnamed && kept.open())
        });
        let at = match known {
            Some(at) => at,
            None => self.push(index, id, kind)?,
        };
        if let Some(kept) = self.items.get_mut(at) {
            kept.announced = true;
            if !id.is_empty() {
                id.clone_into(&mut kept.id);
            }
        }
        Ok(at)
    }

    /// The open item that a delta speaks of; it is begun if there is none.
    fn locate(&mut self, name: ItemName<'_>, kind: ItemKind) -> Result<usize, DecodeError> {
        let latest = |fits: &dyn Fn(&OutputItem) -> bool| {
            self.items.iter().rposition(|item| item.kind == kind && fits(item))
        };
        let by_index =
            name.index.and_then(|index| latest(&|item| item.indexed && item.position == index));
        let by_id = || {
            let known = !name.id.is_empty();
            latest(&|item| known && item.id == name.id && (name.index.is_none() || !item.indexed))
        };
        let by_kind = || {
            let unnamed = name.index.is_none() && name.id.is_empty();
            latest(&|item| unnamed && item.open())
        };
        match by_index.or_else(by_id).or_else(by_kind) {
            Some(at) => Ok(at),
            None => self.push(name.index, name.id, kind),
        }
    }

    fn push(&mut self, index: Option<u64>, id: &str, kind: ItemKind) -> Result<usize, DecodeError> {
        if self.items.len() >= MOST {
            return Err(too_many());
        }
        let after = self.items.iter().map(|item| item.position.saturating_add(1)).max();
        let stage = match kind {
            ItemKind::Message => ItemStage::Message(Vec::new()),
            ItemKind::Reasoning => ItemStage::Reasoning(ReasoningPart::new(&mut self.slots)),
            ItemKind::Call => ItemStage::Call(CallPart::new(&mut self.slots)),
            ItemKind::Foreign => ItemStage::Foreign,
        };
        self.items.push(OutputItem {
            position: index.or(after).unwrap_or(0),
            indexed: index.is_some(),
            id: id.to_owned(),
            announced: false,
            stage,
            kind,
        });
        Ok(self.items.len() - 1)
    }
}

impl OutputItem {
    fn open(&self) -> bool {
        !matches!(self.stage, ItemStage::Closed(_) | ItemStage::Emitted)
    }

    fn is_call(&self, call_id: &str) -> bool {
        match &self.stage {
            ItemStage::Call(call) => !call_id.is_empty() && call.id() == call_id,
            ItemStage::Message(_)
            | ItemStage::Reasoning(_)
            | ItemStage::Foreign
            | ItemStage::Closed(_)
            | ItemStage::Emitted => false,
        }
    }

    /// Returns true if an announcement under this index still means the same item. Some servers
    /// change an item's id from event to event, others use one index for several items: a call with
    /// another call id is another call, and a closed item is found again only by its own id.
    fn is_still(&self, id: &str, call_id: &str) -> bool {
        match &self.stage {
            ItemStage::Call(call) => {
                call_id.is_empty() || call.id().is_empty() || call.id() == call_id
            }
            ItemStage::Message(_) | ItemStage::Reasoning(_) | ItemStage::Foreign => true,
            ItemStage::Closed(_) | ItemStage::Emitted => !id.is_empty() && self.id == id,
        }
    }
}

/// Returns the beginning of a kind, which a server may name as it likes.
fn shown(kind: &str) -> &str {
    kind.get(..64).unwrap_or(kind)
}

fn too_many() -> DecodeError {
    DecodeError::TooLarge(format!("the response has more than {MOST} items or parts of one"))
}
