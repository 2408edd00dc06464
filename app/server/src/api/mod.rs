//! The interface under `/v1`, but for streams: one resource a file.

mod describe;
pub(crate) mod failure;
mod flight;
mod health;
mod history;
mod inputs;
mod key;
mod opened;
mod query;
mod recent;
mod seen;
mod sessions;
mod view;

use std::sync::Arc;

use axum::{Extension, Router};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) use self::describe::answers;
pub(crate) use self::describe::shapes::{LimitsShape, ModeShape, PermissionsShape};
pub(crate) use self::seen::{Read, Seen};
pub(crate) use self::view::Views;
use crate::app::App;

/// The routes, without their prefix.
pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(health::health))
        .routes(routes!(health::ready))
        .routes(routes!(describe::openapi))
        .routes(routes!(sessions::open, sessions::list))
        .routes(routes!(sessions::one))
        .routes(routes!(inputs::turn))
        .routes(routes!(inputs::send))
        .routes(routes!(inputs::one))
        .routes(routes!(history::page))
}

/// Serves the description of the whole interface.
pub(crate) fn described(router: Router<Arc<App>>, routes: &OpenApi) -> Router<Arc<App>> {
    let document = Arc::new(describe::Document::of(routes));
    router.layer(Extension(document))
}
