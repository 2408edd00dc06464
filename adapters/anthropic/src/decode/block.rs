//! One content block while it streams: its kind, and what may be added to it.

use serde_json::value::RawValue;
use windlass_core::StreamEvent;
use windlass_kit_http::DecodeError;
use windlass_kit_http::json::{BorrowedText, non_empty};

use super::hosted::{BlockCitations, HostedCall, SentBlock};
use super::wire::WireBlock;

#[derive(Debug)]
pub(super) struct Block {
    pub(super) slot: u32,
    pub(super) kind: BlockKind,
    pub(super) open: bool,
    /// True once anything followed its start.
    pub(super) grown: bool,
}

#[derive(Debug)]
pub(super) enum BlockKind {
    Text(BlockCitations),
    Thinking {
        text: String,
        signature: String,
    },
    Redacted {
        data: String,
    },
    Call(CallBlock),
    /// A call that the server runs.
    Hosted(HostedCall),
    /// The results of one, complete in the block's start.
    HostedResult(String),
    /// What is not known here.
    Other,
}

#[derive(Debug)]
pub(super) struct CallBlock {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
    /// The arguments in the block's start, which count where none stream.
    pub(super) input: Option<String>,
}

impl BlockKind {
    pub(super) fn thinking() -> Self {
        Self::Thinking { text: String::new(), signature: String::new() }
    }
}

impl Block {
    /// Returns true if a start only repeats this block's start.
    pub(super) fn repeats(&self, kind: &BlockKind) -> bool {
        match (&self.kind, kind) {
            (BlockKind::Call(known), BlockKind::Call(call)) => {
                known.id == call.id
                    && known.name == call.name
                    && !(known.id.is_empty() && self.grown)
            }
            (BlockKind::Text(_), BlockKind::Text(_))
            | (BlockKind::Thinking { .. }, BlockKind::Thinking { .. })
            | (BlockKind::Other, BlockKind::Other) => !self.grown,
            (BlockKind::Redacted { data }, BlockKind::Redacted { data: other }) => data == other,
            (BlockKind::HostedResult(known), BlockKind::HostedResult(other)) => known == other,
            (BlockKind::Hosted(known), BlockKind::Hosted(call)) => {
                known.id == call.id && !self.grown
            }
            (
                BlockKind::Text(_)
                | BlockKind::Thinking { .. }
                | BlockKind::Redacted { .. }
                | BlockKind::Call(_)
                | BlockKind::Hosted(_)
                | BlockKind::HostedResult(_)
                | BlockKind::Other,
                _,
            ) => false,
        }
    }

    pub(super) fn text(
        &mut self,
        text: Option<BorrowedText<'_>>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        let Some(text) = non_empty(text) else {
            return Ok(());
        };
        match (&self.kind, self.open) {
            (BlockKind::Text(_), true) => {
                self.grown = true;
                out.push(StreamEvent::Text { slot: self.slot, text });
                Ok(())
            }
            _ => Err(self.misplaced("text")),
        }
    }

    pub(super) fn thinking(
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

    pub(super) fn signature(&mut self, text: Option<BorrowedText<'_>>) -> Result<(), DecodeError> {
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

    pub(super) fn arguments(
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
            (BlockKind::Hosted(call), true) => {
                if !std::mem::replace(&mut self.grown, true) {
                    call.input.clear();
                }
                call.input.push_str(&text);
                Ok(())
            }
            _ => Err(self.misplaced("arguments")),
        }
    }

    /// Takes a source of a text. Answers whether that meant anything.
    pub(super) fn cite(&mut self, citation: Option<&RawValue>, out: &mut Vec<StreamEvent>) -> bool {
        let (BlockKind::Text(cited), Some(citation), true) = (&mut self.kind, citation, self.open)
        else {
            return false;
        };
        self.grown = true;
        cited.add(self.slot, citation, out);
        true
    }

    fn misplaced(&self, what: &str) -> DecodeError {
        let of = if self.open { "of another kind" } else { "that has ended" };
        protocol(&format!("{what} for a part of the answer {of}"))
    }
}

/// Returns the kind of block that a start opens.
pub(super) fn kind(block: &WireBlock<'_>, sent: SentBlock<'_>) -> Result<BlockKind, DecodeError> {
    let owned = |text: &Option<BorrowedText<'_>>| {
        let text = text.as_ref();
        text.map(|text| text.0.clone().into_owned()).unwrap_or_default()
    };
    let kind = block.kind.as_ref().map_or("", |kind| &kind.0);
    Ok(match kind {
        "text" => BlockKind::Text(BlockCitations::default()),
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
        "server_tool_use" => BlockKind::Hosted(HostedCall {
            id: owned(&block.id),
            name: owned(&block.name),
            input: block.input.and_then(input).unwrap_or_default(),
        }),
        "web_search_tool_result" => match sent.text() {
            Some(text) => BlockKind::HostedResult(text),
            None => BlockKind::Other,
        },
        // Not sent back either: the results of other tools that the provider runs itself.
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

pub(super) fn protocol(what: &str) -> DecodeError {
    DecodeError::Protocol(format!("the stream is not as documented: {what}"))
}
