//! Opening: a session is opened only for what changes it, with the settings that its tenant has today.

use windlass::core::{Scope, Session, SessionId, Widening};
use windlass::{Conversation, Start};

use super::failure;
use crate::app::App;
use crate::caller::Caller;
use crate::problem::Problem;

/// Opens a session as it stands, or attaches to it if it runs here.
pub(crate) async fn attach(
    app: &App,
    caller: &Caller,
    id: &SessionId,
) -> Result<Conversation, Problem> {
    if app.draining() {
        return Err(failure::draining());
    }
    let engine = &caller.tenant.engine;
    let opened = engine.open(id, caller.scope(), Start::Existing).await;
    opened.map_err(|error| failure::start(&error))
}

/// Opens a session for a turn: what the tenant's configuration says by now is what its next turns are
/// run with.
pub(crate) async fn open(
    app: &App,
    caller: &Caller,
    id: &SessionId,
) -> Result<(Conversation, Session), Problem> {
    let conversation = attach(app, caller, id).await?;
    let state = conversation.state().await;
    let state = state.map_err(|error| failure::ended(&error))?;
    let today = caller.tenant.house.today(&state.settings);
    let today = today.map_err(|refusal| failure::refused(&refusal))?;
    if today != *state.settings {
        let scope = Scope::system("the server's configuration");
        let changed = conversation.configure(today, scope, Widening::Meant).await;
        changed.map_err(|error| failure::send(&error))?;
    }
    Ok((conversation, state))
}
