//! Tickets: `POST /v1/sessions/{id}/tickets`, for browsers, which cannot send a header with a
//! stream.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::answers::NoSession;
use crate::api::{ReadRight, SessionAccess};
use crate::app::App;
use crate::json::Json;
use crate::problem::Problem;

/// Short-lived credential for one stream.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Ticket {
    /// Ticket for the URL of a stream of this session, as `?ticket=`.
    ticket: String,
    /// Milliseconds for which the ticket is valid.
    good_ms: u64,
}

/// Issues a ticket for one connection to the session's events.
#[utoipa::path(
    post,
    path = "/sessions/{id}/tickets",
    tag = "events",
    params(("id" = String, Path, description = "The session.")),
    responses(
        (status = 201, description = "A ticket, good once.", body = Ticket),
        NoSession,
    )
)]
pub(super) async fn issue(
    State(app): State<Arc<App>>,
    seen: SessionAccess<ReadRight>,
) -> Result<Response, Problem> {
    let SessionAccess { caller, id, .. } = seen;
    let now = app.clock.now();
    let ticket = app.tickets.issue(now, &id, &caller.grant, caller.token)?;
    let good_ms = app.bounds.ticket_ms;
    let secret = (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let given = Json(Ticket { ticket, good_ms });
    Ok((StatusCode::CREATED, [secret], given).into_response())
}
