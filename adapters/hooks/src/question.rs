//! Question to a hook: the JSON on its stdin, and that in its environment. Pure.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use windlass_core::{
    HookOccurrence, Mode, ObservationStatus, Permissions, SessionStart, result_text,
};
use windlass_ports::{HookCall, HookContext, HookSubject, TurnCallStatus};

use crate::event::{AGENT_TYPE, HookEvent, MatcherFilter};

/// A tool call as hooks are told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HookToolCall {
    /// Name of the tool.
    pub(crate) tool: String,
    /// Arguments of the call.
    pub(crate) input: Value,
}

/// The JSON of one question.
pub(crate) fn question(
    event: HookEvent,
    call: &HookCall,
    told: Option<&HookToolCall>,
    context: &HookContext,
    folder: &Path,
) -> Value {
    let mut asked = Map::new();
    let mut put = |name: &str, value: Value| {
        asked.insert(name.to_owned(), value);
    };
    put("hook_event_name", json!(event.name()));
    put("session_id", json!(context.session.as_str()));
    // The log is no file; scripts take an empty path for one that is not there.
    put("transcript_path", json!(""));
    put("cwd", json!(folder.to_string_lossy()));
    put("permission_mode", json!(permission_mode(context)));
    put("model", json!(context.model));
    put("scope", json!(*context.scope));
    if let Some(turn) = context.turn {
        put("turn_id", json!(turn.to_string()));
    }
    if let Some(goal) = &context.goal {
        put("goal", json!(&*goal.text));
    }
    for (name, value) in of_point(event, call.at, context) {
        put(name, value);
    }
    for (name, value) in of_subject(event, &call.subject, told) {
        put(name, value);
    }
    Value::Object(asked)
}

/// Most bytes of the earlier calls. Linux takes 128 KiB for one variable.
const CALLS_BYTES: usize = 96 * 1024;

/// The earlier calls of the turn, the latest that fit, as JSON.
///
/// Many scripts search their whole stdin for a command. With the earlier calls in it they would deny
/// every later call for one that they denied before.
pub(crate) fn earlier_calls(calls: &[Value], mut cut: bool) -> String {
    let mut room = CALLS_BYTES;
    let mut listed: Vec<&Value> = Vec::new();
    for call in calls.iter().rev() {
        let Some(rest) = room.checked_sub(call.to_string().len().saturating_add(1)) else {
            cut = true;
            break;
        };
        room = rest;
        listed.push(call);
    }
    listed.reverse();
    json!({ "calls": listed, "cut": cut }).to_string()
}

/// An earlier call of the turn.
pub(crate) fn earlier_call(call: HookToolCall, status: TurnCallStatus) -> Value {
    let status = match status {
        TurnCallStatus::Proposed => json!("proposed"),
        TurnCallStatus::AwaitingApproval => json!("awaiting_approval"),
        TurnCallStatus::Allowed => json!("allowed"),
        TurnCallStatus::Denied => json!("denied"),
        TurnCallStatus::Running => json!("running"),
        TurnCallStatus::Ended(status) => json!(status),
    };
    json!({ "tool_name": call.tool, "tool_input": call.input, "status": status })
}

/// The folder that hooks are told of and run in, as a whole path.
pub(crate) fn folder(context: &HookContext) -> PathBuf {
    let named = Path::new(context.workspace.as_deref().unwrap_or("."));
    std::path::absolute(named).unwrap_or_else(|_| named.to_path_buf())
}

fn permission_mode(context: &HookContext) -> &'static str {
    match (context.mode, context.permissions) {
        (Mode::Plan, _) => "plan",
        (Mode::Build, Permissions::Auto) => "bypassPermissions",
        (Mode::Build, Permissions::Ask) => "default",
        (Mode::Build, Permissions::ReadOnly) => "dontAsk",
    }
}

type JsonFields = Vec<(&'static str, Value)>;

/// The fields of an event, as far as they are not those of its subject. A hook of the session's start
/// is also asked after a compaction.
fn of_point(event: HookEvent, at: HookOccurrence, context: &HookContext) -> JsonFields {
    let mut fields = match event.filter() {
        MatcherFilter::Start => {
            let source = at.start().map_or("compact", SessionStart::as_str);
            vec![("source", json!(source))]
        }
        MatcherFilter::Tool => {
            let call = at.call().map(|call| ("tool_use_id", json!(call.to_string())));
            call.into_iter().collect()
        }
        MatcherFilter::Trigger => vec![("trigger", json!("auto"))],
        MatcherFilter::Word(AGENT_TYPE) => agent(context),
        MatcherFilter::Word(reason) => vec![("reason", json!(reason))],
        MatcherFilter::Nothing => Vec::new(),
    };
    if let HookOccurrence::BeforeSample { sample } = at {
        fields.push(("sample", json!(sample)));
    }
    if let Some(times) = at.continued() {
        fields.push(("stop_hook_active", json!(times > 0)));
    }
    if event == HookEvent::PreCompact {
        fields.push(("custom_instructions", json!("")));
    }
    if event == HookEvent::SubagentStop {
        fields.push(("agent_transcript_path", json!("")));
    }
    fields
}

fn agent(context: &HookContext) -> JsonFields {
    vec![("agent_id", json!(context.session.as_str())), ("agent_type", json!(AGENT_TYPE))]
}

fn of_subject(event: HookEvent, about: &HookSubject, told: Option<&HookToolCall>) -> JsonFields {
    match about {
        HookSubject::Nothing | HookSubject::Compaction { .. } => Vec::new(),
        HookSubject::Prompt { text } => vec![("prompt", json!(&**text))],
        HookSubject::Answer { text, calls } => {
            let mut fields = vec![("last_assistant_message", json!(text))];
            if event == HookEvent::PostAnswer {
                fields.push(("tool_calls", json!(calls)));
            }
            fields
        }
        HookSubject::Call { observation, .. } => {
            let Some(told) = told else {
                return Vec::new();
            };
            let mut fields =
                vec![("tool_name", json!(told.tool)), ("tool_input", told.input.clone())];
            if let Some(observation) = observation.as_deref() {
                let aborted = observation.status == ObservationStatus::Aborted;
                if event == HookEvent::PostToolUseFailure {
                    fields.push(("error", json!(result_text(observation, None))));
                    fields.push(("is_interrupt", json!(aborted)));
                } else {
                    let mut response = json!({
                        "success": observation.status == ObservationStatus::Done,
                        "status": observation.status,
                        "output": observation.output,
                        "stdout": observation.output,
                        "stderr": "",
                        "interrupted": aborted,
                    });
                    if let Some(path) = told.input.get("file_path") {
                        response["filePath"] = path.clone();
                    }
                    fields.push(("tool_response", response));
                }
            }
            fields
        }
        HookSubject::Ending { outcome } => vec![("outcome", json!(outcome))],
    }
}
