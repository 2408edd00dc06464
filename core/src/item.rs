//! Items: what a model's answer consists of, once finished.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// One finished part of a model's answer, in the order of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Item {
    /// Text to the user.
    Text {
        /// Text for the user.
        text: Arc<str>,
    },
    /// A refusal: the model declines and says so.
    Refusal {
        /// Text of the refusal.
        text: Arc<str>,
    },
    /// Reasoning: readable text where the provider shows any, and its opaque form.
    Reasoning(Arc<ReasoningItem>),
    /// A request to run a tool.
    Call(Arc<CallItem>),
}

/// Reasoning of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasoningItem {
    /// The readable part; may be empty.
    pub text: String,
    /// Opaque form that is sent back to the same provider unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
}

/// A request to run a tool, as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallItem {
    /// The provider's id of the call; not unique across samples on many servers, may be empty.
    pub provider_id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments: JSON text as the model wrote it. Empty arguments are written as `{}`.
    pub arguments: String,
    /// Fault of the arguments (invalid JSON, or a schema violation), if there is one.
    ///
    /// Found before the item becomes a fact, so that it never has to be found again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The rules of the settings that the call meets, by their place there, from 0. Found where
    /// `fault` is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<u32>,
    /// Opaque form that is sent back to the same provider unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
    /// True if it stood in the text of the answer, as a program may: the conversation shows no call
    /// then, and its observation as context.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub inline: bool,
}

/// A provider's own form of an item, with its provenance.
///
/// It goes back only to the provider, endpoint and model that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opaque {
    /// The dialect that reads it, for example `openai-responses`.
    pub provider: String,
    /// The endpoint it came from.
    pub endpoint: String,
    /// The model that made it.
    pub model: String,
    /// The item itself: JSON text.
    pub payload: String,
}

/// Stop reason of the model, in common terms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had finished, or wants its calls run: the items say which.
    Stop,
    /// The output token limit cut the answer off.
    Length,
    /// A content filter cut the answer off.
    ContentFilter,
    /// The provider paused and expects to be asked again.
    Unfinished,
    /// Another reason, in the provider's words.
    Other(String),
}
