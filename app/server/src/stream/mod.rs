//! Streams: a session's events as server-sent events, as a WebSocket, as AG-UI events; and the tickets
//! that browsers need for them.

use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;

use crate::app::App;

/// The routes, without their prefix.
pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
}
