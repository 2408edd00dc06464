//! Queries: query strings, parsed strictly, and the page parameters of listings.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;
use windlass_engine::core::SessionId;

use crate::problem::{Problem, ProblemCode};

/// Query string of a request.
pub(crate) struct QueryParams<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        match read {
            Ok(axum::extract::Query(query)) => Ok(Self(query)),
            Err(error) => {
                let detail = format!("cannot read the query: {}", error.body_text());
                Err(Problem::new(ProblemCode::BadRequest, detail))
            }
        }
    }
}

/// Options of erasing a session.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct EraseQuery {
    /// True to erase the sessions of its agents, and of theirs, too.
    #[serde(default)]
    #[param(default = false)]
    pub(super) agents: bool,
}

/// Requested range of a log.
#[derive(Debug, Clone, Copy, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LogRange {
    /// Begins after this position; the log's first is 1.
    #[serde(default)]
    #[param(default = 0)]
    pub(super) after: u64,
    /// Most entries; fewer may be returned although there are more.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub(super) limit: Option<u64>,
    /// Ends with this position: the log as it was then.
    #[param(minimum = 1)]
    pub(super) at: Option<u64>,
}

/// Position as of which something is read.
#[derive(Debug, Clone, Copy, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PositionQuery {
    /// Position of the log as of which it is read; the default is the end.
    #[param(minimum = 1)]
    pub(super) at: Option<u64>,
}

/// Requested turns, and the requested parts of them.
#[derive(Debug, Clone, Copy, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TurnsQuery {
    /// True to list the snapshots of the turns' cycles in place of the turns.
    #[serde(default)]
    #[param(default = false)]
    pub(super) snapshots: bool,
    /// Begins after this position; the log's first is 1.
    #[serde(default)]
    #[param(default = 0)]
    pub(super) after: u64,
    /// Most turns or snapshots; fewer may be returned although there are more.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub(super) limit: Option<u64>,
}

/// Requested cycles of a turn.
#[derive(Debug, Clone, Copy, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CyclesQuery {
    /// Begins after this cycle; the turn's first is 1.
    #[serde(default)]
    #[param(default = 0)]
    pub(super) after: u32,
    /// Most cycles; fewer may be returned although there are more.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub(super) limit: Option<u64>,
}

/// Returns the requested length of a listing, within a limit.
pub(crate) fn limit(wanted: Option<u64>, most: usize) -> Result<usize, Problem> {
    let wanted = wanted.unwrap_or(DEFAULT_LIMIT);
    if wanted == 0 || wanted > MAX_LIMIT {
        let detail = format!("limit is a number from 1 to {MAX_LIMIT}");
        return Err(Problem::new(ProblemCode::BadRequest, detail));
    }
    Ok(usize::try_from(wanted).unwrap_or(most).clamp(1, most.max(1)))
}

/// Default length of a listing.
const DEFAULT_LIMIT: u64 = 100;
/// Longest listing that can be requested. A server's own limit may be lower: then fewer entries are
/// returned.
const MAX_LIMIT: u64 = 1_000;

/// Parses the id of a session in a query.
pub(crate) fn session(text: &str) -> Result<SessionId, Problem> {
    SessionId::new(text).map_err(|error| {
        let detail = format!("after: {error}");
        Problem::new(ProblemCode::BadRequest, detail)
    })
}
