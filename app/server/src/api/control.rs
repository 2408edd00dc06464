//! Control: interrupts running turns, resumes waiting inputs, and compacts conversations.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windlass_engine::core::{
    Fact, InterruptSource, Reason, RecordedFact, Reject, Seq, StopTiming, TurnId,
};
use windlass_engine::{AwaitedTurn, SendError, SessionCommand};

use super::describe::answers::{Conflict, KeyReused, NoSession, Refused, StoreFull, Waits};
use super::describe::shapes::StopTimingShape;
use super::execute::execute;
use super::failure;
use super::key::ClientKey;
use super::session_access::{RunRight, SessionAccess};
use super::session_handle::{handle, open};
use super::turn_permits;
use crate::app::App;
use crate::json::Json;
use crate::object;
use crate::problem::Problem;

/// Request to stop a turn.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"when": "now", "reason": "not what I meant"}))]
pub(crate) struct InterruptRequest {
    /// Time at which the turn must stop.
    #[schema(value_type = StopTimingShape, default = "now")]
    when: StopTiming,
    /// Reason; cut after 1,024 bytes.
    reason: String,
    /// Turn to stop; without it, the one that runs. Refused if that turn is over.
    #[serde(deserialize_with = "object::number")]
    #[schema(value_type = Option<u64>)]
    turn: Option<TurnId>,
}

impl InterruptRequest {
    /// Creates the request to stop a turn now.
    #[cfg(feature = "mcp")]
    pub(crate) fn of_turn(turn: TurnId) -> Self {
        Self { turn: Some(turn), ..Self::default() }
    }
}

impl Default for InterruptRequest {
    fn default() -> Self {
        Self { when: StopTiming::Now, reason: String::from("interrupted"), turn: None }
    }
}

/// Turn that the request applied to.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"turn": 10}))]
pub(crate) struct TurnReference {
    /// The turn; null if it was not open any more, or not yet.
    #[schema(required, value_type = Option<u64>)]
    turn: Option<TurnId>,
}

/// Asks the running turn to stop. Repeating the request returns the same result.
#[utoipa::path(
    post,
    path = "/sessions/{id}/interrupt",
    tag = "turns",
    params(
        ("id" = String, Path, description = "The session."),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128,
         pattern = "^[ -~]+$",
         description = "Asking again with the same key gives the same answer."),
    ),
    request_body(content = Option<InterruptRequest>),
    responses(
        (status = 202, description = "The request is durable.", body = TurnReference),
        NoSession, Conflict, Refused, StoreFull, Waits,
    )
)]
pub(crate) async fn interrupt(
    State(app): State<Arc<App>>,
    seen: SessionAccess<RunRight>,
    key: ClientKey,
    Json(how): Json<InterruptRequest>,
) -> Result<impl IntoResponse, Problem> {
    let turn = stop_turn(&app, &seen, key.for_command(), how).await?;
    Ok((StatusCode::ACCEPTED, Json(TurnReference { turn })))
}

/// Asks a turn to stop, and returns it.
pub(crate) async fn stop_turn(
    app: &App,
    seen: &SessionAccess<RunRight>,
    key: Option<&str>,
    how: InterruptRequest,
) -> Result<Option<TurnId>, Problem> {
    let tenant = &seen.caller.tenant;
    let whole = app.views.get(tenant, &seen.first).await?;
    if whole.view.turn.is_none() && key.is_none() {
        // Checked first, so that the session is not opened needlessly.
        let idle = how.turn.map_or(Reject::Idle, Reject::TurnMismatch);
        return Err(failure::send(&SendError::Rejected(idle)));
    }
    let handle = handle(app, &seen.caller, &seen.id).await?;
    let state = handle.state().await;
    let state = state.map_err(|error| failure::send(&error))?;
    let turn = how.turn.or_else(|| state.turn().map(|turn| turn.id));
    let stop = SessionCommand::Interrupt {
        by: InterruptSource::Person,
        reason: how.reason,
        when: how.when,
        turn,
    };
    let scope = seen.caller.scope().clone();
    match handle.execute(stop, scope, key).await {
        // With a key it may have been asked long ago, of another turn.
        Ok(at) if key.is_some() => {
            let asked = seen.fact_at(at).await?;
            Ok(asked.and_then(|fact| fact.turn))
        }
        Ok(_) | Err(SendError::Rejected(Reject::Stopping)) => Ok(turn),
        Err(error) => Err(failure::send(&error)),
    }
}

/// Request to compact the conversation.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"focus": "the names of the tables"}))]
pub(crate) struct CompactRequest {
    /// What the summary must keep in every detail; cut after 4,096 bytes.
    focus: Option<String>,
}

