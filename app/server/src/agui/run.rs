//! Running: `POST /v1/sessions/{id}/agui`, which starts one run and streams it to its end.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use windlass_engine::NewInput;
use windlass_engine::core::{CallId, ContextPart, EffectClass, GrantLifetime, Seq};

use super::client::{AguiClient, RequestedRun};
use super::follow::before;
use super::project::{Projection, TurnFilter};
use crate::access::Right;
use crate::api::answers::{Conflict, KeyReused, NoSession, StoreFull, Waits};
use crate::api::{
    ClientResult, Decision, DecisionRequest, RunRight, SessionAccess, accept, decide, images,
    submit,
};
use crate::app::App;
use crate::client_tools::ClientTool;
use crate::json::Json;
use crate::problem::{Problem, ProblemCode};
use crate::stream::begin::{acquire_permit, open_stream};
use crate::stream::cursor::Cursor;
use crate::stream::sse::retry;

/// Longest name of a run, in bytes.
const LONGEST: usize = 128;

/// Request body of an AG-UI client. Unknown fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RunAgentInput, example = json!({
    "threadId": "01k8q3v5w2x9n4c7d1f6g0h2jk", "runId": "run-1", "state": {}, "tools": [], "context": [],
    "messages": [{"id": "1", "role": "user", "content": "List the files."}],
}))]
pub(crate) struct RunInput {
    /// Id of the session.
    thread_id: String,
    /// Name of the run. Repeating it refers to the same run.
    #[schema(min_length = 1, max_length = 128, pattern = "^[ -~]+$")]
    run_id: String,
    /// Conversation as the client has it. The last message is the user's input, or the last ones are
    /// results of the client's tools; the others are ignored.
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    messages: Vec<Value>,
    /// Tools that the client runs, in place of those before; an empty list leaves those.
    #[serde(default)]
    tools: Vec<FrontendTool>,
    /// Additional context for the model.
    #[serde(default)]
    context: Vec<Context>,
    /// Ignored, since the server stores the state.
    #[serde(default)]
    state: Value,
    /// Answers to the questions of an interrupted run; the request then has no input.
    #[serde(default)]
    #[schema(nullable = false)]
    resume: Option<Vec<Resume>>,
}

/// Tool that the client runs.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AguiTool)]
pub(crate) struct FrontendTool {
    /// Name of the tool.
    name: String,
    /// Description of the tool.
    #[serde(default)]
    description: String,
    /// JSON Schema of the arguments.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    parameters: Option<Map<String, Value>>,
}

impl FrontendTool {
    /// Returns the declaration. The protocol has no effect class, so the widest one applies.
    fn declaration(self) -> ClientTool {
        let any = || Map::from_iter([(String::from("type"), Value::from("object"))]);
        ClientTool {
            name: self.name,
            description: self.description,
            parameters: self.parameters.filter(|schema| !schema.is_empty()).unwrap_or_else(any),
            effect: EffectClass::Effectful,
            timeout_ms: None,
        }
    }
}

/// Additional context for the model.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AguiContext)]
pub(crate) struct Context {
    /// Description of the context.
    description: String,
    /// Text of the context.
    value: String,
}

/// Answer to a question.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AguiResume)]
pub(crate) struct Resume {
    /// Id of the question.
    interrupt_id: String,
    /// Status of the answer. A cancelled question is denied.
    status: Status,
    /// Answer to the question.
    #[serde(default)]
    #[schema(nullable = false)]
    payload: Option<Payload>,
}

/// Status of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AguiStatus)]
pub(crate) enum Status {
    /// The question was answered.
    Resolved,
    /// The question was dismissed.
    Cancelled,
}

/// Decision of a person about a call.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AguiPayload)]
pub(crate) struct Payload {
    /// True if the call may run.
    approved: bool,
    /// Reason for a denial.
    #[schema(nullable = false)]
    reason: Option<String>,
    /// Arguments that replace the model's.
    #[schema(value_type = Option<Object>, nullable = false)]
    arguments: Option<Box<RawValue>>,
    /// Allows calls like this one too, for as long. Only with an approval of unchanged arguments.
    #[serde(default)]
    #[schema(value_type = Option<String>, nullable = false, pattern = "^(session|always)$")]
    remember: Option<GrantLifetime>,
}

