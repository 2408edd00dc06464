//! History: pages of a session's facts.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use windlass_engine::core::Seq;

use super::describe::answers::{BadCursor, NoSession};
use super::describe::shapes::FactShape;
use super::failure;
use super::query::{LogRange, QueryParams, limit};
use super::session_access::{ReadRight, SessionAccess};
use crate::app::App;
use crate::json::Json;
use crate::problem::{Problem, ProblemCode};

/// Facts of one read.
const PAGE: usize = 64;
/// Bytes of texts after which a page ends, regardless of its limit. The last fact may exceed it.
const BYTES: usize = 4 * 1024 * 1024;

/// Page of facts, oldest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct Facts {
    /// Facts of this page, each as `windlass export` writes it.
    #[schema(value_type = Vec<FactShape>)]
    facts: Vec<Box<serde_json::value::RawValue>>,
    /// Value of `after` for the next page; null at the end of the log.
    #[schema(required, value_type = Option<u64>)]
    next: Option<Seq>,
}

/// Reads a page of the log.
#[utoipa::path(
    get,
    path = "/sessions/{id}/history",
    tag = "history",
    params(("id" = String, Path, description = "The session."), LogRange),
    responses(
        (status = 200, description = "A page of it.", body = Facts),
        NoSession, BadCursor,
    )
)]
pub(crate) async fn page(
    State(app): State<Arc<App>>,
    seen: SessionAccess<ReadRight>,
    QueryParams(span): QueryParams<LogRange>,
) -> Result<Json<Facts>, Problem> {
    let (limit, mut after) = (limit(span.limit, app.bounds.page)?, Seq(span.after));
    let end = match span.at.map(Seq) {
        Some(at) if at < after || at == Seq::ZERO => return Err(no_position()),
        Some(at) => {
            let there = seen.read(Seq(at.0.saturating_sub(1)), 1).await?;
            if there.first().map(|fact| fact.seq) != Some(at) {
                return Err(no_position());
            }
            Some(at)
        }
        None => None,
    };
    let (mut facts, mut bytes) = (Vec::new(), 0_usize);
    loop {
        let left = end.map_or(u64::MAX, |end| end.0.saturating_sub(after.0));
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let wanted = limit.saturating_sub(facts.len()).min(PAGE).min(left);
        if wanted == 0 {
            return Ok(Json(Facts { facts, next: None }));
        }
        let some = seen.read(after, wanted).await?;
        if facts.is_empty() && some.is_empty() {
            let at = seen.read(Seq(after.0.saturating_sub(1)), 1).await?;
            is_position(after, at.first().map(|fact| fact.seq))?;
        }
        let ends = some.len() < wanted;
        for fact in some {
            after = fact.seq;
            let text = serde_json::value::to_raw_value(&fact);
            let text = text.map_err(|error| failure::defect(&error))?;
            bytes = bytes.saturating_add(text.get().len());
            facts.push(text);
            if bytes >= BYTES {
                break;
            }
        }
        if ends && bytes < BYTES {
            return Ok(Json(Facts { facts, next: None }));
        }
        if facts.len() >= limit || bytes >= BYTES {
            let next = end.is_none_or(|end| after < end).then_some(after);
            return Ok(Json(Facts { facts, next }));
        }
    }
}

/// Checks that a cursor is the position of a fact, or 0.
pub(super) fn is_position(after: Seq, at: Option<Seq>) -> Result<(), Problem> {
    match after == Seq::ZERO || at == Some(after) {
        true => Ok(()),
        false => Err(beyond_end()),
    }
}

/// Returns the problem of a log that cannot be read as of a position.
pub(super) fn no_position() -> Problem {
    let detail = "at is a position of the log, from 1 to its end, and not before after";
    Problem::new(ProblemCode::BadCursor, detail)
}

/// Returns the problem of a cursor that the log does not have.
fn beyond_end() -> Problem {
    let detail = "after is a position of the log, or 0: this one lies behind its end";
    Problem::new(ProblemCode::BadCursor, detail)
}
