//! Grants: calls that a person allowed beyond one, listed and revoked.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;
use windlass_engine::PendingApproval;
use windlass_engine::core::{ApprovalGrant, GrantLifetime, SessionId};
use windlass_engine::ports::{Grant, GrantsError, GrantsErrorKind};

use super::describe::shapes::GrantLifetimeShape;
use super::session_access::{ApproveRight, AuthorizedCaller, ReadRight};
use crate::app::App;
use crate::caller::Caller;
use crate::json::Json;
use crate::problem::{Problem, ProblemCode};

/// Grant of a person: calls that run without a question.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Grant, example = json!({
    "id": "5f0c1a9b3e77", "lifetime": "always", "session": null, "tool": "shell",
    "calls": "commands that begin with `git log`", "at_ms": 1_790_604_800_000_u64,
}))]
pub(crate) struct GrantView {
    /// Id of the grant.
    id: String,
    /// Lifetime of the grant.
    #[schema(value_type = GrantLifetimeShape)]
    lifetime: GrantLifetime,
    /// The session, if it is for one.
    #[schema(required, value_type = Option<String>)]
    session: Option<SessionId>,
    /// The tool.
    tool: String,
    /// Calls of the tool that it covers, in words.
    calls: String,
    /// Time at which it was given, in milliseconds since 1970.
    at_ms: u64,
}

/// Grants of the tenant.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GrantViews {
    /// Grants in the order in which they were given.
    grants: Vec<GrantView>,
}

/// Lists the calls that persons of the tenant allowed for a session or for good.
#[utoipa::path(
    get,
    path = "/grants",
    tag = "approvals",
    responses((status = 200, description = "All of them.", body = GrantViews))
)]
pub(crate) async fn list(
    AuthorizedCaller { caller, .. }: AuthorizedCaller<ReadRight>,
) -> Result<Json<GrantViews>, Problem> {
    let grants = caller.tenant.engine.grants().await.map_err(|error| problem(&error))?;
    Ok(Json(GrantViews { grants: grants.into_iter().map(view).collect() }))
}

/// Revokes a grant: such calls are asked about again, also in running sessions.
#[utoipa::path(
    delete,
    path = "/grants/{grant}",
    tag = "approvals",
    params(("grant" = String, Path, description = "Id of the grant.")),
    responses((status = 204, description = "It is revoked, or there was none."))
)]
pub(crate) async fn revoke(
    State(_app): State<Arc<App>>,
    AuthorizedCaller { caller, .. }: AuthorizedCaller<ApproveRight>,
    Path(grant): Path<String>,
) -> Result<StatusCode, Problem> {
    caller.tenant.engine.revoke_grant(&grant).await.map_err(|error| problem(&error))?;
    Ok(StatusCode::NO_CONTENT)
}

/// Records a grant for calls like one that is asked about.
pub(super) async fn give(
    caller: &Caller,
    session: &SessionId,
    (pending, workspace): &(PendingApproval, Option<Arc<str>>),
    lifetime: GrantLifetime,
) -> Result<(Grant, ApprovalGrant), Problem> {
    let place = (session, workspace.as_deref());
    let given = caller.tenant.engine.add_grant(place, pending, lifetime).await;
    given.map_err(|error| problem(&error))
}

/// Revokes a grant whose answer was rejected.
pub(super) async fn take_back(caller: &Caller, grant: &str) {
    if let Err(error) = caller.tenant.engine.revoke_grant(grant).await {
        tracing::error!(grant, %error, "the grant of a rejected answer stays");
    }
}

fn view(grant: Grant) -> GrantView {
    GrantView {
        id: grant.id,
        lifetime: grant.lifetime,
        session: grant.session,
        tool: grant.tool,
        calls: grant.calls.to_string(),
        at_ms: grant.at_ms,
    }
}

fn problem(error: &GrantsError) -> Problem {
    match error.kind {
        GrantsErrorKind::Unsupported | GrantsErrorKind::OtherWorkspace | GrantsErrorKind::Full => {
            Problem::new(ProblemCode::Refused, error.to_string())
        }
        GrantsErrorKind::Record => {
            tracing::error!(%error, "the record of approval grants is of no use");
            Problem::new(ProblemCode::Defect, "the record of approvals cannot be read or written")
        }
    }
}