/// Sends the last message as an input for a turn of its own, or answers questions, and streams that
/// run to its end.
#[utoipa::path(
    post,
    path = "/sessions/{id}/agui",
    tag = "events",
    params(("id" = String, Path, description = "The session.")),
    request_body = RunInput,
    responses(
        (status = 200, description = "AG-UI events, until the run ends.", body = String,
         content_type = "text/event-stream"),
        NoSession, Conflict, KeyReused, StoreFull, Waits,
    )
)]
pub(super) async fn run(
    State(app): State<Arc<App>>,
    seen: SessionAccess<RunRight>,
    Json(input): Json<RunInput>,
) -> Result<Response, Problem> {
    // The response streams the session's events.
    seen.caller.require(Right::Read)?;
    if input.thread_id != seen.id.as_str() {
        return Err(refuse("threadId is the id of the session"));
    }
    let printable = input.run_id.bytes().all(|byte| matches!(byte, 0x20..=0x7e));
    if input.run_id.is_empty() || input.run_id.len() > LONGEST || !printable {
        let detail = "runId has 1 to 128 printable ASCII characters";
        return Err(Problem::new(ProblemCode::BadRequest, detail));
    }
    let pass = acquire_permit(&app, &seen.caller)?;
    let mut ignored = Vec::new();
    if !(input.state.is_null() || input.state.as_object().is_some_and(Map::is_empty)) {
        ignored.push("state");
    }
    let resumed = input.resume.as_deref().is_some_and(|all| !all.is_empty());
    let results = results(&input.messages)?;
    let (from, known, about) = match (resumed, input.resume) {
        (true, Some(all)) => resume(&app, &seen, &input.run_id, all).await?,
        _ if !results.is_empty() => answer_calls(&app, &seen, results).await?,
        _ => {
            let key = Some(format!("agui:{}", input.run_id));
            let send = new_input(&seen, key, &input.messages, input.context)?;
            let tools = input.tools.into_iter().map(FrontendTool::declaration);
            let tools: Vec<ClientTool> = tools.collect();
            let declared = Some(tools.as_slice()).filter(|tools| !tools.is_empty());
            let taken = accept(&app, &seen, send, declared).await?;
            let from = before(Seq(taken.input.0));
            (from, Seq::ZERO, TurnFilter::Input(taken.input))
        }
    };
    let asked = RequestedRun {
        app: app.clone(),
        tenant: seen.caller.tenant.clone(),
        first: seen.first.clone(),
    };
    let cursor = Cursor { after: Some(from), live: true };
    let following = open_stream(&app, seen.caller, &seen.id, cursor, pass).await?;
    let projection = Projection::new(seen.id, about, known);
    let client = AguiClient::new(following, projection, retry(&app));
    Ok(client.with_run(asked, input.run_id, &ignored).answer())
}

/// Answers questions, and streams the events after that.
async fn resume(
    app: &App,
    seen: &SessionAccess<RunRight>,
    run: &str,
    all: Vec<Resume>,
) -> Result<(Seq, Seq, TurnFilter), Problem> {
    seen.caller.require(Right::Approve)?;
    let words: Vec<_> = all.into_iter().map(approval_answer).collect::<Result<_, _>>()?;
    let whole = app.views.get(&seen.caller.tenant, &seen.first).await?;
    let (turn, known) = (whole.view.turn, whole.view.last);
    for (call, word) in words {
        let key = format!("agui:{call}:{run}");
        let of = (&seen.id, &*seen.first);
        decide(app, &seen.caller, of, (call, Some(key)), word).await?;
    }
    let turn = turn.ok_or_else(|| {
        let detail = "no turn waits for this answer any more";
        Problem::new(ProblemCode::NotAsked, detail)
    })?;
    Ok((before(Seq(turn)), known, TurnFilter::Turn(windlass_engine::core::TurnId(turn))))
}

