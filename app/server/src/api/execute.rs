//! Execution: brings a command to its session, once for each key.

use windlass_engine::SessionCommand;
use windlass_engine::core::Fact;

use super::failure;
use super::key;
use super::session_access::{RunRight, SessionAccess};
use super::session_handle::handle;
use crate::app::App;
use crate::problem::Problem;

/// Executes a command within the caller's scope. A repeated key is acknowledged with the fact that
/// it recorded first, so a command that this fact does not record is rejected.
pub(super) async fn execute(
    app: &App,
    seen: &SessionAccess<RunRight>,
    key: Option<&str>,
    command: SessionCommand,
) -> Result<(), Problem> {
    let handle = handle(app, &seen.caller, &seen.id).await?;
    let scope = seen.caller.scope().clone();
    let at = handle.execute(command.clone(), scope, key).await;
    let at = at.map_err(|error| failure::send(&error))?;
    if key.is_none() {
        return Ok(());
    }
    let recorded = seen.fact_at(at).await?;
    match recorded.is_some_and(|recorded| is_of_another(&recorded.fact, &command)) {
        true => Err(key::key_reused("another request")),
        false => Ok(()),
    }
}

/// Returns true if a fact records another command of the same kind.
fn is_of_another(fact: &Fact, command: &SessionCommand) -> bool {
    match command {
        SessionCommand::Rewind { to } => {
            matches!(fact, Fact::SessionRewound(fact) if fact.to != *to)
        }
        SessionCommand::EditInput { text, .. } => {
            matches!(fact, Fact::InputEdited(fact) if *fact.text != **text)
        }
        SessionCommand::MoveInput { before, .. } => {
            matches!(fact, Fact::InputMoved(fact) if fact.before != *before)
        }
        // These have nothing beside their key, or are compared where they are sent.
        SessionCommand::WithdrawInput { .. }
        | SessionCommand::Send(_)
        | SessionCommand::Configure { .. }
        | SessionCommand::SetGoal { .. }
        | SessionCommand::Compact { .. }
        | SessionCommand::Interrupt { .. }
        | SessionCommand::Answer { .. }
        | SessionCommand::ChildEnded { .. }
        | SessionCommand::Resume {} => false,
    }
}
