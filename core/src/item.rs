//! Items: the finished parts of a model's answer.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::arguments_digest::Sha256;
use crate::citation::Citation;

/// One finished part of a model's answer, in the answer's order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Item {
    /// Text to the user.
    Text {
        /// Text for the user.
        text: Arc<str>,
        /// Sources that the provider names for the text.
        #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
        citations: Arc<[Citation]>,
        /// Opaque form of its citations, if the provider wants them back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Arc<Opaque>>,
    },
    /// A refusal of the model to answer.
    Refusal {
        /// Text of the refusal.
        text: Arc<str>,
    },
    /// Reasoning: readable text if the provider shows any, and its opaque form.
    Reasoning(Arc<ReasoningItem>),
    /// A request to run a tool.
    Call(Arc<CallItem>),
}

impl Item {
    /// Creates a text without sources.
    #[must_use]
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text { text: text.into(), citations: Arc::default(), opaque: None }
    }
}

/// Reasoning of the model, or a step that its provider took for it, such as a search of the web.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasoningItem {
    /// Readable part; may be empty.
    pub text: String,
    /// Opaque form that is sent back to the same provider unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
    /// Queries of the step, if it searched the web.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<String>,
}

impl ReasoningItem {
    /// Most queries of one step.
    pub const MAX_SEARCHES: usize = 32;
    /// Most bytes of a query; longer ones are shortened.
    pub const MAX_SEARCH_BYTES: usize = 512;
}

/// A request to run a tool, as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallItem {
    /// The provider's id of the call. May be empty, and on many servers is not unique across
    /// samples.
    pub provider_id: String,
    /// Name of the tool, as the model wrote it.
    pub name: String,
    /// Arguments as JSON text, as the model wrote them. Empty arguments are written as `{}`.
    pub arguments: String,
    /// Fault of the arguments (invalid JSON, or a schema violation), if there is one.
    ///
    /// Found before the item is recorded, so a replay need not check again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Rules of the settings that the call matches, by index. Found together with `fault`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<u32>,
    /// Rules that deny and that the call may match or not, by index: what it does has no certain
    /// reading. A person decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub possible_rules: Vec<u32>,
    /// True if the arguments ask to run outside of the sandbox: a person must approve the call. Found
    /// together with `fault`.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub outside_sandbox: bool,
    /// SHA-256 of the arguments. Computed together with `fault`; none in logs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
    /// Opaque form that is sent back to the same provider unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
    /// True if the call is inline in the answer's text, as a program may be. The conversation then
    /// shows no call, and its observation as context.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub inline: bool,
}

/// A provider's own form of an item, with its provenance.
///
/// It is sent back only to the provider, endpoint and model that produced it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opaque {
    /// Dialect of the payload, for example `openai-responses`.
    pub provider: String,
    /// Endpoint that it came from.
    pub endpoint: String,
    /// Model that produced it.
    pub model: String,
    /// Payload as JSON text.
    pub payload: String,
}

/// Stop reason of the model, in common terms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model finished, or requests its calls: the items tell which.
    Stop,
    /// The output token limit truncated the answer.
    Length,
    /// A content filter truncated the answer.
    ContentFilter,
    /// The provider paused and expects to be asked again.
    Unfinished,
    /// Another reason, as the provider names it.
    Other(String),
}
