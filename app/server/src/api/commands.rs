//! Commands: runs a command line of a client in a session, as a call of that user's.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::Deserialize;
use utoipa::ToSchema;
use windlass_engine::core::InputId;
use windlass_engine::{AwaitedTurn, SessionCommand};

use super::describe::answers::{Conflict, KeyReused, NoSession, Refused, StoreFull, Waits};
use super::execute::execute;
use super::inputs::AcceptedInput;
use super::key::ClientKey;
use super::session_access::{RunRight, SessionAccess};
use super::session_handle::open;
use super::turn_permits;
use crate::access::Right;
use crate::app::App;
use crate::json::Json;
use crate::problem::Problem;

/// Command to run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"command": "cargo test"}))]
pub(crate) struct CommandRequest {
    /// Command line, for the tool of the session that takes one.
    #[schema(min_length = 1)]
    command: String,
}

/// Runs a command in a turn of its own, which asks no model. It waits behind earlier inputs, and is
/// withdrawn if the server stops before it runs. The model sees the command and its result with the
/// next request. Nobody approves it: the caller needs the right to approve. Refused without a tool that
/// takes command lines, with read-only permissions, and if a rule denies it.
#[utoipa::path(
    post,
    path = "/sessions/{id}/commands",
    tag = "turns",
    params(
        ("id" = String, Path, description = "The session."),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128,
         pattern = "^[ -~]+$",
         description = "Asking again with the same key gives the same answer."),
    ),
    request_body = CommandRequest,
    responses(
        (status = 202, description = "It is durable.", body = AcceptedInput),
        NoSession, Refused, Conflict, KeyReused, StoreFull, Waits,
    )
)]
pub(crate) async fn run(
    State(app): State<Arc<App>>,
    seen: SessionAccess<RunRight>,
    key: ClientKey,
    Json(CommandRequest { command }): Json<CommandRequest>,
) -> Result<impl IntoResponse, Problem> {
    seen.caller.require(Right::Approve)?;
    let (handle, _) = open(&app, &seen.caller, &seen.id, None).await?;
    let permit = seen.caller.turn_permit(&app).await?;
    let (of, command) = ((&seen.caller, &seen.id), SessionCommand::RunCommand { command });
    let input = InputId(execute(&handle, of, key.for_command(), command).await?.0);
    turn_permits::hold_until_settled(handle, AwaitedTurn::Input(input), permit);
    let accepted = AcceptedInput::of(&seen, input).await?;
    Ok((StatusCode::ACCEPTED, Json(accepted)))
}
