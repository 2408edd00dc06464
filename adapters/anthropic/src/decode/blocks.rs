//! The content blocks of one answer while they stream.
//!
//! A block is known by its `index`. It is whole with its `content_block_stop`, or, where a server
//! leaves that out, with the end of the message. A call is given out only when it is whole. One
//! whose arguments are empty or broken may have been cut off by what ends the message, so it is
//! held back until another block begins or the reason is known.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;
use serde_json::value::RawValue;
use windlass_core::{Opaque, StreamEvent};
use windlass_kit_http::DecodeError;
use windlass_kit_http::json::{BorrowedText, is_json, non_empty};

use super::wire::{WireBlock, WireDelta};
use crate::DIALECT;

/// The most blocks of one answer.
const MOST_BLOCKS: u32 = 4_096;

/// The blocks of one answer.
#[derive(Debug)]
pub(super) struct ContentBlocks {
    endpoint: String,
    model: String,
    /// By index: the latest of that index.
    list: BTreeMap<u64, Block>,
    /// The index of the block that began last.
    latest: u64,
    count: u32,
    /// Events that wait until they are certain, each with true if it is certain by itself.
    held: VecDeque<(StreamEvent, bool)>,
}

#[derive(Debug)]
struct Block {
    slot: u32,
    kind: BlockKind,
    open: bool,
    /// True once anything followed its start.
    grown: bool,
}

#[derive(Debug)]
enum BlockKind {
    Text,
    Thinking {
        text: String,
        signature: String,
    },
    Redacted {
        data: String,
    },
    Call(CallBlock),
    /// A server's own affair: calls that it runs itself, their results, what is not known here.
    Other,
}

#[derive(Debug)]
struct CallBlock {
    id: String,
    name: String,
    arguments: String,
    /// The arguments in the block's start, which count where none stream.
    input: Option<String>,
}

/// A thinking block as it goes back.
#[derive(Serialize)]
struct ThinkingBlock<'a> {
    r#type: &'static str,
    thinking: &'a str,
    signature: &'a str,
}

/// The same of one that only the provider can read.
#[derive(Serialize)]
struct RedactedBlock<'a> {
    r#type: &'static str,
    data: &'a str,
}

impl ContentBlocks {
    /// Marks opaque items as made by `model` at `endpoint`.
    pub(super) fn new(endpoint: &str, model: &str) -> Self {
        Self {
            endpoint: endpoint.to_owned(),
            model: model.to_owned(),
            list: BTreeMap::new(),
            latest: 0,
            count: 0,
            held: VecDeque::new(),
        }
    }

    /// Returns true if no block has started.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Opens a block of the answer.
    pub(super) fn start(
        &mut self,
        index: Option<u64>,
        block: WireBlock<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        let kind = kind(&block)?;
        let index = index.unwrap_or_else(|| match self.count {
            0 => 0,
            _ => self.latest.saturating_add(1),
        });
        if let Some(known) = self.list.get(&index).filter(|known| known.open) {
            if known.repeats(&kind) {
                return Ok(());
            }
            self.end(index, false, out)?;
        }
        // A block that another one follows was not cut off.
        self.release(false, out);
        let slot = self.open(index, kind)?;
        match self.list.get(&index).map(|block| &block.kind) {
            Some(BlockKind::Call(call)) => out.push(StreamEvent::CallOpened {
                slot,
                id: call.id.clone(),
                name: call.name.clone(),
            }),
            Some(BlockKind::Redacted { .. }) => {
                out.push(StreamEvent::Reasoning { slot, text: String::new() })
            }
            Some(BlockKind::Text | BlockKind::Thinking { .. } | BlockKind::Other) | None => {}
        }
        // Some servers put the beginning of a block into its start.
        let begun = WireDelta {
            text: block.text,
            thinking: block.thinking,
            signature: block.signature,
            ..WireDelta::default()
        };
        if let Some(block) = self.list.get_mut(&index) {
            match block.kind {
                BlockKind::Text => block.text(begun.text, out)?,
                BlockKind::Thinking { .. } => {
                    block.thinking(begun.thinking, out)?;
                    block.signature(begun.signature)?;
                }
                BlockKind::Redacted { .. } | BlockKind::Call(_) | BlockKind::Other => {}
            }
            block.grown = false;
        }
        Ok(())
    }

