//! Calls, and their approvals as AG-UI interrupts.

use serde_json::json;
use windlass_engine::core::{CallId, CallItem, CallView};
use windlass_engine::ports::{outside_lines, question_lines};

use super::event::{AguiEvent, Interrupt, Metadata};
use super::time::iso_time;

/// Returns the events of a call, from its start to its end.
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

/// Returns the interrupt for an open approval of a call. Its id contains the call and the digest of
/// its arguments, so an answer applies to nothing else.
pub(super) fn interrupt(call: &CallView) -> Option<Interrupt> {
    let question = call.question()?;
    let (id, tool, digest) = (call.id, &call.item.name, question.digest);
    let mut view = if call.is_outside_sandbox() { outside_lines(None) } else { Vec::new() };
    view.extend(question_lines(call.arguments()));
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
                "remember": {"enum": ["session", "always"]},
            },
            "required": ["approved"],
            "additionalProperties": false,
        }),
        expires_at: question.deadline.map(iso_time),
        metadata: Metadata::from([(
            "windlass",
            json!({"call": id, "digest": digest, "view": view}),
        )]),
    })
}
