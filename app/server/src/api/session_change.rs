//! Changes of a session by a person: its name, mode, permissions, model and effort.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use utoipa::ToSchema;
use windlass_engine::core::{MAX_TITLE_CHARS, Mode, Permissions, Reject, Settings, is_title};
use windlass_engine::{SendError, SessionCommand};

use super::describe::answers::{Conflict, NoSession, Refused, StoreFull, Waits};
use super::describe::shapes::{ModeShape, PermissionsShape};
use super::failure;
use super::session_access::{RunRight, SessionAccess};
use super::session_handle::{configure, handle};
use super::view::{SessionDetails, SessionView};
use crate::access::Right;
use crate::app::App;
use crate::json::Json;
use crate::object;
use crate::problem::Problem;
use crate::tenant::SettingsChange;

/// Changes of a session. A missing field stays as it is.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"mode": "plan", "effort": null}))]
pub(crate) struct SessionChange {
    /// Mode of turns that open from now on. From `plan` to `build` needs the right `approve` too.
    #[serde(deserialize_with = "object::present")]
    #[schema(nullable = false, value_type = Option<ModeShape>)]
    mode: Option<Mode>,
    /// Permissions of calls of those turns. Wider ones than before need the right `approve` too.
    #[serde(deserialize_with = "object::present")]
    #[schema(nullable = false, value_type = Option<PermissionsShape>)]
    permissions: Option<Permissions>,
    /// One of the offered models.
    #[serde(deserialize_with = "object::present")]
    #[schema(nullable = false)]
    model: Option<String>,
    /// Reasoning effort, in the provider's words; null for the provider's default.
    #[serde(deserialize_with = "object::present")]
    #[schema(value_type = Option<String>)]
    effort: Option<Option<String>>,
    /// Name of the session, one line; null for the first words of its first input.
    #[serde(deserialize_with = "object::present")]
    #[schema(min_length = 1, max_length = 200, value_type = Option<String>)]
    title: Option<Option<String>>,
}

impl SessionChange {
    fn settings(&self) -> SettingsChange {
        SettingsChange {
            mode: self.mode,
            permissions: self.permissions,
            model: self.model.clone(),
            effort: self.effort.clone(),
        }
    }

    /// Returns true if calls could run without a question that these settings ask.
    fn widens(&self, settings: &Settings) -> bool {
        let builds = settings.mode == Mode::Plan && self.mode == Some(Mode::Build);
        builds || self.permissions.is_some_and(|permissions| permissions > settings.permissions)
    }

    /// Returns true if a session is like that already.
    fn is_done(&self, SessionDetails { view, name, .. }: &SessionDetails) -> bool {
        let same = |title: &Option<String>| title.as_deref().map(str::trim) == name.as_deref();
        self.title.as_ref().is_none_or(same)
            && self.mode.is_none_or(|mode| view.mode == Some(mode))
            && self.permissions.is_none_or(|may| view.permissions == Some(may))
            && self.model.as_ref().is_none_or(|model| view.model.as_ref() == Some(model))
            && self.effort.as_ref().is_none_or(|effort| view.effort == *effort)
            && view.model.is_some()
    }
}

/// Changes the name of a session, and its settings up to those of a new one, which apply to turns
/// that open from now on. A repeated request changes nothing.
#[utoipa::path(
    patch,
    path = "/sessions/{id}",
    tag = "sessions",
    params(("id" = String, Path, description = "The session.")),
    request_body(content = Option<SessionChange>),
    responses(
        (status = 200, description = "The changes are durable.", body = SessionView),
        NoSession, Conflict, Refused, StoreFull, Waits,
    )
)]
pub(crate) async fn change(
    State(app): State<Arc<App>>,
    seen: SessionAccess<RunRight>,
    Json(change): Json<SessionChange>,
) -> Result<Json<SessionView>, Problem> {
    let (caller, tenant) = (&seen.caller, &seen.caller.tenant);
    let before = app.views.get(tenant, &seen.first).await?;
    if change.is_done(&before) {
        return Ok(Json(before.view.clone()));
    }
    // Checked first, so that a change that is refused changes nothing.
    if let Some(Some(title)) = &change.title
        && !is_title(title.trim())
    {
        let invalid = Reject::InvalidTitle { limit: MAX_TITLE_CHARS };
        return Err(failure::send(&SendError::Rejected(invalid)));
    }
    let handle = handle(&app, caller, &seen.id).await?;
    let by = || caller.scope().clone();
    let wish = change.settings();
    if wish != SettingsChange::default() {
        let _held = app.hold_settings(&seen.id).await;
        let state = handle.state().await;
        let state = state.map_err(|error| failure::send(&error))?;
        // Without the right to answer the session's questions nobody may abolish them.
        if change.widens(&state.settings) {
            caller.require(Right::Approve)?;
        }
        let settings = tenant.factory.changed_settings(&state.settings, &wish);
        configure(&handle, &state, settings, None, by()).await?;
    }
    if let Some(title) = change.title {
        let renamed = handle.execute(SessionCommand::Rename { title }, by(), None).await;
        renamed.map_err(|error| failure::send(&error))?;
    }
    let after = app.views.get(tenant, &seen.first).await?;
    Ok(Json(after.view.clone()))
}
