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
    /// Model that the server reported, if it has another name than the requested one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_model: Option<String>,
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

impl RequestRecord {
    /// Records the name of the model that the server reports; the latest one counts.
    pub fn report_model(&mut self, name: &str) {
        let other = name != self.model && !name.is_empty();
        self.reported_model = other.then(|| String::from(name));
    }

    /// Returns the reported model if it is another one than requested, and not a version of it: the
    /// same name with a date, a number or `latest` behind it, or without the vendor before it.
    #[must_use]
    pub fn other_model(&self) -> Option<&str> {
        let reported = self.reported_model.as_deref()?;
        let (asked, answered) = (base_name(&self.model), base_name(reported));
        (asked != answered).then_some(reported)
    }
}

/// Returns the name of a model without its vendor and its version.
fn base_name(name: &str) -> &str {
    let name = name.rsplit('/').next().unwrap_or(name);
    let is_version = |part: &str| {
        part == "latest" || (part.len() > 2 && part.chars().all(|sign| sign.is_ascii_digit()))
    };
    let mut base = name;
    while let Some(at) = base.rfind(['-', '@', ':']) {
        let (before, version) = base.split_at(at);
        let dated = version.len() == 3 && version.chars().skip(1).all(|sign| sign.is_ascii_digit());
        let versioned = is_version(version.get(1..).unwrap_or_default());
        if !(versioned || (dated && ends_dated(before))) {
            break;
        }
        base = before;
    }
    base
}

/// Returns true if a name ends with the year of a date, or with its year and month.
fn ends_dated(name: &str) -> bool {
    let parts = name.rsplit('-').take(2);
    parts.into_iter().any(|part| part.len() == 4 && part.chars().all(|sign| sign.is_ascii_digit()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_of_a_model_is_no_other_model() {
        for (asked, answers, other) in [
            ("gpt-5", "gpt-5", false),
            ("gpt-5", "gpt-5-2025-08-07", false),
            ("gpt-5", "gpt-5-mini-2025-08-07", true),
            ("gpt-4o", "gpt-4o-mini", true),
            ("gpt-4", "gpt-4-0613", false),
            ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", false),
            ("claude-sonnet-4-5", "claude-sonnet-4-20250514", true),
            ("claude-3-5-haiku-latest", "claude-3-5-haiku-20241022", false),
            ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5", false),
            ("llama3:latest", "llama3", false),
            ("a", "", false),
        ] {
            let mut record = RequestRecord { model: asked.into(), ..RequestRecord::default() };
            record.report_model(answers);
            assert_eq!(record.other_model(), other.then_some(answers), "{asked} and {answers}");
        }
    }
}
