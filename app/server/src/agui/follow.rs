//! Following: `GET /v1/sessions/{id}/agui`, which streams runs as they happen.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use windlass_engine::core::{Fact, Seq};

use super::client::AguiClient;
use super::project::{Projection, TurnFilter};
use crate::api::answers::{BadCursor, NoSession};
use crate::api::{ReadRight, SessionAccess};
use crate::app::App;
use crate::problem::Problem;
use crate::stream::begin::{acquire_permit, behind_log, open_stream};
use crate::stream::cursor::{Cursor, EventsQuery};
use crate::stream::sse::retry;

/// Streams a session's turns as AG-UI runs: the open one from its beginning, and those after it.
/// With a cursor, streams everything after it.
#[utoipa::path(
    get,
    path = "/sessions/{id}/agui",
    tag = "events",
    params(
        ("id" = String, Path, description = "The session."),
        ("Last-Event-ID" = Option<u64>, Header, description = "The last position that the client has."),
        EventsQuery,
    ),
    responses(
        (status = 200, description = "A stream that does not end by itself.", body = String,
         content_type = "text/event-stream"),
        NoSession, BadCursor,
    )
)]
pub(super) async fn follow(
    State(app): State<Arc<App>>,
    seen: SessionAccess<ReadRight>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let asked = Cursor::requested(&uri, &headers)?;
    let pass = acquire_permit(&app, &seen.caller)?;
    let whole = app.views.get(&seen.caller.tenant, &seen.first).await?;
    let open = whole.view.turn.map(Seq);
    let last = whole.view.last;
    let (from, known) = match (asked.from, open) {
        // The open run, from its beginning.
        (None, Some(open)) => (before(open), before(open)),
        (None, None) => (last, last),
        (Some(None), open) => (open.map_or(last, before), last),
        (Some(Some(after)), _) => (turn_start(&seen, after).await?, after),
    };
    let cursor = Cursor { after: Some(from), live: asked.live };
    let following = open_stream(&app, seen.caller, &seen.id, cursor, pass).await?;
    let projection = Projection::new(seen.id, TurnFilter::All, known);
    Ok(AguiClient::new(following, projection, retry(&app)).answer())
}

/// Returns the previous position.
pub(super) fn before(seq: Seq) -> Seq {
    Seq(seq.0.saturating_sub(1))
}

/// Returns the start of the turn that is open at a position.
async fn turn_start(seen: &SessionAccess<ReadRight>, after: Seq) -> Result<Seq, Problem> {
    if after == Seq::ZERO {
        return Ok(after);
    }
    // No store has higher positions.
    if i64::try_from(after.0).is_err() {
        return Err(behind_log());
    }
    let facts = seen.read(before(after), 1).await?;
    let fact = facts.first().ok_or_else(behind_log)?;
    Ok(match (&fact.fact, fact.turn) {
        (Fact::TurnSettled(_), _) | (_, None) => after,
        (_, Some(turn)) => before(Seq(turn.0)),
    })
}
