//! Request records: how an adapter sent a request. Recorded with the end of the sample.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::failure::FailureKind;

/// Record of a request that was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestRecord {
    /// Adapter that sent it, for example `anthropic`. With a fallback or a router it differs from
    /// that of the settings.
    pub provider: String,
    /// Requested model.
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

/// Transport of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestRoute {
    /// The whole request over HTTP.
    #[default]
    Http,
    /// The whole request over a WebSocket.
    Socket,
    /// Only the new part, over a WebSocket whose server remembers the rest.
    SocketDelta,
}

impl RequestRoute {
    fn is_http(&self) -> bool {
        *self == Self::Http
    }
}

/// Parts of a conversation that a provider receives in another form.
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

/// Parts that some providers do not accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoweredPart {
    /// Reasoning in a provider's own form.
    Reasoning,
    /// An image of the user.
    Image,
    /// A refusal of the model.
    Refusal,
    /// Id of a call.
    CallId,
    /// Name of a tool that the model invented.
    ToolName,
    /// Arguments of a call that are no JSON object.
    Arguments,
    /// Opaque form of a call.
    CallOpaque,
    /// Context that no user wrote.
    Context,
}

/// Treatment of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoweringAction {
    /// The part was omitted.
    Dropped,
    /// The part was sent in a lesser form: text in place of an image, another spelling of an id.
    Downgraded,
}

/// Reason for lowering a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoweringReason {
    /// The part belongs to another provider, endpoint or model.
    Foreign,
    /// The protocol or the model does not support it.
    Unsupported,
    /// The part is not valid there: too long, other characters, or empty.
    Invalid,
    /// The bytes of the part are not available.
    Missing,
}

/// A failed attempt at a sample, as input for the choice of the next provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedAttempt {
    /// Class of the failure.
    pub kind: FailureKind,
    /// Adapter that was asked, if recorded.
    pub provider: Option<String>,
    /// Requested model, if recorded.
    pub model: Option<String>,
}
