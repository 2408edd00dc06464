//! Streams: a session's events as server-sent events, as a WebSocket, as AG-UI events; and the tickets
//! that browsers need for them.

mod begin;
mod cursor;
mod following;
mod lines;
mod sse;
mod tickets;
mod ws;

use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

/// The routes, without their prefix.
pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(sse::events))
        .routes(routes!(ws::socket))
        .routes(routes!(tickets::give))
}
