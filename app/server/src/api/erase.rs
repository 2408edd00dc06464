//! Erasing: a session on request, or all settled ones of the tenant that are old enough.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windlass_engine::core::{GrantLifetime, Seq, SessionId, Timestamp};
use windlass_engine::ports::Tenants;
use windlass_engine::{EraseError, child_sessions};

use super::describe::answers::{Conflict, NoSession};
use super::failure;
use super::query::{self, EraseQuery, QueryParams};
use super::session_access::{AuthorizedCaller, EraseRight, SessionAccess, lookup};
use crate::app::App;
use crate::caller::Caller;
use crate::json::Json;
use crate::object;
use crate::problem::{Problem, ProblemCode};

/// Sessions that one request for a retention looks at.
const LOOKED_AT: usize = 200;
/// Shortest age that a retention may have, in seconds.
const SHORTEST_S: u64 = 60;
/// Longest age that a retention may have, in seconds: a hundred years.
const LONGEST_S: u64 = 3_155_760_000;

/// Sessions that were erased.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Erased {
    /// Ids of the sessions.
    #[schema(value_type = Vec<String>)]
    erased: Vec<SessionId>,
}

/// Erases a session for good: its log, its checkpoint and its outputs.
#[utoipa::path(
    delete,
    path = "/sessions/{id}",
    tag = "sessions",
    params(("id" = String, Path, description = "The session."), EraseQuery),
    responses(
        (status = 200, description = "They are erased.", body = Erased),
        NoSession, Conflict,
    )
)]
pub(crate) async fn erase(
    State(app): State<Arc<App>>,
    seen: SessionAccess<EraseRight>,
    QueryParams(asked): QueryParams<EraseQuery>,
) -> Result<Json<Erased>, Problem> {
    let caller = &seen.caller;
    let mut erased = Vec::new();
    let last = settled(&app, caller, &seen.id).await?;
    if asked.agents {
        let agents = child_sessions(caller.tenant.store.as_ref(), &seen.id).await;
        if let Some((log, error)) = agents.unreadable.first() {
            let detail = format!("not all agents are known, since {log} cannot be read");
            tracing::error!(session = %seen.id, %error, "{detail}");
            return Err(Problem::new(ProblemCode::Damaged, detail));
        }
        for agent in agents.sessions {
            let last = settled(&app, caller, &agent.session).await?;
            one(caller, &agent.session, last).await?;
            erased.push(agent.session);
        }
    }
    one(caller, &seen.id, last).await?;
    erased.push(seen.id);
    Ok(Json(Erased { erased }))
}

/// Returns the last position of a session that has no unfinished work.
async fn settled(app: &App, caller: &Caller, id: &SessionId) -> Result<Seq, Problem> {
    let first = lookup(caller, id).await?.ok_or_else(Problem::no_session)?;
    let details = app.views.get(&caller.tenant, &first).await?;
    if details.view.turn.is_some() || details.view.waiting.is_some_and(|waiting| waiting > 0) {
        let detail =
            "the session has a turn or inputs that wait: interrupt and withdraw them first";
        return Err(Problem::new(ProblemCode::TurnRunning, detail));
    }
    Ok(details.view.last)
}

/// Erases one session, and revokes what was allowed for it.
async fn one(caller: &Caller, id: &SessionId, last: Seq) -> Result<(), Problem> {
    let engine = &caller.tenant.engine;
    engine.erase(id, caller.scope(), last).await.map_err(|error| problem(&error))?;
    // A new session may have its name.
    for grant in engine.grants().await.unwrap_or_default() {
        let own = grant.lifetime == GrantLifetime::Session && grant.session.as_ref() == Some(id);
        if own && let Err(error) = engine.revoke_grant(&grant.id).await {
            tracing::error!(session = %id, %error, "a grant of an erased session stays");
        }
    }
    Ok(())
}

/// Request to erase settled sessions by age.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"unchanged_for_s": 7_776_000}))]
pub(crate) struct RetentionRequest {
    /// Age: sessions that have not changed for so many seconds are erased.
    #[serde(deserialize_with = "object::number")]
    #[schema(minimum = 60, maximum = 3_155_760_000_u64)]
    unchanged_for_s: u64,
    /// Session after which to continue: `next` of the answer before.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9_][A-Za-z0-9._-]*$")]
    after: Option<String>,
}

/// Result of erasing settled sessions by age.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RetentionResult {
    /// Ids of the erased sessions.
    #[schema(value_type = Vec<String>)]
    erased: Vec<SessionId>,
    /// Ids of sessions that are old enough and could not be erased.
    #[schema(value_type = Vec<String>)]
    failed: Vec<SessionId>,
    /// Session after which to continue; null if there are no more.
    #[schema(required, value_type = Option<String>)]
    next: Option<SessionId>,
}

/// Erases the settled sessions of the tenant that have not changed for a while, up to 200 at a time.
#[utoipa::path(
    post,
    path = "/retention",
    tag = "sessions",
    request_body = RetentionRequest,
    responses((status = 200, description = "A part of them is erased.", body = RetentionResult))
)]
pub(crate) async fn retain(
    State(app): State<Arc<App>>,
    AuthorizedCaller { caller, .. }: AuthorizedCaller<EraseRight>,
    Json(asked): Json<RetentionRequest>,
) -> Result<Json<RetentionResult>, Problem> {
    if !(SHORTEST_S..=LONGEST_S).contains(&asked.unchanged_for_s) {
        let detail = format!("unchanged_for_s must be from {SHORTEST_S} to {LONGEST_S}");
        return Err(Problem::new(ProblemCode::BadRequest, detail));
    }
    let after = asked.after.as_deref().map(query::session).transpose()?;
    let age_ms = asked.unchanged_for_s.saturating_mul(1_000);
    let before = Timestamp(app.clock.now().0.saturating_sub(age_ms));
    let tenants = Tenants::One(caller.tenant.name.clone());
    let engine = &caller.tenant.engine;
    let report = engine.erase_settled(&tenants, before, after.as_ref(), LOOKED_AT).await;
    let report = report.map_err(|error| failure::store(&error))?;
    for (session, error) in &report.failed {
        tracing::error!(%session, %error, "a session cannot be erased");
    }
    let failed = report.failed.into_iter().map(|(session, _)| session).collect();
    Ok(Json(RetentionResult { erased: report.erased, failed, next: report.next }))
}

fn problem(error: &EraseError) -> Problem {
    match error {
        EraseError::Lookup(error) => failure::start(error),
        EraseError::Changed { .. } => {
            let detail = "the session has changed in the meantime: look at it again";
            Problem::new(ProblemCode::TurnRunning, detail)
        }
        EraseError::Store(error) => failure::store(error),
        EraseError::Blobs(error) => {
            tracing::error!(%error, "the outputs of a session cannot be erased");
            let detail = "its outputs cannot be erased: erase the session again";
            Problem::new(ProblemCode::StoreAway, detail)
        }
    }
}
