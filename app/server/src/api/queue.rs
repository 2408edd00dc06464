//! Queue: lists, edits, moves and withdraws the inputs that no turn has accepted yet.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windlass_engine::core::{Delivery, Hold, InputId, TurnId};
use windlass_engine::{SessionCommand, WaitingInput, waiting_inputs};

use super::describe::answers::{Conflict, NoSession, Refused, StoreFull, Waits};
use super::describe::shapes::DeliveryShape;
use super::failure;
use super::key::ClientKey;
use super::session_access::{PathNumber, ReadRight, RunRight, SessionAccess};
use super::session_handle::handle;
use crate::app::App;
use crate::json::Json;
use crate::object;
use crate::problem::{Problem, ProblemCode};

/// Inputs that wait, in their order.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"inputs": [], "held": false}))]
pub(crate) struct InputQueue {
    /// Inputs that no turn has accepted yet. Steering inputs and follow-ups precede the others,
    /// wherever they stand.
    inputs: Vec<QueuedInput>,
    /// True if they wait, after an interrupt, to be resumed.
    held: bool,
}

/// Input that no turn has accepted yet.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "input": 9, "text": "And now the tests.", "delivery": "turn", "images": 0, "dry_run": false,
    "turn": null
}))]
pub(crate) struct QueuedInput {
    /// Id of the input.
    #[schema(value_type = u64)]
    input: InputId,
    /// Its text, with all edits.
    text: String,
    /// Delivery of the input.
    #[schema(value_type = DeliveryShape)]
    delivery: Delivery,
    /// Number of its images.
    images: usize,
    /// True if its turn only plans what its tools would do.
    dry_run: bool,
    /// Turn that was opened for it; it can be edited, and neither moved nor withdrawn.
    #[schema(required, value_type = Option<u64>)]
    turn: Option<TurnId>,
}

impl From<WaitingInput> for QueuedInput {
    fn from(waiting: WaitingInput) -> Self {
        Self {
            input: waiting.input,
            text: waiting.text.to_string(),
            delivery: waiting.delivery,
            images: waiting.images,
            dry_run: waiting.dry_run,
            turn: waiting.turn,
        }
    }
}

/// Lists the inputs that no turn has accepted yet.
#[utoipa::path(
    get,
    path = "/sessions/{id}/inputs",
    tag = "turns",
    params(("id" = String, Path, description = "The session.")),
    responses(
        (status = 200, description = "The inputs that wait.", body = InputQueue),
        NoSession,
    )
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    seen: SessionAccess<ReadRight>,
) -> Result<Json<InputQueue>, Problem> {
    let loaded = app.views.load(&seen.caller.tenant, &seen.id).await;
    let loaded = loaded.map_err(|error| failure::start(&error))?;
    let waiting = waiting_inputs(&loaded.session, &loaded.history);
    Ok(Json(InputQueue {
        inputs: waiting.into_iter().map(QueuedInput::from).collect(),
        held: loaded.session.hold == Hold::Held,
    }))
}

/// Change of a waiting input: exactly one of the fields.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"text": "And now the tests, please."}))]
pub(crate) struct InputChange {
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

impl InputChange {
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
    request_body = InputChange,
    responses(
        (status = 202, description = "The change is durable.", body = InputReference),
        NoSession, Conflict, Refused, StoreFull, Waits,
    )
)]
pub(crate) async fn change(
    State(app): State<Arc<App>>,
    seen: SessionAccess<RunRight>,
    key: ClientKey,
    PathNumber(input): PathNumber,
    Json(change): Json<InputChange>,
) -> Result<impl IntoResponse, Problem> {
    let command = change.command(InputId(input))?;
    execute(&app, &seen, &key, InputId(input), command).await
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
    execute(&app, &seen, &key, InputId(input), command).await
}

async fn execute(
    app: &App,
    seen: &SessionAccess<RunRight>,
    key: &ClientKey,
    input: InputId,
    command: SessionCommand,
) -> Result<impl IntoResponse + use<>, Problem> {
    let handle = handle(app, &seen.caller, &seen.id).await?;
    let scope = seen.caller.scope().clone();
    // A client may use one key for several inputs.
    let key = key.for_command().map(|key| format!("{input}:{key}"));
    let changed = handle.execute(command, scope, key.as_deref()).await;
    changed.map_err(|error| failure::send(&error))?;
    Ok((StatusCode::ACCEPTED, Json(InputReference { input })))
}
