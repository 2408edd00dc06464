//! Calls, and what persons are asked about them, as interrupts.

use serde_json::json;
use windlass_engine::core::{CallId, CallItem, CallView};

use super::event::{AguiEvent, Interrupt, Metadata};
use super::time::iso_time;

/// Tells of a call that was made, from its beginning to its end.
pub(super) fn propose(id: CallId, call: &CallItem, parent: &str, out: &mut Vec<AguiEvent>) {
    let tool_call_id = id.to_string();
    out.push(AguiEvent::ToolCallStart {
        tool_call_id: tool_call_id.clone(),
        tool_call_name: call.name.clone(),
        parent_message_id: parent.to_owned(),
    });
    out.push(AguiEvent::ToolCallArgs {
        tool_call_id: tool_call_id.clone(),
        delta: call.arguments.clone(),
    });
    out.push(AguiEvent::ToolCallEnd { tool_call_id });
}

/// The question about a call that is open. Its id has the call, and the digest of what it would run
/// with: an answer is about nothing else.
pub(super) fn interrupt(call: &CallView) -> Option<Interrupt> {
    let question = call.question()?;
    let (id, tool, digest) = (call.id, &call.item.name, question.digest);
    Some(Interrupt {
        id: format!("{id}.{digest}"),
        reason: "tool_call",
        message: format!("May {tool} run?"),
        tool_call_id: id.to_string(),
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
        expires_at: question.deadline.map(iso_time),
        metadata: Metadata::from([("windlass", json!({"call": id, "digest": digest}))]),
    })
}
