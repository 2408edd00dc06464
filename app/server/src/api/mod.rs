//! The interface under `/v1`, but for streams: one resource a file.

mod health;

use std::sync::Arc;

use axum::routing::get;
use axum::{Json, Router};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

/// The routes, without their prefix.
pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(health::health))
        .routes(routes!(health::ready))
}

/// Serves the description of the whole interface.
pub(crate) fn description(description: OpenApi) -> Router<Arc<App>> {
    let description = Arc::new(description);
    let served = get(move || async move { Json((*description).clone()) });
    Router::new().route("/v1/openapi.json", served)
}
