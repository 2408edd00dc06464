//! Routes under `/v1`, except streams: one resource in each file.

mod approvals;
mod cache;
mod changes;
mod client_calls;
mod commands;
mod context;
mod control;
mod describe;
mod erase;
mod execute;
pub(crate) mod failure;
mod fold_cache;
mod forks;
mod grants;
mod health;
mod history;
mod inputs;
mod key;
mod models;
mod output;
mod prefer;
mod processes;
mod query;
mod queue;
mod rewind;
mod session_access;
mod session_change;
mod session_handle;
mod sessions;
mod snapshots;
mod title;
mod turn_permits;
mod turns;
mod view;

use std::sync::Arc;

use axum::{Extension, Router};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

#[cfg(feature = "mcp")]
pub(crate) use self::approvals::open_approvals;
pub(crate) use self::approvals::{Decision, DecisionRequest, decide};
pub(crate) use self::client_calls::{ClientResult, submit};
#[cfg(feature = "mcp")]
pub(crate) use self::control::{InterruptRequest, continue_session, stop_turn};
pub(crate) use self::describe::answers;
pub(crate) use self::describe::shapes::{
    EffectShape, LimitsShape, ModeShape, PermissionsShape, TransportShape,
};
#[cfg(feature = "mcp")]
pub(crate) use self::inputs::{InputState, input_status};
pub(crate) use self::inputs::{accept, images};
#[cfg(feature = "mcp")]
pub(crate) use self::key::ClientKey;
#[cfg(feature = "mcp")]
pub(crate) use self::session_access::RequiredRight;
pub(crate) use self::session_access::{ReadRight, RunRight, SessionAccess};
#[cfg(feature = "mcp")]
pub(crate) use self::sessions::open_session;
#[cfg(feature = "mcp")]
pub(crate) use self::turns::read_turn;
pub(crate) use self::view::ViewCache;
use crate::app::App;

/// Returns the routes, without their prefix.
pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(health::health))
        .routes(routes!(health::ready))
        .routes(routes!(describe::openapi))
        .routes(routes!(models::list))
        .routes(routes!(sessions::open, sessions::list))
        .routes(routes!(sessions::one, session_change::change, erase::erase))
        .routes(routes!(erase::retain))
        .routes(routes!(context::usage))
        .routes(routes!(inputs::turn, turns::list))
        .routes(routes!(turns::one))
        .routes(routes!(snapshots::page))
        .routes(routes!(inputs::send, queue::list))
        .routes(routes!(commands::run))
        .routes(routes!(inputs::one, queue::change, queue::withdraw))
        .routes(routes!(control::interrupt))
        .routes(routes!(control::resume))
        .routes(routes!(control::compact))
        .routes(routes!(approvals::of_session))
        .routes(routes!(approvals::of_tenant))
        .routes(routes!(approvals::answer))
        .routes(routes!(client_calls::list))
        .routes(routes!(client_calls::answer))
        .routes(routes!(grants::list))
        .routes(routes!(grants::revoke))
        .routes(routes!(forks::fork))
        .routes(routes!(rewind::rewind))
        .routes(routes!(history::page))
        .routes(routes!(changes::of_session))
        .routes(routes!(changes::of_turn))
        .routes(routes!(changes::undo))
        .routes(routes!(output::read))
        .routes(routes!(processes::list))
        .routes(routes!(processes::stop))
}

/// Serves the description of the whole interface.
pub(crate) fn with_description(router: Router<Arc<App>>, routes: &OpenApi) -> Router<Arc<App>> {
    let document = Arc::new(describe::Document::of(routes));
    router.layer(Extension(document))
}
