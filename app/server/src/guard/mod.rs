//! Guards: what a request goes through before a route sees it, in this order: Host, Origin, the token,
//! the rate, the form and the size of the body.

mod token;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;

use crate::app::App;
use crate::problem::{Code, Problem};

/// Puts the guards around the routes.
pub(crate) fn around(router: Router<Arc<App>>, app: &Arc<App>) -> Router<Arc<App>> {
    router.layer(from_fn_with_state(app.clone(), token::known))
}

/// There is nothing at this path.
pub(crate) async fn no_route() -> Problem {
    Problem::new(
        Code::NoRoute,
        "the interface is described by GET /v1/openapi.json",
    )
}

/// The path does not take this method.
pub(crate) async fn no_method() -> Problem {
    Problem::new(
        Code::NoMethod,
        "the header Allow names those that are taken",
    )
}
