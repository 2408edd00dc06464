//! Execution: brings a command to its session, once for each key.

use windlass_engine::core::{
    ApprovalAnswer, ApprovalAnswered, Edit, Fact, Seq, SessionId, Verdict,
};
use windlass_engine::ports::arguments_digest;
use windlass_engine::{SessionCommand, SessionHandle};

use super::failure;
use super::key;
use super::session_access::fact_at;
use crate::caller::Caller;
use crate::problem::Problem;

/// Bytes of a focus that are recorded.
const FOCUS_BYTES: usize = 4_096;

/// Executes a command within the caller's scope, and returns the position of its first fact. A
/// repeated key is acknowledged with the fact that it recorded first, so a command that this fact
/// does not record is rejected.
pub(super) async fn execute(
    handle: &SessionHandle,
    (caller, id): (&Caller, &SessionId),
    key: Option<&str>,
    command: SessionCommand,
) -> Result<Seq, Problem> {
    let at = handle.execute(command.clone(), caller.scope().clone(), key).await;
    let at = at.map_err(|error| failure::send(&error))?;
    if key.is_none() {
        return Ok(at);
    }
    let recorded = fact_at(caller, id, at).await?;
    match recorded.is_some_and(|recorded| is_of_another(&recorded.fact, &command)) {
        true => Err(key::key_reused("another request")),
        false => Ok(at),
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
        SessionCommand::Compact { focus } => {
            let recorded = focus.as_deref().and_then(recorded_focus);
            matches!(fact, Fact::CompactionRequested(fact) if fact.focus.as_deref() != recorded)
        }
        SessionCommand::RunCommand { command } => matches!(fact, Fact::InputQueued(fact)
            if fact.command.is_none() || *fact.text != **command),
        SessionCommand::Answer { answer, .. } => {
            matches!(fact, Fact::ApprovalAnswered(fact) if !decides(fact, answer))
        }
        // An interrupt is acknowledged as the first one under its key; others have nothing to
        // compare, or are compared where they are sent.
        SessionCommand::WithdrawInput { .. }
        | SessionCommand::SubmitResult { .. }
        | SessionCommand::Send(_)
        | SessionCommand::Configure { .. }
        | SessionCommand::SetGoal { .. }
        | SessionCommand::Rename { .. }
        | SessionCommand::Interrupt { .. }
        | SessionCommand::ChildEnded { .. }
        | SessionCommand::Resume {} => false,
    }
}

fn recorded_focus(focus: &str) -> Option<&str> {
    let cut = &focus[..focus.floor_char_boundary(FOCUS_BYTES)];
    (!cut.trim().is_empty()).then_some(cut)
}

/// Returns true if a fact records the decision of an answer, with the same arguments. Its reason is
/// not compared. An edit that changes nothing is not recorded.
fn decides(fact: &ApprovalAnswered, answer: &ApprovalAnswer) -> bool {
    let arguments = |edit: &Option<Edit>| match edit {
        Some(edit) => arguments_digest(fact.arguments, &edit.text),
        None => fact.arguments,
    };
    match answer {
        ApprovalAnswer::Allow { edit } => {
            fact.verdict == Verdict::Allow && arguments(&fact.edit) == arguments(edit)
        }
        ApprovalAnswer::Granted { .. } => {
            fact.verdict == Verdict::Allow && fact.edit.is_none() && fact.grant.is_some()
        }
        ApprovalAnswer::Deny { .. } => fact.verdict == Verdict::Deny,
    }
}