/// Requested compaction, which is durable.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"request": 20, "turn": 21}))]
pub(crate) struct RequestedCompaction {
    /// The request: the position of its fact.
    #[schema(value_type = u64)]
    request: Seq,
    /// Turn that it opened at once; null if it waits until the running turn has ended.
    #[schema(required, value_type = Option<u64>)]
    turn: Option<TurnId>,
}

/// Compacts the conversation, with a summary by the model.
#[utoipa::path(
    post,
    path = "/sessions/{id}/compact",
    tag = "turns",
    params(
        ("id" = String, Path, description = "The session."),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128,
         pattern = "^[ -~]+$",
         description = "Asking again with the same key gives the same answer."),
    ),
    request_body(content = Option<CompactRequest>),
    responses(
        (status = 202, description = "The request is durable.", body = RequestedCompaction),
        NoSession, Conflict, KeyReused, StoreFull, Waits,
    )
)]
pub(crate) async fn compact(
    State(app): State<Arc<App>>,
    seen: SessionAccess<RunRight>,
    key: ClientKey,
    Json(CompactRequest { focus }): Json<CompactRequest>,
) -> Result<impl IntoResponse, Problem> {
    let (handle, _) = open(&app, &seen.caller, &seen.id, None).await?;
    let permit = seen.caller.turn_permit(&app).await?;
    let (of, command) = ((&seen.caller, &seen.id), SessionCommand::Compact { focus });
    let request = execute(&handle, of, key.for_command(), command).await?;
    let next = seen.fact_at(request.next()).await?;
    let reason = Reason::CompactionRequested { request };
    let opens = |fact: &RecordedFact| matches!(&fact.fact, Fact::TurnOpened(opened) if opened.reason == reason);
    let turn = next.filter(opens).and_then(|fact| fact.turn);
    turn_permits::hold_until_settled(handle, AwaitedTurn::Compaction(request), permit);
    Ok((StatusCode::ACCEPTED, Json(RequestedCompaction { request, turn })))
}

/// Request without fields.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmptyRequest {}

/// Resumes inputs that wait after an interrupt.
#[utoipa::path(
    post,
    path = "/sessions/{id}/continue",
    tag = "turns",
    params(
        ("id" = String, Path, description = "The session."),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128,
         pattern = "^[ -~]+$",
         description = "Asking again with the same key gives the same answer."),
    ),
    request_body(content = Option<EmptyRequest>),
    responses(
        (status = 202, description = "A turn runs.", body = TurnReference),
        NoSession, Conflict, Refused, StoreFull, Waits,
    )
)]
pub(crate) async fn resume(
    State(app): State<Arc<App>>,
    seen: SessionAccess<RunRight>,
    key: ClientKey,
    Json(EmptyRequest {}): Json<EmptyRequest>,
) -> Result<impl IntoResponse, Problem> {
    let tenant = &seen.caller.tenant;
    let whole = app.views.get(tenant, &seen.first).await?;
    let idle = whole.view.turn.is_none() && whole.view.waiting == Some(0);
    if idle && key.for_command().is_none() {
        let nothing = SendError::Rejected(Reject::NoPendingInput);
        return Err(failure::send(&nothing));
    }
    let turn = continue_session(&app, &seen, key.for_command()).await?;
    Ok((StatusCode::ACCEPTED, Json(TurnReference { turn })))
}

/// Opens a session, continues its open turn, and resumes inputs that wait after an interrupt. Returns
/// the turn that runs then.
pub(crate) async fn continue_session(
    app: &App,
    seen: &SessionAccess<RunRight>,
    key: Option<&str>,
) -> Result<Option<TurnId>, Problem> {
    let (handle, before) = open(app, &seen.caller, &seen.id, None).await?;
    // A turn that already runs needs no further room.
    let next = before.next_input().filter(|_| before.turn().is_none());
    let next = match next {
        Some(input) => Some((input.id, seen.caller.turn_permit(app).await?)),
        None => None,
    };
    let scope = seen.caller.scope().clone();
    let resume = SessionCommand::Resume {};
    let gone_on = handle.execute(resume, scope, key).await;
    let at = gone_on.map_err(|error| failure::send(&error))?;
    // The turn that it opened may have ended by now.
    let first = seen.fact_at(at).await?;
    let opened = first.filter(|fact| matches!(fact.fact, Fact::TurnOpened(_)));
    let turn = match opened.and_then(|fact| fact.turn) {
        Some(turn) => Some(turn),
        None => {
            let state = handle.state().await;
            let state = state.map_err(|error| failure::send(&error))?;
            state.turn().map(|turn| turn.id)
        }
    };
    if let Some((input, pass)) = next {
        turn_permits::hold_until_settled(handle, AwaitedTurn::Input(input), pass);
    }
    Ok(turn)
}
