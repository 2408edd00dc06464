//! Streams: a session's events as server-sent events or over a WebSocket, and the tickets that
//! browsers need for them.

pub(crate) mod begin;
pub(crate) mod client_stream;
pub(crate) mod cursor;
pub(crate) mod sse;
pub(crate) mod sse_buffer;
mod tickets;
mod ws;

use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

/// Returns the routes, without their prefix.
pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(sse::events))
        .routes(routes!(ws::socket))
        .routes(routes!(tickets::issue))
}
