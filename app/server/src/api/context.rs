//! Context: what fills the model's window, by source.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use windlass_engine::core::{WindowSource, WindowSourceKind, window_usage};

use super::describe::answers::{Conflict, NoSession};
use super::failure;
use super::session_access::{ReadRight, SessionAccess};
use crate::app::App;
use crate::json::Json;
use crate::problem::Problem;

/// Content of the next request of a session.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "window": 128_000, "tokens": 1_340, "measured": 1_200,
    "sources": [{"source": "instructions", "name": null, "items": 0, "tokens": 700},
                {"source": "tool", "name": "read_file", "items": 0, "tokens": 180}],
}))]
pub(crate) struct ContextUsage {
    /// Tokens of the model's window; null if it is unknown.
    #[schema(required)]
    window: Option<u64>,
    /// Tokens of the next request: the provider's count of the latest one, with an estimate of later
    /// additions; without a count, an estimate of all.
    tokens: u64,
    /// The provider's count of the latest request; null before the first, and after a compaction.
    #[schema(required)]
    measured: Option<u64>,
    /// What fills the window.
    sources: Vec<ContextSource>,
}

/// One source of the content, with tokens that are estimated from its text.
#[derive(Serialize, ToSchema)]
struct ContextSource {
    /// Kind of the source.
    source: ContextSourceKind,
    /// Name of the tool or of the context.
    #[schema(required)]
    name: Option<String>,
    /// Number of items of the conversation; 0 for instructions and tools.
    items: u64,
    /// Estimated tokens.
    tokens: u64,
}

/// Kind of a source.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ContextSourceKind {
    /// Instructions of the settings.
    Instructions,
    /// Definition of the named tool.
    Tool,
    /// Named context beside the conversation, such as a project's instructions.
    Context,
    /// Text that a compaction put in place of what it dropped.
    Summary,
    /// Texts of the user.
    User,
    /// Texts of the model.
    Model,
    /// Reasoning of the model.
    Reasoning,
    /// Calls of the named tool.
    Call,
    /// Results of the named tool.
    Result,
    /// Images, also in results.
    Image,
}

impl From<WindowSource> for ContextSource {
    fn from(source: WindowSource) -> Self {
        let WindowSource { kind, name, items, tokens } = source;
        let source = match kind {
            WindowSourceKind::Instructions => ContextSourceKind::Instructions,
            WindowSourceKind::Tool => ContextSourceKind::Tool,
            WindowSourceKind::Context => ContextSourceKind::Context,
            WindowSourceKind::Summary => ContextSourceKind::Summary,
            WindowSourceKind::User => ContextSourceKind::User,
            WindowSourceKind::Model => ContextSourceKind::Model,
            WindowSourceKind::Reasoning => ContextSourceKind::Reasoning,
            WindowSourceKind::Call => ContextSourceKind::Call,
            WindowSourceKind::Result => ContextSourceKind::Result,
            WindowSourceKind::Image => ContextSourceKind::Image,
        };
        Self { source, name, items, tokens }
    }
}

/// Shows what fills the model's window, by source.
#[utoipa::path(
    get,
    path = "/sessions/{id}/context",
    tag = "sessions",
    params(("id" = String, Path, description = "The session.")),
    responses(
        (status = 200, description = "The content of the next request.", body = ContextUsage),
        NoSession, Conflict,
    )
)]
pub(crate) async fn usage(
    State(app): State<Arc<App>>,
    seen: SessionAccess<ReadRight>,
) -> Result<Json<ContextUsage>, Problem> {
    let loaded = app.views.load(&seen.caller.tenant, &seen.id).await;
    let loaded = loaded.map_err(|error| failure::start(&error))?;
    let usage = window_usage(&loaded.session, &loaded.history);
    let window = loaded.session.settings.window.tokens;
    Ok(Json(ContextUsage {
        window: Some(window).filter(|tokens| *tokens > 0),
        tokens: usage.tokens,
        measured: usage.measured,
        sources: usage.sources.into_iter().map(ContextSource::from).collect(),
    }))
}
