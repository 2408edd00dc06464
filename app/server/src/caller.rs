//! Caller: identity behind a request, added to the request once its token is verified.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use tokio::time::{Instant, sleep_until};
use windlass_engine::core::Scope;

use crate::access::{Grant, Quota, Right, SessionPermit, TokenHash, UsagePermit};
use crate::app::App;
use crate::problem::{Problem, ProblemCode};
use crate::tenant::Tenant;

/// Identity behind a request.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) tenant: Arc<Tenant>,
    pub(crate) grant: Arc<Grant>,
    /// Hash of the request's token. A stream ends when the token is revoked.
    pub(crate) token: TokenHash,
    /// Time at which the request arrived.
    pub(crate) arrived: Instant,
}

impl Caller {
    /// Returns the scope of the caller.
    pub(crate) fn scope(&self) -> &Scope {
        &self.grant.scope
    }

    /// Returns the problem of a session that does not exist for this caller. Waits until the next
    /// full step of the limit since the request arrived, so that the time does not reveal the
    /// cause.
    pub(crate) async fn no_session(&self, app: &App) -> Problem {
        let step = Duration::from_millis(app.bounds.unknown_ms.max(1));
        let steps = self.arrived.elapsed().as_nanos() / step.as_nanos();
        let steps = u32::try_from(steps).unwrap_or(u32::MAX).saturating_add(1);
        sleep_until(self.arrived + step.saturating_mul(steps)).await;
        Problem::no_session()
    }

    /// Reserves room for one more turn. Hold the permit until the turn has ended.
    pub(crate) async fn turn_permit(&self, app: &App) -> Result<UsagePermit, Problem> {
        let store = self.tenant.store.as_ref();
        app.uses.turn(&self.tenant.name, &self.quota(app), store).await
    }

    /// Reserves room for one more stream. Hold the permit as long as the stream.
    pub(crate) fn stream_permit(&self, app: &App) -> Result<UsagePermit, Problem> {
        app.uses.stream(&self.tenant.name, &self.quota(app))
    }

    /// Reserves room for one more session.
    pub(crate) async fn session_permit(&self, app: &App) -> Result<SessionPermit, Problem> {
        let store = self.tenant.store.as_ref();
        let quota = self.quota(app);
        app.uses.session(&self.tenant.name, &quota, store).await
    }

    fn quota(&self, app: &App) -> Quota {
        app.access.quota(&self.tenant.name)
    }

    /// Checks that the caller has this right.
    pub(crate) fn require(&self, right: Right) -> Result<(), Problem> {
        if self.grant.rights.has(right) {
            return Ok(());
        }
        let name = match right {
            Right::Read => "read",
            Right::Run => "run",
            Right::Approve => "approve",
            Right::Erase => "erase",
        };
        let detail = format!("the token lacks the right {name:?}: use one that has it");
        Err(Problem::new(ProblemCode::Forbidden, detail))
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| {
            Problem::new(ProblemCode::Unauthorized, "send Authorization: Bearer TOKEN")
        })
    }
}
