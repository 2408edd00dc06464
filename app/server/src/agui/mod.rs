//! AG-UI: sessions for front ends of that protocol. See <https://docs.ag-ui.com/spec/1.0>.

mod client;
mod event;
mod follow;
mod project;
mod question;
mod run;
mod sample;
mod time;

#[cfg(test)]
mod tests;

use std::sync::Arc;

#[cfg(feature = "mcp")]
pub(crate) use self::time::iso_time;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

/// Returns the routes, without their prefix.
pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(follow::follow, run::run))
}
