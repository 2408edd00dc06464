//! Session handles: requested only for changes, with the current settings of the tenant.

use windlass_engine::SessionHandle;
use windlass_engine::core::{Lineage, Scope, Session, SessionId, Settings, Widening};

use super::failure;
use crate::app::App;
use crate::caller::Caller;
use crate::client_tools::{self, ClientTool};
use crate::problem::Problem;
use crate::tenant::Refusal;

/// Returns a handle of a session on any node.
pub(crate) async fn handle(
    app: &App,
    caller: &Caller,
    id: &SessionId,
) -> Result<SessionHandle, Problem> {
    if app.draining() {
        return Err(failure::draining());
    }
    let handle = caller.tenant.engine.session(id, caller.scope()).await;
    handle.map_err(|error| failure::start(&error))
}

/// Returns a handle of a session for a turn, and applies the tenant's current settings to the
/// session. `declared` replaces the session's client tools.
pub(crate) async fn open(
    app: &App,
    caller: &Caller,
    id: &SessionId,
    declared: Option<&[ClientTool]>,
) -> Result<(SessionHandle, Session), Problem> {
    let handle = handle(app, caller, id).await?;
    let _held = app.hold_settings(id).await;
    let state = handle.state().await;
    let state = state.map_err(|error| failure::send(&error))?;
    let today = caller.tenant.factory.current_settings(&state.settings);
    let by = Scope::system("the server's configuration");
    configure(&handle, &state, today, declared, by).await?;
    Ok((handle, state))
}

/// Applies settings of the tenant to a session. `declared` replaces the session's client tools. The
/// caller holds the settings since it read the state.
pub(crate) async fn configure(
    handle: &SessionHandle,
    state: &Session,
    settings: Result<Settings, Refusal>,
    declared: Option<&[ClientTool]>,
    by: Scope,
) -> Result<(), Problem> {
    let mut settings = settings.map_err(|refusal| failure::refused(&refusal))?;
    // The parent determined a child's tools; the configuration cannot add to them.
    settings.tools = state.offered_tools(settings.tools);
    match declared {
        None => settings.retain_client_tools(&state.settings),
        Some(tools) => {
            let declared = client_tools::declare(&mut settings, tools);
            declared.map_err(|refusal| failure::refused(&refusal))?;
        }
    }
    let widening = match &*state.lineage {
        Lineage::Child { .. } => Widening::Forbidden,
        Lineage::Root | Lineage::Fork { .. } => Widening::Allowed,
    };
    if settings == *state.settings {
        return Ok(());
    }
    let changed = handle.configure(settings, by, widening).await;
    changed.map_err(|error| failure::send(&error))
}
