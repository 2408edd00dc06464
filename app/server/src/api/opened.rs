//! Opening: a session is reached for only for what changes it, with the settings that its tenant has
//! today.

use windlass_engine::Reached;
use windlass_engine::core::{Lineage, Scope, Session, SessionId, Widening};

use super::failure;
use crate::app::App;
use crate::caller::Caller;
use crate::problem::Problem;

/// Reaches for a session as it stands, whoever drives it.
pub(crate) async fn reach(app: &App, caller: &Caller, id: &SessionId) -> Result<Reached, Problem> {
    if app.draining() {
        return Err(failure::draining());
    }
    let reached = caller.tenant.engine.reach(id, caller.scope()).await;
    reached.map_err(|error| failure::start(&error))
}

/// Reaches for a session for a turn: what the tenant's configuration says by now is what its next turns
/// are run with.
pub(crate) async fn open(
    app: &App,
    caller: &Caller,
    id: &SessionId,
) -> Result<(Reached, Session), Problem> {
    let reached = reach(app, caller, id).await?;
    let state = reached.state().await;
    let state = state.map_err(|error| failure::start(&error))?;
    let today = caller.tenant.house.today(&state.settings);
    let mut today = today.map_err(|refusal| failure::refused(&refusal))?;
    // Whoever sent an agent out said what it has, and the configuration is no person who says more.
    today.tools = state.offered(today.tools);
    let widening = match &*state.lineage {
        Lineage::Child { .. } => Widening::Refused,
        Lineage::Root | Lineage::Fork { .. } => Widening::Meant,
    };
    if today != *state.settings {
        let scope = Scope::system("the server's configuration");
        let changed = reached.configure(today, scope, widening, None).await;
        changed.map_err(|error| failure::send(&error))?;
    }
    Ok((reached, state))
}
