//! The live plane: the events of a provider's stream. None of them can become a fact.

use alloc::string::String;

use crate::citation::{Citation, SpanUnit};
use crate::item::{Opaque, StopReason};
use crate::usage::Usage;

/// One decoded event of a provider's stream.
///
/// Decoders map their wire format onto these. `slot` numbers the parts of one answer in their
/// order; a decoder gives each part its own slot and never reuses one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// The provider named its response.
    Opened {
        /// The provider's id of the response, for support requests.
        response_id: Option<String>,
        /// Model that answers, as the provider names it.
        model: Option<String>,
    },
    /// Addition to text for the user.
    Text {
        /// Part of the answer.
        slot: u32,
        /// The text to append.
        text: String,
    },
    /// Addition to a refusal.
    Refusal {
        /// Part of the answer.
        slot: u32,
        /// The text to append.
        text: String,
    },
    /// Addition to readable reasoning.
    Reasoning {
        /// Part of the answer.
        slot: u32,
        /// The text to append.
        text: String,
    },
    /// A source of a text that has begun.
    Citation {
        /// Part of the answer.
        slot: u32,
        /// The source. The offsets of its span count `unit`.
        citation: Citation,
        /// Unit of the offsets.
        unit: SpanUnit,
    },
    /// The provider searches the web: its step is a part like reasoning.
    Search {
        /// Part of the answer.
        slot: u32,
        /// Query of the search.
        query: String,
    },
    /// A call began; its id and name are known.
    CallOpened {
        /// Part of the answer.
        slot: u32,
        /// The provider's id; may be empty.
        id: String,
        /// Name of the tool.
        name: String,
    },
    /// Addition to the argument text of a call.
    CallArguments {
        /// Part of the answer.
        slot: u32,
        /// The JSON text to append.
        text: String,
    },
    /// A part is complete. `text`, if present, is authoritative and replaces the streamed text.
    Done {
        /// Part of the answer.
        slot: u32,
        /// Complete text, or complete arguments of a call.
        text: Option<String>,
        /// The provider's own form, sent back unchanged.
        opaque: Option<Opaque>,
    },
    /// Token usage so far; the last one counts.
    Usage(Usage),
    /// The answer is complete. Parts that are not done are discarded.
    Finished {
        /// Stop reason of the model.
        reason: StopReason,
    },
}

/// One live delta for subscribers: streamed text, or a tool's progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Text to the user.
    Text {
        /// Part of the answer.
        slot: u32,
        /// The text to append.
        text: String,
    },
    /// Addition to a refusal.
    Refusal {
        /// Part of the answer.
        slot: u32,
        /// The text to append.
        text: String,
    },
    /// Addition to readable reasoning.
    Reasoning {
        /// Part of the answer.
        slot: u32,
        /// The text to append.
        text: String,
    },
    /// A call began to stream.
    Call {
        /// Part of the answer.
        slot: u32,
        /// Name of the tool.
        name: String,
    },
    /// Argument text of a call.
    Arguments {
        /// Part of the answer.
        slot: u32,
        /// The JSON text to append.
        text: String,
    },
}
