//! Health: liveness of the process, and readiness for work. Both routes need no token.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::problem::{Problem, ProblemBody, ProblemCode};

/// Health of the server.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// Always the word `ok`.
    status: &'static str,
    /// `works` if a probe could be written and read back, else `failed`.
    store: &'static str,
}

impl Health {
    fn of(store_works: bool) -> Self {
        Self { status: "ok", store: if store_works { "works" } else { "failed" } }
    }
}

/// Answers while the process lives, and tells the state of the store. A failed store is no reason to
/// restart the process: it opens the sessions again once the store works, or ends by itself.
#[utoipa::path(
    get,
    path = "/health",
    tag = "process",
    security(()),
    responses((status = 200, description = "It lives.", body = Health))
)]
pub(crate) async fn health(State(app): State<Arc<App>>) -> Json<Health> {
    Json(Health::of(app.stores.is_healthy().await))
}

/// Answers while the server accepts work.
#[utoipa::path(
    get,
    path = "/ready",
    tag = "process",
    security(()),
    responses(
        (status = 200, description = "It takes work.", body = Health),
        (status = 503, description = "It is going away, or its store fails a probe.", body = ProblemBody,
         content_type = "application/problem+json"),
    )
)]
pub(crate) async fn ready(State(app): State<Arc<App>>) -> Result<Json<Health>, Problem> {
    if app.draining() {
        let detail = "the server is going away: use another one";
        return Err(Problem::new(ProblemCode::Draining, detail).retry_after(1));
    }
    if !app.stores.is_healthy().await {
        let detail = "the store does not answer, or accepts no writes: use another server";
        return Err(Problem::new(ProblemCode::StoreAway, detail).retry_after(1));
    }
    Ok(Json(Health::of(true)))
}
