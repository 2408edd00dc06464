//! Question to a hook: the JSON on its stdin. Pure.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use windlass_core::{HookAt, Mode, ObservationStatus, Permissions, SessionStart};
use windlass_ports::{HookCall, HookContext, HookSubject};

use crate::event::{AGENT_TYPE, Event};

/// A tool call as hooks are told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    /// Name of the tool.
    pub(crate) tool: String,
    /// Arguments of the call.
    pub(crate) input: Value,
}

/// The JSON of one question.
pub(crate) fn question(
    event: Event,
    call: &HookCall,
    told: Option<&Told>,
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
    for (name, value) in of_subject(event, &call.about, told) {
        put(name, value);
    }
    Value::Object(asked)
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

type Fields = Vec<(&'static str, Value)>;

fn of_point(event: Event, at: HookAt, context: &HookContext) -> Fields {
    match at {
        HookAt::SessionStart { start } => {
            let source = match start {
                SessionStart::Startup => "startup",
                SessionStart::Resume => "resume",
            };
            vec![("source", json!(source))]
        }
        HookAt::SessionEnd => vec![("reason", json!("other"))],
        HookAt::BeforeSample { sample } => vec![("sample", json!(sample))],
        HookAt::BeforeTool { call }
        | HookAt::AfterTool { call }
        | HookAt::PermissionRequest { call } => vec![("tool_use_id", json!(call.to_string()))],
        HookAt::AfterCompaction { .. } if event == Event::SessionStart => {
            vec![("source", json!("compact"))]
        }
        HookAt::BeforeCompaction { .. } => vec![
            ("trigger", json!("auto")),
            ("custom_instructions", json!("")),
        ],
        HookAt::AfterCompaction { .. } => vec![("trigger", json!("auto"))],
        HookAt::Stop { continued, .. } => vec![("stop_hook_active", json!(continued > 0))],
        HookAt::SubTurnStop { continued, .. } => {
            let mut fields = agent(context);
            fields.push(("stop_hook_active", json!(continued > 0)));
            fields.push(("agent_transcript_path", json!("")));
            fields
        }
        HookAt::SubTurnStart => agent(context),
        HookAt::PromptSubmitted { .. } | HookAt::AfterAnswer { .. } | HookAt::Interrupt => {
            Vec::new()
        }
    }
}

fn agent(context: &HookContext) -> Fields {
    vec![
        ("agent_id", json!(context.session.as_str())),
        ("agent_type", json!(AGENT_TYPE)),
    ]
}

fn of_subject(event: Event, about: &HookSubject, told: Option<&Told>) -> Fields {
    match about {
        HookSubject::Nothing | HookSubject::Compaction { .. } => Vec::new(),
        HookSubject::Prompt { text } => vec![("prompt", json!(&**text))],
        HookSubject::Answer { text, calls } => {
            let mut fields = vec![("last_assistant_message", json!(text))];
            if event == Event::PostAnswer {
                fields.push(("tool_calls", json!(calls)));
            }
            fields
        }
        HookSubject::Call { observation, .. } => {
            let Some(told) = told else {
                return Vec::new();
            };
            let mut fields = vec![
                ("tool_name", json!(told.tool)),
                ("tool_input", told.input.clone()),
            ];
            if let Some(observation) = observation.as_deref() {
                let aborted = observation.status == ObservationStatus::Aborted;
                if event == Event::PostToolUseFailure {
                    fields.push(("error", json!(observation.output)));
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
