//! The live plane: what a provider streams. None of this can become a fact.

use alloc::string::String;

use crate::item::{Opaque, StopReason};
use crate::usage::Usage;

/// One decoded event of a provider's stream.
///
/// Decoders map their wire onto these. `slot` numbers the parts of one answer in the order in
/// which they should stand; a decoder gives each part its own slot and never reuses one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// The provider named its response.
    Opened {
        /// The provider's id of the response, for support requests.
        response_id: Option<String>,
        /// The model that answers, as the provider names it.
        model: Option<String>,
    },
    /// More text for the user.
    Text {
        /// Part of the answer.
        slot: u32,
        /// The text to append.
        text: String,
    },
    /// More of a refusal.
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
    /// A call began; its id and name are known.
    CallOpened {
        /// Part of the answer.
        slot: u32,
        /// The provider's id; may be empty.
        id: String,
        /// Name of the tool.
        name: String,
    },
    /// More argument text of a call.
    CallArguments {
        /// Part of the answer.
        slot: u32,
        /// The JSON text to append.
        text: String,
    },
    /// A part is whole. `text`, where given, is authoritative and replaces what was streamed.
    Done {
        /// Part of the answer.
        slot: u32,
        /// The whole text, or the whole arguments of a call.
        text: Option<String>,
        /// The provider's own form, to be sent back unchanged.
        opaque: Option<Opaque>,
    },
    /// Token usage so far; the last one counts.
    Usage(Usage),
    /// The answer is whole. Parts that are not done by now are not part of it.
    Finished {
        /// Stop reason of the model.
        reason: StopReason,
    },
}

/// One live delta for those who watch: text as it streams, progress of a tool.
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
