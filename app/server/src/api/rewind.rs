//! Rewinds: a session returns to an earlier point of its conversation, in place.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windlass_engine::SessionCommand;
use windlass_engine::core::Seq;

use super::describe::answers::{Conflict, KeyReused, NoSession, StoreFull, Waits};
use super::execute::execute;
use super::key::ClientKey;
use super::session_access::{RunRight, SessionAccess};
use super::session_handle::handle;
use crate::app::App;
use crate::json::Json;
use crate::object;
use crate::problem::Problem;

/// Point to which a session returns.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"to": 41}))]
pub(crate) struct RewindPoint {
    /// Position whose conversation continues. Nothing may be under way there.
    #[serde(deserialize_with = "object::number")]
    #[schema(minimum = 0)]
    to: u64,
}

/// Point to which a session has returned.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"to": 41}))]
pub(crate) struct RewoundTo {
    /// Position whose conversation continues.
    #[schema(value_type = u64)]
    to: Seq,
}

/// Returns to an earlier point of the conversation. The log stays whole, and files are not changed
/// back. Inputs that wait are held until an input or a `continue` arrives.
#[utoipa::path(
    post,
    path = "/sessions/{id}/rewind",
    tag = "sessions",
    params(
        ("id" = String, Path, description = "The session."),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128,
         pattern = "^[ -~]+$",
         description = "Asking again with the same key gives the same answer."),
    ),
    request_body = RewindPoint,
    responses(
        (status = 202, description = "The rewind is durable.", body = RewoundTo),
        NoSession, Conflict, KeyReused, StoreFull, Waits,
    )
)]
pub(crate) async fn rewind(
    State(app): State<Arc<App>>,
    seen: SessionAccess<RunRight>,
    key: ClientKey,
    Json(RewindPoint { to }): Json<RewindPoint>,
) -> Result<impl IntoResponse, Problem> {
    let to = Seq(to);
    let handle = handle(&app, &seen.caller, &seen.id).await?;
    let of = (&seen.caller, &seen.id);
    execute(&handle, of, key.for_command(), SessionCommand::Rewind { to }).await?;
    Ok((StatusCode::ACCEPTED, Json(RewoundTo { to })))
}
