//! Queue: lists, edits, moves and withdraws the inputs that no turn has accepted yet.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windlass_engine::core::InputId;
use windlass_engine::{InputQueue, SessionCommand};

use super::describe::answers::{Conflict, KeyReused, NoSession, StoreFull, Waits};
use super::describe::shapes::InputQueueShape;
use super::execute::execute;
use super::failure;
use super::key::ClientKey;
use super::session_access::{PathNumber, ReadRight, RunRight, SessionAccess};
use super::session_handle::handle;
use crate::app::App;
use crate::json::Json;
use crate::object;
use crate::problem::{Problem, ProblemCode};

/// Lists the inputs that no turn has accepted yet.
#[utoipa::path(
    get,
    path = "/sessions/{id}/inputs",
    tag = "turns",
    params(("id" = String, Path, description = "The session.")),
    responses(
        (status = 200, description = "The inputs that wait.", body = InputQueueShape),
        NoSession,
    )
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    seen: SessionAccess<ReadRight>,
) -> Result<Json<InputQueue>, Problem> {
    let loaded = app.views.load(&seen.caller.tenant, &seen.id).await;
    let loaded = loaded.map_err(|error| failure::start(&error))?;
    Ok(Json(InputQueue::of(&loaded.session, &loaded.history)))
}

/// Change of a waiting input: exactly one of the fields.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"text": "And now the tests, please."}))]
pub(crate) struct InputChangeRequest {
    /// New text. Hooks that have seen the old one are asked again.
    #[schema(min_length = 1)]
    text: Option<String>,
    /// Waiting input that it is to precede.
    #[serde(default, deserialize_with = "object::number")]
    #[schema(value_type = Option<u64>)]
    before: Option<InputId>,
    /// True to make it the last one.
    #[serde(default)]
    last: bool,
}

impl InputChangeRequest {
    fn command(self, input: InputId) -> Result<SessionCommand, Problem> {
        match (self.text, self.before, self.last) {
            (Some(text), None, false) => Ok(SessionCommand::EditInput { input, text }),
            (None, Some(before), false) => {
                Ok(SessionCommand::MoveInput { input, before: Some(before) })
            }
            (None, None, true) => Ok(SessionCommand::MoveInput { input, before: None }),
            (None, None, false) | (Some(_), ..) | (None, Some(_), true) => {
                let detail = "a change has exactly one of text, before and last";
                Err(Problem::new(ProblemCode::Refused, detail))
            }
        }
    }
}

/// Input that was changed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"input": 9}))]
pub(crate) struct InputReference {
    /// The input.
    #[schema(value_type = u64)]
    input: InputId,
}

/// Edits or moves a waiting input.
#[utoipa::path(
    patch,
    path = "/sessions/{id}/inputs/{input}",
    tag = "turns",
    params(
        ("id" = String, Path, description = "The session."),
        ("input" = u64, Path, description = "The input."),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128,
         pattern = "^[ -~]+$",
         description = "Asking again with the same key gives the same answer."),
    ),
    request_body = InputChangeRequest,
    responses(
        (status = 202, description = "The change is durable.", body = InputReference),
        NoSession, Conflict, KeyReused, StoreFull, Waits,
    )
)]
pub(crate) async fn change(
    State(app): State<Arc<App>>,
    seen: SessionAccess<RunRight>,
    key: ClientKey,
    PathNumber(input): PathNumber,
    Json(change): Json<InputChangeRequest>,
) -> Result<impl IntoResponse, Problem> {
    let command = change.command(InputId(input))?;
    execute_on_input(&app, &seen, &key, InputId(input), command).await
}

/// Withdraws a waiting input: the model never receives it.
#[utoipa::path(
    delete,
    path = "/sessions/{id}/inputs/{input}",
    tag = "turns",
    params(
        ("id" = String, Path, description = "The session."),
        ("input" = u64, Path, description = "The input."),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128,
         pattern = "^[ -~]+$",
         description = "Asking again with the same key gives the same answer."),
    ),
    responses(
        (status = 202, description = "The withdrawal is durable.", body = InputReference),
        NoSession, Conflict, StoreFull, Waits,
    )
)]
pub(crate) async fn withdraw(
    State(app): State<Arc<App>>,
    seen: SessionAccess<RunRight>,
    key: ClientKey,
    PathNumber(input): PathNumber,
) -> Result<impl IntoResponse, Problem> {
    let command = SessionCommand::WithdrawInput { input: InputId(input) };
    execute_on_input(&app, &seen, &key, InputId(input), command).await
}

async fn execute_on_input(
    app: &App,
    seen: &SessionAccess<RunRight>,
    key: &ClientKey,
    input: InputId,
    command: SessionCommand,
) -> Result<impl IntoResponse + use<>, Problem> {
    // A client may use one key for several inputs.
    let key = key.for_command().map(|key| format!("{input}:{key}"));
    let handle = handle(app, &seen.caller, &seen.id).await?;
    execute(&handle, (&seen.caller, &seen.id), key.as_deref(), command).await?;
    Ok((StatusCode::ACCEPTED, Json(InputReference { input })))
}
