//! Asked: how a request went out, as its adapter tells it. It is recorded where the sample ends.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::failure::FailureKind;

/// Record of a request that was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestRecord {
    /// The adapter that sent it, for example `anthropic`: behind a fallback or a router it is not
    /// the one of the settings.
    pub provider: String,
    /// The model that was asked for.
    pub model: String,
    /// Endpoint of the request, without key and query.
    pub endpoint: String,
    /// Route of the request.
    #[serde(default, skip_serializing_if = "RequestRoute::is_http")]
    pub route: RequestRoute,
    /// Reason for not using a better route, if there was one. Bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_reason: Option<String>,
    /// Length of its body in bytes.
    #[serde(default)]
    pub bytes: u64,
    /// Number of its first bytes that equal the session's previous request.
    #[serde(default)]
    pub shared_prefix_bytes: u64,
    /// Lowered parts of the conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lowered: Vec<LoweringRecord>,
}

/// The way by which a request went out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestRoute {
    /// Sent completely, over HTTP.
    #[default]
    Http,
    /// Whole, over a WebSocket.
    Socket,
    /// Only what is new, over a WebSocket whose server knows the rest.
    SocketDelta,
}

impl RequestRoute {
    fn is_http(&self) -> bool {
        *self == Self::Http
    }
}

/// Parts of a conversation that a provider is not shown as they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoweringRecord {
    /// Kind of the parts.
    pub part: LoweredPart,
    /// Treatment of the parts.
    pub action: LoweringAction,
    /// Reason for the treatment.
    pub reason: LoweringReason,
    /// Number of parts.
    pub count: u32,
}

/// Parts that not every provider takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoweredPart {
    /// Reasoning in a provider's own form.
    Reasoning,
    /// An image of the user.
    Image,
    /// A refusal of the model.
    Refusal,
    /// The id of a call.
    CallId,
    /// The name of a tool that a model made up.
    ToolName,
    /// The arguments of a call that are no JSON object.
    Arguments,
    /// The opaque part of a call.
    CallOpaque,
    /// Words that nobody said.
    Context,
}

/// Treatment of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoweringAction {
    /// It was left out.
    Dropped,
    /// It was sent in a lesser form: words in place of an image, another spelling of an id.
    Downgraded,
}

/// Reason for lowering a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoweringReason {
    /// It belongs to another provider, another of its endpoints, or another model.
    Foreign,
    /// The protocol, or the model, has no place for it.
    Unsupported,
    /// It cannot stand as it is: too long, other characters, empty.
    Invalid,
    /// Its bytes are not kept any more, or not here.
    Missing,
}

/// An attempt at a sample that failed, as those who choose where the next one goes see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedAttempt {
    /// Class of the failure.
    pub kind: FailureKind,
    /// The adapter that was asked, where that is recorded.
    pub provider: Option<String>,
    /// The model that was asked for, where that is recorded.
    pub model: Option<String>,
}
