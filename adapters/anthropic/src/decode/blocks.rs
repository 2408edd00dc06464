//! The content blocks of one answer while they stream.
//!
//! A block is known by its `index`. It is whole with its `content_block_stop`, or, where a server
//! leaves that out, with the end of the message. A call is given out only when it is whole. One
//! whose arguments are empty or broken may have been cut off by what ends the message, so it is
//! held back until another block begins or the reason is known.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;
use windlass_core::{Opaque, StreamEvent};
use windlass_kit_http::DecodeError;
use windlass_kit_http::json::{is_json, non_empty};

use super::block::{Block, BlockKind, kind, protocol};
use super::hosted::{BlockCitations, SentBlock};
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
        sent: SentBlock<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        let kind = kind(&block, sent)?;
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
            Some(
                BlockKind::Redacted { .. } | BlockKind::Hosted(_) | BlockKind::HostedResult(_),
            ) => out.push(StreamEvent::Reasoning { slot, text: String::new() }),
            Some(BlockKind::Text(_) | BlockKind::Thinking { .. } | BlockKind::Other) | None => {}
        }
        let citations = block.citations;
        // Some servers put the beginning of a block into its start.
        let begun = WireDelta {
            text: block.text,
            thinking: block.thinking,
            signature: block.signature,
            ..WireDelta::default()
        };
        if let Some(block) = self.list.get_mut(&index) {
            let slot = block.slot;
            match &mut block.kind {
                BlockKind::Text(cited) => {
                    if let Some(list) = citations {
                        cited.extend(slot, list, out);
                    }
                    block.text(begun.text, out)?;
                }
                BlockKind::Thinking { .. } => {
                    block.thinking(begun.thinking, out)?;
                    block.signature(begun.signature)?;
                }
                BlockKind::Redacted { .. }
                | BlockKind::Call(_)
                | BlockKind::Hosted(_)
                | BlockKind::HostedResult(_)
                | BlockKind::Other => {}
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
                } else if delta.citation.is_some() {
                    "citations_delta"
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
                "text_delta" => self.open(index, BlockKind::Text(BlockCitations::default()))?,
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
            "citations_delta" => return Ok(block.cite(delta.citation, out)),
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
            BlockKind::Text(cited) => (cited.finish().map(Ok), true),
            BlockKind::Hosted(call) => {
                // One that was cut off, or is broken, is not kept.
                let Some((payload, query)) = call.finish().filter(|_| stopped) else {
                    return Ok(());
                };
                out.extend(query.map(|query| StreamEvent::Search { slot, query }));
                (Some(Ok(payload)), true)
            }
            BlockKind::HostedResult(payload) => (Some(Ok(std::mem::take(payload))), true),
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
