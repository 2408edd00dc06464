//! Session access: checks that a session in a request exists for the caller. Every route on a
//! session uses it; it opens nothing.

use std::marker::PhantomData;
use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use windlass_engine::StartError;
use windlass_engine::core::{Fact, RecordedFact, Scope, Seq, SessionId, SessionOpened};

use super::failure;
use crate::access::Right;
use crate::app::App;
use crate::caller::Caller;
use crate::problem::{Problem, ProblemCode};

/// Right that a route needs, as a type.
pub(crate) trait RequiredRight: Send + Sync + 'static {
    /// The right that is required.
    const RIGHT: Right;
}

/// [`Right::Read`].
pub(crate) struct ReadRight;
/// [`Right::Run`].
pub(crate) struct RunRight;
/// [`Right::Approve`].
pub(crate) struct ApproveRight;
/// [`Right::Erase`].
pub(crate) struct EraseRight;

impl RequiredRight for ReadRight {
    const RIGHT: Right = Right::Read;
}

impl RequiredRight for RunRight {
    const RIGHT: Right = Right::Run;
}

impl RequiredRight for EraseRight {
    const RIGHT: Right = Right::Erase;
}

impl RequiredRight for ApproveRight {
    const RIGHT: Right = Right::Approve;
}

/// Caller that has this right.
pub(crate) struct AuthorizedCaller<R> {
    pub(crate) caller: Caller,
    right: PhantomData<R>,
}

impl<R: RequiredRight, S: Sync> FromRequestParts<S> for AuthorizedCaller<R> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, state).await?;
        caller.require(R::RIGHT)?;
        Ok(Self { caller, right: PhantomData })
    }
}

/// Session that the path names, for a caller that has this right.
pub(crate) struct SessionAccess<R> {
    pub(crate) caller: Caller,
    pub(crate) id: SessionId,
    /// First fact of the session.
    pub(crate) first: Arc<RecordedFact>,
    right: PhantomData<R>,
}

impl<R: RequiredRight> FromRequestParts<Arc<App>> for SessionAccess<R> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let AuthorizedCaller { caller, .. } =
            AuthorizedCaller::<R>::from_request_parts(parts, app).await?;
        Self::find(app, caller, path_session(parts).await).await
    }
}

impl<R: RequiredRight> SessionAccess<R> {
    /// Finds a session for a caller. Without an id there is none.
    pub(crate) async fn find(
        app: &App,
        caller: Caller,
        id: Option<SessionId>,
    ) -> Result<Self, Problem> {
        caller.require(R::RIGHT)?;
        let Some(id) = id else {
            return Err(caller.no_session(app).await);
        };
        let Some(first) = lookup(&caller, &id).await? else {
            return Err(caller.no_session(app).await);
        };
        Ok(Self { caller, id, first, right: PhantomData })
    }
}

impl<R> SessionAccess<R> {
    /// Reads facts of the session after a position.
    pub(crate) async fn read(
        &self,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, Problem> {
        let facts = self.caller.tenant.store.read(&self.id, after, limit).await;
        facts.map_err(|error| failure::store(&error))
    }

    /// Reads the fact at a position, if there is one yet.
    pub(crate) async fn fact_at(&self, at: Seq) -> Result<Option<RecordedFact>, Problem> {
        fact_at(&self.caller, &self.id, at).await
    }
}

/// Reads the fact of a session at a position, if there is one yet.
pub(crate) async fn fact_at(
    caller: &Caller,
    id: &SessionId,
    at: Seq,
) -> Result<Option<RecordedFact>, Problem> {
    let found = caller.tenant.store.read(id, Seq(at.0.saturating_sub(1)), 1).await;
    let found = found.map_err(|error| failure::store(&error))?;
    Ok(found.into_iter().find(|fact| fact.seq == at))
}

/// Reads the first fact of a session, if it exists for the caller.
pub(crate) async fn lookup(
    caller: &Caller,
    id: &SessionId,
) -> Result<Option<Arc<RecordedFact>>, Problem> {
    match caller.tenant.engine.lookup(id, caller.scope()).await {
        Ok(looked) if is_of(caller, &looked.owner) && caller.tenant.serves(&looked.first) => {
            Ok(Some(looked.first))
        }
        Ok(_) | Err(StartError::Unknown(_)) => Ok(None),
        Err(error) => Err(failure::start(&error)),
    }
}

/// Returns true if a session of this owner exists for the caller. It must belong to the same
/// tenant, even if the caller's scope may see more.
fn is_of(caller: &Caller, owner: &Scope) -> bool {
    let of = match owner {
        Scope::Principal { tenant, .. } => *tenant == caller.tenant.name,
        Scope::System { .. } => false,
    };
    of && caller.scope().can_access(owner)
}

/// Returns the fact that opened a session, given its first fact.
pub(crate) fn opening_fact(first: &RecordedFact) -> Option<&SessionOpened> {
    if let Fact::SessionOpened(opened) = &first.fact {
        return Some(opened);
    }
    None
}

/// Returns the session id in the path. An invalid id names no session.
async fn path_session(parts: &mut Parts) -> Option<SessionId> {
    let params = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    let (_, text) = params.iter().find(|(name, _)| *name == "id")?;
    SessionId::new(text).ok()
}

/// Number in the path beside a session.
pub(crate) struct PathNumber(pub(crate) u64);

impl<S: Sync> FromRequestParts<S> for PathNumber {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let params = RawPathParams::from_request_parts(parts, &()).await;
        let params = params.map_err(|_| no_number("number"))?;
        let other = params.iter().find(|(name, _)| *name != "id");
        let (name, text) = other.ok_or_else(|| no_number("number"))?;
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.then(|| text.parse().ok()).flatten();
        number.map(Self).ok_or_else(|| no_number(name))
    }
}

fn no_number(name: &str) -> Problem {
    let detail = format!("the {name} in the path is a position of the log: digits only");
    Problem::new(ProblemCode::BadRequest, detail)
}
