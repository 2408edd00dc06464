//! Forks: a new session that continues from a position of another one.

use std::sync::Arc;

use axum::extract::State;
use axum::response::IntoResponse;
use serde::Deserialize;
use utoipa::ToSchema;
use windlass_engine::core::Seq;

use super::describe::answers::{Conflict, KeyReused, NoSession, StoreFull};
use super::failure;
use super::key::ClientKey;
use super::session_access::{RunRight, SessionAccess, lookup};
use super::sessions::{new_id, opened_at};
use super::view::SessionView;
use crate::app::App;
use crate::json::Json;
use crate::object;
use crate::problem::Problem;

/// Position at which a session is forked.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"at": 41}))]
pub(crate) struct ForkPoint {
    /// Last position to copy. Nothing may be under way there.
    #[serde(deserialize_with = "object::number")]
    #[schema(minimum = 0)]
    at: u64,
}

/// Forks a session. Waiting inputs of the new session wait until an input or a `continue` arrives.
#[utoipa::path(
    post,
    path = "/sessions/{id}/forks",
    tag = "sessions",
    params(
        ("id" = String, Path, description = "The session."),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128,
         pattern = "^[ -~]+$",
         description = "Asking again with the same key finds the same fork."),
    ),
    request_body = ForkPoint,
    responses(
        (status = 201, description = "It is open, and durable.", body = SessionView,
         headers(("Location" = String, description = "Where it is."))),
        NoSession, Conflict, KeyReused, StoreFull,
    )
)]
pub(crate) async fn fork(
    State(app): State<Arc<App>>,
    seen: SessionAccess<RunRight>,
    key: ClientKey,
    Json(ForkPoint { at }): Json<ForkPoint>,
) -> Result<impl IntoResponse, Problem> {
    if app.draining() {
        return Err(failure::draining());
    }
    let SessionAccess { caller, id: of, .. } = seen;
    let tenant = &caller.tenant;
    let id = match key.session("fork", &tenant.name) {
        Some(id) => id,
        None => new_id(&app)?,
    };
    // A fork that exists needs no further room.
    let room = match lookup(&caller, &id).await? {
        Some(_) => None,
        None => Some(caller.session_permit(&app).await?),
    };
    let forked = tenant.engine.fork(&of, Seq(at), &id, caller.scope());
    if let Err(error) = forked.await {
        if let Some(room) = room {
            room.cancel().await;
        }
        return Err(failure::fork(&error));
    }
    drop(room);
    let first = lookup(&caller, &id).await?.ok_or_else(Problem::no_session)?;
    let whole = app.views.get(tenant, &first).await?;
    Ok(opened_at(&whole.view))
}