/// Submits the results of a client's calls, and streams the events from the last one on.
async fn answer_calls(
    app: &App,
    seen: &SessionAccess<RunRight>,
    results: Vec<(CallId, ClientResult)>,
) -> Result<(Seq, Seq, TurnFilter), Problem> {
    let mut last = Seq::ZERO;
    for (call, result) in results {
        last = last.max(submit(app, seen, call, result).await?);
    }
    let turn = seen.fact_at(last).await?.and_then(|fact| fact.turn);
    let turn = turn.ok_or_else(Problem::no_session)?;
    Ok((before(Seq(turn.0)), before(last), TurnFilter::Turn(turn)))
}

/// Returns the results of calls that the conversation ends with.
fn results(messages: &[Value]) -> Result<Vec<(CallId, ClientResult)>, Problem> {
    let ends = messages.iter().rev().take_while(|message| message["role"] == "tool").count();
    let results = messages.iter().skip(messages.len().saturating_sub(ends)).map(|message| {
        let call = message["toolCallId"].as_str().and_then(|id| id.parse().ok());
        let (output, error) = (message["content"].as_str(), message["error"].as_str());
        let failed = error.is_some();
        let output = error.filter(|_| output.is_none_or(str::is_empty)).or(output);
        let (Some(call), Some(output)) = (call, output) else {
            return Err(refuse("the result of a tool has the toolCallId of its call, and a text"));
        };
        Ok((CallId(call), ClientResult { output: output.to_owned(), failed }))
    });
    results.collect()
}

/// Returns the call of an answer, and the decision.
fn approval_answer(resume: Resume) -> Result<(CallId, DecisionRequest), Problem> {
    let id = resume.interrupt_id.split_once('.');
    let read = id.and_then(|(call, digest)| Some((call.parse().ok()?, digest.to_owned())));
    let (call, digest) =
        read.ok_or_else(|| refuse("interruptId is the id of an interrupt that a run ended with"))?;
    let (decision, reason, arguments, remember) = match (resume.status, resume.payload) {
        (Status::Resolved, Some(payload)) => {
            let decision = if payload.approved { Decision::Allow } else { Decision::Deny };
            (decision, payload.reason, payload.arguments, payload.remember)
        }
        (Status::Cancelled, _) => (Decision::Deny, Some("dismissed".to_owned()), None, None),
        (Status::Resolved, None) => {
            return Err(refuse("an answer has a payload, as responseSchema says"));
        }
    };
    let word = DecisionRequest { decision, digest, reason, arguments, remember };
    Ok((CallId(call), word))
}

/// Returns the text of the last message.
fn new_input(
    seen: &SessionAccess<RunRight>,
    key: Option<String>,
    messages: &[Value],
    context: Vec<Context>,
) -> Result<NewInput, Problem> {
    let last = messages.last().filter(|last| last["role"] == "user");
    let last = last.ok_or_else(|| {
        refuse("the last message is the user's, or the result of a tool that the client runs")
    })?;
    let (mut text, mut shown) = (String::new(), Vec::new());
    match &last["content"] {
        Value::String(said) => text.clone_from(said),
        Value::Array(parts) => {
            for part in parts {
                let source = &part["source"];
                match (part["type"].as_str(), part["text"].as_str()) {
                    (Some("text"), Some(said)) => text.push_str(said),
                    (Some("image"), _) if source["type"] == "data" => {
                        shown.push(source["value"].as_str().unwrap_or_default().to_owned());
                    }
                    _ => return Err(refuse("a message has text, and images as data")),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err(refuse("a message has text, and images as data"));
        }
    }
    let context = context
        .into_iter()
        .map(|part| ContextPart { from: part.description, text: part.value.into() });
    let images = images(&shown)?;
    Ok(NewInput::new(seen.caller.scope().clone(), text).with(|it| {
        it.context = context.collect();
        it.images = images;
        it.key = key;
    }))
}

fn refuse(detail: &'static str) -> Problem {
    Problem::new(ProblemCode::Refused, detail)
}
