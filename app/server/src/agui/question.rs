//! Questions: what persons are asked about calls, as interrupts.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_engine::core::{CallId, CallItem, Digest, Seq, Timestamp};

use super::event::{Agui, Interrupt, Metadata};
use super::moment::moment;

/// A call that has no observation.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: String,
    /// The question about it that is open.
    pub(super) asked: Option<Question>,
    /// The program that makes it, if one does.
    program: Option<CallId>,
    /// The message that it belongs to.
    pub(super) parent: String,
}

/// A question about a call.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) digest: Digest,
    pub(super) deadline: Option<Timestamp>,
}

/// Whether nothing but persons is waited for: a program that waits for its calls does nothing.
pub(super) fn wait(calls: &BTreeMap<CallId, Call>) -> bool {
    let waits = |(id, call): (&CallId, &Call)| {
        call.asked.is_some() || calls.values().any(|other| other.program == Some(*id))
    };
    !calls.is_empty() && calls.iter().all(waits)
}

impl Call {
    /// Tells of a call that was made, from its beginning to its end.
    pub(super) fn told(
        seq: Seq,
        call: &CallItem,
        parent: String,
        program: Option<CallId>,
        out: &mut Vec<Agui>,
    ) -> Self {
        let tool_call_id = seq.to_string();
        out.push(Agui::ToolCallStart {
            tool_call_id: tool_call_id.clone(),
            tool_call_name: call.name.clone(),
            parent_message_id: parent.clone(),
        });
        out.push(Agui::ToolCallArgs {
            tool_call_id: tool_call_id.clone(),
            delta: call.arguments.clone(),
        });
        out.push(Agui::ToolCallEnd { tool_call_id });
        Self {
            name: call.name.clone(),
            asked: None,
            program,
            parent,
        }
    }

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
