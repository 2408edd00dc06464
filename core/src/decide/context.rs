//! Context: adds text for the model that no user wrote, if it differs from the last one shown.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use super::Plan;
use crate::context;
use crate::digest::Digest;
use crate::error::Reject;
use crate::fact::{ContextInjected, ContextLifetime, ContextPart, ContextSource, Fact};
use crate::goal::GoalState;
use crate::history;
use crate::session::{QueuedInput, Session, Turn};
use crate::settings::{Mode, Permissions, Settings};

/// Most parts of context that one input may have.
const PARTS: usize = 64;

/// Checks that the context of an input is within its limits.
pub(crate) fn fits(parts: &[ContextPart], limit: u64) -> Result<(), Reject> {
    if parts.len() > PARTS {
        return Err(Reject::TooManyParts { parts: parts.len(), limit: PARTS });
    }
    let bytes = parts.iter().fold(0_u64, |bytes, part| {
        let length = part.from.len().saturating_add(part.text.len());
        bytes.saturating_add(length as u64)
    });
    if bytes > limit {
        return Err(Reject::ContextTooLarge { bytes, limit });
    }
    Ok(())
}

/// Returns the next context to add before an input.
///
/// Context from hooks at the end of a turn is added after the input. Before the input it would make
/// the model continue by itself, and count as a continuation.
pub(crate) fn before_input(plan: &Plan, turn: &Turn, queued: &QueuedInput) -> Option<Fact> {
    let session = &plan.session;
    let ending = turn.stage.rules().concludes();
    engine(session, turn)
        .or_else(|| presenter(session, queued))
        .or_else(|| if ending { None } else { pending(turn) })
}

/// Returns the next context to add before the model works towards the goal; the goal comes last.
pub(crate) fn before_goal(plan: &Plan, turn: &Turn, goal: &GoalState) -> Fact {
    let before = engine(&plan.session, turn).or_else(|| pending(turn));
    before.unwrap_or_else(|| {
        let text = format!(
            "The goal is not met yet (turn {} of {}):\n{}\nGo on. When it is met, call {}.",
            goal.turns,
            goal.goal.turns,
            goal.goal.text,
            crate::goal::GOAL_TOOL
        );
        let from = ContextSource::Goal { text: text.into() };
        inject(from, ContextLifetime::Turn)
    })
}

/// Returns the next context that a hook added.
pub(crate) fn pending(turn: &Turn) -> Option<Fact> {
    let pending = turn.pending.front()?;
    let from = ContextSource::Hook { decided: pending.decided };
    Some(inject(from, pending.lifetime))
}

/// Returns the engine's own context: the workspace and the permissions of calls.
fn engine(session: &Session, turn: &Turn) -> Option<Fact> {
    if let Some(workspace) = &session.workspace {
        let text = format!("The workspace is {workspace}. The tools work in it.");
        if let Some(text) = changed_text(session, history::WORKSPACE, text) {
            return Some(inject(ContextSource::Workspace { text }, ContextLifetime::Session));
        }
    }
    let told = session.known_context.contains_key(history::PERMISSIONS);
    let text = match permissions_notice(&turn.settings) {
        Some(words) => words,
        None if told => "Tools may change things again.",
        None => return None,
    };
    let text = changed_text(session, history::PERMISSIONS, String::from(text))?;
    Some(inject(ContextSource::Permissions { text }, ContextLifetime::Session))
}

/// Describes restricted permissions.
fn permissions_notice(settings: &Settings) -> Option<&'static str> {
    match (settings.mode, settings.permissions) {
        (Mode::Plan, Permissions::Auto | Permissions::Ask | Permissions::ReadOnly) => Some(
            "This is plan mode: only tools that change nothing run. Say what should be done \
             instead of doing it.",
        ),
        (Mode::Build, Permissions::ReadOnly) => {
            Some("Only tools that change nothing run; every other call is denied.")
        }
        (Mode::Build, Permissions::Ask) => {
            Some("A person is asked before a tool changes something, and may say no.")
        }
        (Mode::Build, Permissions::Auto) => None,
    }
}

/// Returns the first part of an input's context that is new or changed for the model.
fn presenter(session: &Session, queued: &QueuedInput) -> Option<Fact> {
    let told = |from: &str| session.known_context.get(&history::presenter_name(from)).copied();
    let mut parts = (0_u32..).zip(queued.context.iter());
    let new = parts.find(|(_, part)| told(&part.from) != Some(part.text.digest));
    new.map(|(part, _)| {
        let from = ContextSource::Presenter { input: queued.id, part };
        inject(from, ContextLifetime::Session)
    })
}

/// Returns the text unless it equals the last one shown to the model under this name.
fn changed_text(session: &Session, name: &str, text: String) -> Option<Arc<str>> {
    let digest: Digest = context::framed(&context::frame(name, &text)).digest;
    (session.known_context.get(name) != Some(&digest)).then(|| text.into())
}

fn inject(from: ContextSource, lasting: ContextLifetime) -> Fact {
    Fact::ContextInjected(ContextInjected { from, lifetime: lasting })
}
