//! Control: stopping what runs, and going on with what waits.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windlass::SendError;
use windlass::core::{Interrupter, Reject, StopWhen, TurnId};

use super::describe::answers::{Conflict, NoSession, Refused, StoreFull};
use super::describe::shapes::StopWhenShape;
use super::failure;
use super::flight;
use super::opened::{attach, open};
use super::seen::{Run, Seen};
use crate::app::App;
use crate::json::Json;
use crate::problem::Problem;

/// How a turn is to stop.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"when": "now", "reason": "not what I meant"}))]
pub(crate) struct Interrupt {
    /// When.
    #[schema(value_type = StopWhenShape, default = "now")]
    when: StopWhen,
    /// In which words; what is longer than 1,024 bytes is cut.
    reason: String,
}

impl Default for Interrupt {
    fn default() -> Self {
        Self {
            when: StopWhen::Now,
            reason: String::from("interrupted"),
        }
    }
}

/// The turn that this was said to.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"turn": 10}))]
pub(crate) struct Told {
    /// The turn; null where it was not open any more, or not yet.
    #[schema(required, value_type = Option<u64>)]
    turn: Option<TurnId>,
}

/// Asks the running turn to stop. Asked again, it answers the same.
#[utoipa::path(
    post,
    path = "/sessions/{id}/interrupt",
    tag = "turns",
    params(("id" = String, Path, description = "The session.")),
    request_body(content = Option<Interrupt>),
    responses(
        (status = 202, description = "The request is durable.", body = Told),
        NoSession, Conflict, Refused, StoreFull,
    )
)]
pub(crate) async fn interrupt(
    State(app): State<Arc<App>>,
    seen: Seen<Run>,
    Json(how): Json<Interrupt>,
) -> Result<impl IntoResponse, Problem> {
    let whole = app.views.of(&seen.caller.tenant, &seen.first).await?;
    if whole.view.turn.is_none() {
        // It is not opened for nothing.
        let idle = SendError::Rejected(Reject::Idle);
        return Err(failure::send(&idle));
    }
    let conversation = attach(&app, &seen.caller, &seen.id).await?;
    let state = conversation.state().await;
    let state = state.map_err(|error| failure::ended(&error))?;
    let turn = state.turn().map(|turn| turn.id);
    let scope = seen.caller.scope().clone();
    let stopped = conversation.interrupt(Interrupter::Person, scope, &how.reason, how.when);
    match stopped.await {
        Ok(()) | Err(SendError::Rejected(Reject::Stopping)) => {}
        Err(error) => return Err(failure::send(&error)),
    }
    Ok((StatusCode::ACCEPTED, Json(Told { turn })))
}

/// Nothing is said with it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// Goes on with what waits after an interrupt.
#[utoipa::path(
    post,
    path = "/sessions/{id}/continue",
    tag = "turns",
    params(("id" = String, Path, description = "The session.")),
    request_body(content = Option<Nothing>),
    responses(
        (status = 202, description = "A turn runs.", body = Told),
        NoSession, Conflict, Refused, StoreFull,
    )
)]
pub(crate) async fn go_on(
    State(app): State<Arc<App>>,
    seen: Seen<Run>,
    Json(Nothing {}): Json<Nothing>,
) -> Result<impl IntoResponse, Problem> {
    let whole = app.views.of(&seen.caller.tenant, &seen.first).await?;
    if whole.view.turn.is_none() && whole.view.waiting == Some(0) {
        let nothing = SendError::Rejected(Reject::NothingWaits);
        return Err(failure::send(&nothing));
    }
    let (conversation, before) = open(&app, &seen.caller, &seen.id).await?;
    // What goes on already takes no more room.
    let next = before.next_input().filter(|_| before.turn().is_none());
    let next = match next {
        Some(input) => Some((input.id, seen.caller.turn(&app)?)),
        None => None,
    };
    let gone_on = conversation.go_on().await;
    gone_on.map_err(|error| failure::send(&error))?;
    let state = conversation.state().await;
    let state = state.map_err(|error| failure::ended(&error))?;
    let turn = state.turn().map(|turn| turn.id);
    if let Some((input, pass)) = next {
        flight::watch(conversation, input, pass);
    }
    Ok((StatusCode::ACCEPTED, Json(Told { turn })))
}