    /// Adds to a block. Answers whether that meant anything.
    pub(super) fn delta(
        &mut self,
        index: Option<u64>,
        delta: WireDelta<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<bool, DecodeError> {
        let index = index.unwrap_or(self.latest);
        let what = delta.kind.as_ref().map_or_else(
            || {
                if delta.partial_json.is_some() {
                    "input_json_delta"
                } else if delta.thinking.is_some() {
                    "thinking_delta"
                } else if delta.signature.is_some() {
                    "signature_delta"
                } else if delta.text.is_some() {
                    "text_delta"
                } else {
                    ""
                }
            },
            |kind| &*kind.0,
        );
        if !self.list.contains_key(&index) {
            match what {
                "text_delta" => self.open(index, BlockKind::Text)?,
                "thinking_delta" => self.open(index, BlockKind::thinking())?,
                "input_json_delta" if non_empty(delta.partial_json).is_some() => {
                    return Err(protocol("arguments of a call that was never opened"));
                }
                _ => return Ok(false),
            };
        }
        let Some(block) = self.list.get_mut(&index) else {
            return Ok(false);
        };
        if matches!(block.kind, BlockKind::Other) {
            return Ok(true);
        }
        match what {
            "text_delta" => block.text(delta.text, out)?,
            "thinking_delta" => block.thinking(delta.thinking, out)?,
            "signature_delta" => block.signature(delta.signature)?,
            "input_json_delta" => block.arguments(delta.partial_json, out)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Closes a block of the answer.
    pub(super) fn stop(
        &mut self,
        index: Option<u64>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        self.end(index.unwrap_or(self.latest), true, out)
    }

    /// Closes all blocks at the end of the message. `cut` says that the last one may be cut off:
    /// then a call counts only if its arguments are whole JSON. `asked` says that the model stopped
    /// to have its calls run: then one whose arguments never began takes none.
    pub(super) fn finish(
        &mut self,
        cut: bool,
        asked: bool,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        let mut open: Vec<(u32, u64)> = self
            .list
            .iter()
            .filter(|(_, block)| block.open)
            .map(|(index, block)| (block.slot, *index))
            .collect();
        open.sort_unstable();
        for (_, index) in open {
            let stopped = asked && self.is_bare_call(index);
            match self.end(index, stopped, out) {
                Ok(()) => {}
                Err(_) if cut => {}
                Err(fault) => return Err(fault),
            }
        }
        self.release(cut, out);
        Ok(())
    }

    fn is_bare_call(&self, index: u64) -> bool {
        self.list.get(&index).is_some_and(|block| {
            matches!(&block.kind, BlockKind::Call(call) if call.arguments.is_empty() && call.input.is_none())
        })
    }

    fn open(&mut self, index: u64, kind: BlockKind) -> Result<u32, DecodeError> {
        if self.count >= MOST_BLOCKS {
            return Err(DecodeError::TooLarge(format!(
                "the answer has more than {MOST_BLOCKS} parts"
            )));
        }
        let slot = self.count;
        self.count = self.count.saturating_add(1);
        self.latest = index;
        let block = Block { slot, kind, open: true, grown: false };
        self.list.insert(index, block);
        Ok(slot)
    }

    /// Ends a block: `stopped` by its own event, or by what came instead.
    fn end(
        &mut self,
        index: u64,
        stopped: bool,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        let Some(block) = self.list.get_mut(&index).filter(|block| block.open) else {
            return Ok(());
        };
        block.open = false;
        let slot = block.slot;
        let (payload, sure) = match &mut block.kind {
            BlockKind::Other => return Ok(()),
            BlockKind::Text => (None, true),
            BlockKind::Thinking { text, signature } => {
                let (thinking, signature) = (std::mem::take(text), std::mem::take(signature));
                let whole = stopped && !signature.is_empty();
                let block = ThinkingBlock {
                    r#type: "thinking",
                    thinking: &thinking,
                    signature: &signature,
                };
                (whole.then(|| serde_json::to_string(&block)), true)
            }
            BlockKind::Redacted { data } => {
                let data = std::mem::take(data);
                let block = RedactedBlock { r#type: "redacted_thinking", data: &data };
                (Some(serde_json::to_string(&block)), true)
            }
            BlockKind::Call(call) => {
                let arguments = std::mem::take(&mut call.arguments);
                let input = call.input.take().filter(|_| arguments.is_empty());
                if let Some(text) = input.clone() {
                    out.push(StreamEvent::CallArguments { slot, text });
                }
                let sure = is_json(&input.unwrap_or(arguments));
                if !stopped && !sure {
                    return Err(protocol("the answer goes on, or ends, inside of a call"));
                }
                (None, sure)
            }
        };
        let payload = payload
            .transpose()
            .map_err(|error| protocol(&format!("a block cannot be kept ({error})")))?;
        let opaque = payload.map(|payload| Opaque {
            provider: DIALECT.to_owned(),
            endpoint: self.endpoint.clone(),
            model: self.model.clone(),
            payload,
        });
        let done = StreamEvent::Done { slot, text: None, opaque };
        if sure && self.held.is_empty() {
            out.push(done);
        } else {
            self.held.push_back((done, sure));
        }
        Ok(())
    }

    /// Gives out what was held back: of an answer that was cut off, only what is sure by itself.
    fn release(&mut self, cut: bool, out: &mut Vec<StreamEvent>) {
        let held = self.held.drain(..).filter(|(_, sure)| *sure || !cut);
        out.extend(held.map(|(done, _)| done));
    }
}

impl BlockKind {
    fn thinking() -> Self {
        Self::Thinking { text: String::new(), signature: String::new() }
    }
}

impl Block {
    /// Returns true if a start only repeats this block's start.
    fn repeats(&self, kind: &BlockKind) -> bool {
        match (&self.kind, kind) {
            (BlockKind::Call(known), BlockKind::Call(call)) => {
                known.id == call.id
                    && known.name == call.name
                    && !(known.id.is_empty() && self.grown)
            }
            (BlockKind::Text, BlockKind::Text)
            | (BlockKind::Thinking { .. }, BlockKind::Thinking { .. })
            | (BlockKind::Other, BlockKind::Other) => !self.grown,
            (BlockKind::Redacted { data }, BlockKind::Redacted { data: other }) => data == other,
            (
                BlockKind::Text
                | BlockKind::Thinking { .. }
                | BlockKind::Redacted { .. }
                | BlockKind::Call(_)
                | BlockKind::Other,
                _,
            ) => false,
        }
    }

    fn text(
        &mut self,
        text: Option<BorrowedText<'_>>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        let Some(text) = non_empty(text) else {
            return Ok(());
        };
        match (&self.kind, self.open) {
            (BlockKind::Text, true) => {
                self.grown = true;
                out.push(StreamEvent::Text { slot: self.slot, text });
                Ok(())
            }
            _ => Err(self.misplaced("text")),
        }
    }

    fn thinking(
        &mut self,
        text: Option<BorrowedText<'_>>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        let Some(text) = non_empty(text) else {
            return Ok(());
        };
        match (&mut self.kind, self.open) {
            (BlockKind::Thinking { text: known, .. }, true) => {
                self.grown = true;
                known.push_str(&text);
                out.push(StreamEvent::Reasoning { slot: self.slot, text });
                Ok(())
            }
            _ => Err(self.misplaced("thinking")),
        }
    }

    fn signature(&mut self, text: Option<BorrowedText<'_>>) -> Result<(), DecodeError> {
        let Some(text) = non_empty(text) else {
            return Ok(());
        };
        match (&mut self.kind, self.open) {
            (BlockKind::Thinking { signature, .. }, true) => {
                self.grown = true;
                signature.push_str(&text);
                Ok(())
            }
            _ => Err(self.misplaced("a signature")),
        }
    }

    fn arguments(
        &mut self,
        text: Option<BorrowedText<'_>>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        let Some(text) = non_empty(text) else {
            return Ok(());
        };
        match (&mut self.kind, self.open) {
            (BlockKind::Call(call), true) => {
                self.grown = true;
                call.arguments.push_str(&text);
                out.push(StreamEvent::CallArguments { slot: self.slot, text });
                Ok(())
            }
            _ => Err(self.misplaced("arguments")),
        }
    }

    fn misplaced(&self, what: &str) -> DecodeError {
        let of = if self.open { "of another kind" } else { "that has ended" };
        protocol(&format!("{what} for a part of the answer {of}"))
    }
}

/// Returns the kind of block that a start opens.
fn kind(block: &WireBlock<'_>) -> Result<BlockKind, DecodeError> {
    let owned = |text: &Option<BorrowedText<'_>>| {
        let text = text.as_ref();
        text.map(|text| text.0.clone().into_owned()).unwrap_or_default()
    };
    let kind = block.kind.as_ref().map_or("", |kind| &kind.0);
    Ok(match kind {
        "text" => BlockKind::Text,
        "thinking" => BlockKind::thinking(),
        "redacted_thinking" => BlockKind::Redacted { data: owned(&block.data) },
        "tool_use" => {
            let name = owned(&block.name);
            if name.is_empty() {
                return Err(protocol("a call without the name of a tool"));
            }
            BlockKind::Call(CallBlock {
                id: owned(&block.id),
                name,
                arguments: String::new(),
                input: block.input.and_then(input),
            })
        }
        // Not sent back either: the calls and results of tools that the provider runs itself.
        other => {
            let kind = other.get(..64).unwrap_or(other);
            tracing::warn!(kind, "the answer has a block of a kind that is left out");
            BlockKind::Other
        }
    })
}

/// The arguments in a block's start: an empty object stands there where they are yet to come.
fn input(raw: &RawValue) -> Option<String> {
    match serde_json::from_str(raw.get()).ok()? {
        serde_json::Value::Object(fields) => (!fields.is_empty()).then(|| raw.get().to_owned()),
        serde_json::Value::String(text) => (!text.trim().is_empty()).then_some(text),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::Array(_) => None,
    }
}

fn protocol(what: &str) -> DecodeError {
    DecodeError::Protocol(format!("the stream is not as documented: {what}"))
}
