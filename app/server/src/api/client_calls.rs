//! Client calls: lists the calls whose clients are to return results, and takes the results.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windlass_engine::core::{
    CallId, EffectClass, Fact, ObservationStatus, Reject, Seq, SessionId, Timestamp, TurnId,
};
use windlass_engine::{Loaded, SendError, SessionCommand};

use super::describe::answers::{Conflict, NoCall, NoSession, StoreFull, Waits};
use super::describe::shapes::EffectShape;
use super::failure;
use super::key::ClientKey;
use super::session_access::{PathNumber, ReadRight, RunRight, SessionAccess};
use super::session_handle::handle;
use crate::app::App;
use crate::json::Json;
use crate::problem::{Problem, ProblemCode};

/// Facts of one read.
const PAGE: usize = 256;

/// Call that a client runs. The session waits for its result. A suspended call of another tool, which
/// asks a person, is shown as a call of `ask_user`: its result is the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(example = json!({
    "session": "01k8q3v5w2x9n4c7d1f6g0h2jk", "turn": 10, "call": 15, "tool": "open_file",
    "effect": "idempotent", "arguments": "{\"path\":\"README.md\"}",
    "idempotency_key": "01k8q3v5w2x9n4c7d1f6g0h2jk.15", "deadline": 1_790_604_800_000_u64,
}))]
pub(crate) struct ClientCall {
    /// The session.
    #[schema(value_type = String)]
    session: SessionId,
    /// The turn.
    #[schema(value_type = u64)]
    turn: TurnId,
    /// The call. Its result names it.
    #[schema(value_type = u64)]
    pub(crate) call: CallId,
    /// The tool; `ask_user` for the question of a suspended call.
    pub(crate) tool: String,
    /// Effect class of the tool.
    #[schema(value_type = EffectShape)]
    effect: EffectClass,
    /// The exact arguments as JSON text.
    #[schema(value_type = String)]
    pub(crate) arguments: Arc<str>,
    /// Key under which a repeated run has no second effect; unique among calls.
    idempotency_key: String,
    /// Time after which no result is awaited, in milliseconds since 1970.
    #[schema(value_type = u64)]
    deadline: Timestamp,
}

/// Returns the calls of a loaded session that wait for their clients.
pub(super) fn of(loaded: &Loaded) -> Vec<ClientCall> {
    let awaited = windlass_engine::awaited_calls(loaded).into_iter();
    let shown = awaited.map(|call| ClientCall {
        session: loaded.session.id.clone(),
        turn: call.turn,
        call: call.call,
        tool: call.tool,
        effect: call.effect,
        arguments: call.arguments,
        idempotency_key: call.idempotency_key,
        deadline: call.deadline,
    });
    shown.collect()
}

/// Calls that wait for their clients.
#[derive(Serialize, ToSchema)]
pub(crate) struct ClientCalls {
    /// All of them, in their order.
    calls: Vec<ClientCall>,
}

/// Lists the calls of a session that wait for their clients.
#[utoipa::path(
    get,
    path = "/sessions/{id}/client-calls",
    tag = "client tools",
    params(("id" = String, Path, description = "The session.")),
    responses(
        (status = 200, description = "All of them.", body = ClientCalls),
        NoSession,
    )
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    seen: SessionAccess<ReadRight>,
) -> Result<Json<ClientCalls>, Problem> {
    let whole = app.views.get(&seen.caller.tenant, &seen.first).await?;
    Ok(Json(ClientCalls { calls: whole.client_calls.clone() }))
}

/// Result of a call that a client ran.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"output": "opened"}))]
pub(crate) struct ClientResult {
    /// Output of the call, for the model.
    pub(crate) output: String,
    /// True if the call failed: the model is told so. True for a question that nobody answers.
    #[serde(default)]
    pub(crate) failed: bool,
}

/// Call whose result is durable.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"call": 15}))]
pub(crate) struct AcceptedResult {
    /// The call.
    #[schema(value_type = u64)]
    call: CallId,
}

/// Returns the result of a call that a client ran. The first result counts. Repeating it has no
/// further effect; another result is refused.
#[utoipa::path(
    post,
    path = "/sessions/{id}/client-calls/{call}",
    tag = "client tools",
    params(
        ("id" = String, Path, description = "The session."),
        ("call" = u64, Path, description = "The call."),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128,
         pattern = "^[ -~]+$",
         description = "Not needed: the call is the key."),
    ),
    request_body = ClientResult,
    responses(
        (status = 202, description = "The result is durable.", body = AcceptedResult),
        NoCall, Conflict, StoreFull, Waits,
    )
)]
pub(crate) async fn answer(
    State(app): State<Arc<App>>,
    seen: SessionAccess<RunRight>,
    PathNumber(call): PathNumber,
    _: ClientKey,
    Json(result): Json<ClientResult>,
) -> Result<impl IntoResponse, Problem> {
    let call = CallId(call);
    submit(&app, &seen, call, result).await?;
    Ok((StatusCode::ACCEPTED, Json(AcceptedResult { call })))
}

/// Submits the result of a call, once. Returns the position of the fact that records it.
pub(crate) async fn submit(
    app: &App,
    seen: &SessionAccess<RunRight>,
    call: CallId,
    result: ClientResult,
) -> Result<Seq, Problem> {
    let whole = app.views.get(&seen.caller.tenant, &seen.first).await?;
    if !whole.client_calls.iter().any(|open| open.call == call) {
        return recorded(seen, call, &result).await;
    }
    let handle = handle(app, &seen.caller, &seen.id).await?;
    let ClientResult { output, failed } = result.clone();
    let command = SessionCommand::SubmitResult { call, output, failed };
    match handle.execute(command, seen.caller.scope().clone(), None).await {
        Ok(at) => Ok(at),
        // Another client may have been faster, with the same result.
        Err(SendError::Rejected(Reject::ResultNotAwaited(_))) => {
            recorded(seen, call, &result).await
        }
        Err(error) => Err(failure::send(&error)),
    }
}

/// Compares a result with the recorded one of its call, which must be of a client.
async fn recorded(
    seen: &SessionAccess<RunRight>,
    call: CallId,
    result: &ClientResult,
) -> Result<Seq, Problem> {
    let mut after = Seq(call.0.saturating_sub(1));
    let mut started = false;
    loop {
        let facts = seen.read(after, PAGE).await?;
        for recorded in &facts {
            if let Fact::CallStarted(fact) = &recorded.fact {
                started |= fact.call == call && fact.client;
            }
            if let Fact::CallSuspended(fact) = &recorded.fact {
                started |= fact.call == call;
            }
            if let Fact::CallResumed(fact) = &recorded.fact
                && fact.call == call
                && fact.answer.text == result.output
                && fact.answer.declined == result.failed
            {
                return Ok(recorded.seq);
            }
            if let Fact::CallObserved(fact) = &recorded.fact
                && fact.call == call
                && started
            {
                let failed = fact.observation.status == ObservationStatus::Failed;
                let same = fact.by.is_some()
                    && failed == result.failed
                    && fact.observation.output == result.output;
                return if same { Ok(recorded.seq) } else { Err(not_awaited(call)) };
            }
        }
        match facts.last() {
            Some(last) if facts.len() == PAGE => after = last.seq,
            Some(_) if started => return Err(not_awaited(call)),
            Some(_) | None => break,
        }
    }
    let detail = "no client runs a call of this number: they are listed by GET client-calls";
    Err(Problem::new(ProblemCode::NoCall, detail))
}

fn not_awaited(call: CallId) -> Problem {
    let reject = Reject::ResultNotAwaited(call);
    failure::send(&SendError::Rejected(reject))
}
