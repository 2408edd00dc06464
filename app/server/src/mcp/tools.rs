//! Tools: names, arguments and schemas of what a client may call.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use windlass_engine::core::EffectClass;

use crate::api::Decision;
use crate::client_tools::ClientTool;
use crate::problem::{Problem, ProblemCode};

/// Name of the tool by which a model asks a person.
pub(super) const ASK_USER: &str = "ask_user";
/// Time for an answer to a question of the model, in milliseconds: a day.
const ANSWER_MS: u64 = 24 * 60 * 60 * 1000;
/// Longest wait of a call, in seconds.
const MAX_WAIT_S: u64 = 24 * 60 * 60;

/// Arguments of `run`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunArguments {
    pub(super) prompt: String,
    pub(super) session: Option<String>,
    pub(super) idempotency_key: Option<String>,
    pub(super) wait_seconds: Option<u64>,
}

/// Arguments of `resume`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResumeArguments {
    pub(super) session: String,
    pub(super) wait_seconds: Option<u64>,
}

/// Arguments of `status`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatusArguments {
    pub(super) session: String,
    pub(super) turn: Option<u64>,
    pub(super) wait_seconds: Option<u64>,
}

/// Arguments of `answer`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerArguments {
    pub(super) session: String,
    pub(super) question: String,
    pub(super) decision: Option<Decision>,
    pub(super) reason: Option<String>,
    pub(super) text: Option<String>,
    pub(super) wait_seconds: Option<u64>,
}

/// Reads the arguments of a call.
pub(super) fn arguments<T: DeserializeOwned>(sent: Option<JsonObject>) -> Result<T, Problem> {
    let sent = Value::Object(sent.unwrap_or_default());
    serde_json::from_value(sent)
        .map_err(|error| Problem::new(ProblemCode::BadRequest, format!("the arguments: {error}")))
}

/// Returns the tools.
pub(super) fn all() -> Vec<Tool> {
    let session =
        json!({"type": "string", "description": "Id of the session, from an earlier result."});
    let wait = json!({"type": "integer", "minimum": 0, "maximum": MAX_WAIT_S,
        "description": "Longest wait for the result. Default: until the turn ends or asks."});
    let changes = || ToolAnnotations::new().read_only(false).destructive(true).open_world(true);
    vec![
        tool(
            "run",
            "Gives an agent a task, and returns its answer. The agent works in a session: pass the \
             session of an earlier result to continue that conversation, or leave it out for a new \
             one. The work is durable: cancelling the call, or losing the connection, does not stop \
             it, and status shows it. If the agent asks for an approval or has a question, the \
             result says so, and answer continues the work. Progress notifications carry the text \
             as it is written.",
            json!({
                "prompt": {"type": "string", "minLength": 1, "description": "The task, in words."},
                "session": session,
                "idempotency_key": {"type": "string", "pattern": "^[ -~]{1,128}$",
                    "description": "Name of this task. A second call with the same key and the same \
                                    prompt does nothing twice: it returns what became of the first."},
                "wait_seconds": wait,
            }),
            &["prompt"],
            changes().idempotent(false),
        ),
        tool(
            "resume",
            "Continues the work of a session that stopped, for example since its process was killed \
             or its turn was interrupted, and returns the result as run does. A session at rest is \
             left as it is.",
            json!({"session": session, "wait_seconds": wait}),
            &["session"],
            changes().idempotent(true),
        ),
        tool(
            "status",
            "Reports how far a session is: the state of its turn, the answer, and the questions that \
             wait. Changes nothing.",
            json!({
                "session": session,
                "turn": {"type": "integer", "minimum": 1,
                    "description": "A turn of an earlier result. Default: the latest."},
                "wait_seconds": {"type": "integer", "minimum": 0, "maximum": MAX_WAIT_S,
                    "description": "Longest wait for the end of the turn or a question. Default 0."},
            }),
            &["session"],
            ToolAnnotations::new().read_only(true).open_world(false),
        ),
        tool(
            "answer",
            "Answers a question that a result shows under questions, and returns the result of the \
             work as run does. Ask your user before you allow a call. The first answer counts.",
            json!({
                "session": session,
                "question": {"type": "string", "description": "Id of the question."},
                "decision": {"enum": ["allow", "deny"], "description": "For an approval."},
                "reason": {"type": "string", "description": "Reason for a denial, which the agent is told."},
                "text": {"type": "string", "minLength": 1, "description": "For a question: one of its choices, or other words."},
                "wait_seconds": wait,
            }),
            &["session", "question"],
            changes().idempotent(false),
        ),
    ]
}

fn tool(
    name: &'static str,
    description: &'static str,
    properties: Value,
    required: &[&str],
    annotations: ToolAnnotations,
) -> Tool {
    let input = json!({"type": "object", "properties": properties, "required": required,
        "additionalProperties": false});
    Tool::new(name, description, object(input))
        .with_raw_output_schema(object(output()))
        .with_annotations(annotations)
}

/// Returns the schema of a result, which is the report.
fn output() -> Value {
    let position = json!({"type": "integer", "minimum": 1});
    json!({
        "type": "object",
        "properties": {
            "session": {"type": "string"},
            "input": position,
            "turn": position,
            "state": {"enum": ["idle", "queued", "held", "running", "waiting", "settled", "blocked",
                "withdrawn"]},
            "outcome": {"type": "object", "description": "How the turn ended.",
                "properties": {"outcome": {"type": "string"}}, "required": ["outcome"]},
            "answer": {"type": "string", "description": "Text of the agent's last answer."},
            "reason": {"type": "string"},
            "questions": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "kind": {"enum": ["approval", "question"]},
                    "tool": {"type": "string"},
                    "text": {"type": "string"},
                    "choices": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["id", "kind", "text"],
            }},
        },
        "required": ["session", "state"],
    })
}

fn object(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(object) => Arc::new(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Arc::default()
        }
    }
}

/// Returns the tool by which the model asks, for a session that this face opens.
pub(super) fn ask_user() -> ClientTool {
    let parameters = json!({
        "type": "object",
        "properties": {
            "question": {"type": "string", "minLength": 1, "maxLength": 4000,
                "description": "The question, with what is needed to answer it."},
            "choices": {"type": "array", "maxItems": 9,
                "description": "Answers to choose from. Default none.",
                "items": {"type": "string", "minLength": 1, "maxLength": 500}},
        },
        "required": ["question"],
        "additionalProperties": false,
    });
    ClientTool {
        name: ASK_USER.to_owned(),
        description:
            "Asks the user a question and waits for the answer. Use it if the work cannot \
                      go on without a decision that only the user can make. Offer choices where \
                      there are some; the user may answer with other words."
                .to_owned(),
        parameters: object(parameters).as_ref().clone(),
        effect: EffectClass::ReadOnly,
        timeout_ms: Some(ANSWER_MS),
    }
}
