//! Questions: what persons are asked about calls, as interrupts.

use serde_json::json;
use windlass::core::{CallId, Digest, Timestamp};

use super::event::{Interrupt, Metadata};
use super::moment::moment;

/// A call that has no observation.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: String,
    /// The question about it that is open.
    pub(super) asked: Option<Question>,
}

/// A question about a call.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) digest: Digest,
    pub(super) deadline: Option<Timestamp>,
}

impl Call {
    /// The question about it that is open. Its id has the call, and the digest of what it would run
    /// with: an answer is about nothing else.
    pub(super) fn interrupt(&self, call: CallId) -> Option<Interrupt> {
        let question = self.asked.as_ref()?;
        let (tool, digest) = (&self.name, question.digest);
        Some(Interrupt {
            id: format!("{call}.{digest}"),
            reason: "tool_call",
            message: format!("May {tool} run?"),
            tool_call_id: call.to_string(),
            response_schema: json!({
                "type": "object",
                "properties": {
                    "approved": {"type": "boolean"},
                    "reason": {"type": "string"},
                    "arguments": {"type": "object"},
                },
                "required": ["approved"],
                "additionalProperties": false,
            }),
            expires_at: question.deadline.map(moment),
            metadata: Metadata::from([("windlass", json!({"call": call, "digest": digest}))]),
        })
    }
}
