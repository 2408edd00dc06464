//! Session handles: requested only for changes, with the current settings of the tenant.

use windlass_engine::SessionHandle;
use windlass_engine::core::{Lineage, Scope, Session, SessionId, Widening};

use super::failure;
use crate::app::App;
use crate::caller::Caller;
use crate::client_tools::{self, ClientTool};
use crate::problem::Problem;

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
    let state = handle.state().await;
    let state = state.map_err(|error| failure::send(&error))?;
    let today = caller.tenant.factory.current_settings(&state.settings);
    let mut today = today.map_err(|refusal| failure::refused(&refusal))?;
    // The parent determined a child's tools; the configuration cannot add to them.
    today.tools = state.offered_tools(today.tools);
    match declared {
        None => today.retain_client_tools(&state.settings),
        Some(tools) => {
            let declared = client_tools::declare(&mut today, tools);
            declared.map_err(|refusal| failure::refused(&refusal))?;
        }
    }
    let widening = match &*state.lineage {
        Lineage::Child { .. } => Widening::Forbidden,
        Lineage::Root | Lineage::Fork { .. } => Widening::Allowed,
    };
    if today != *state.settings {
        let scope = Scope::system("the server's configuration");
        let changed = handle.configure(today, scope, widening).await;
        changed.map_err(|error| failure::send(&error))?;
    }
    Ok((handle, state))
}
