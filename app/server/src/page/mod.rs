//! The page: files that are part of the program.

use std::sync::Arc;

use axum::Router;

use crate::app::App;

/// The routes of the page.
pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
}
