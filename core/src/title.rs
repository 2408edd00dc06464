//! Titles: names that people give to sessions.

use alloc::string::String;
use alloc::sync::Arc;

use crate::decide::{Plan, require_room, require_visible};
use crate::error::{InvalidFact, Reject};
use crate::evolve::invalid_fact;
use crate::fact::{Fact, SessionRenamed};
use crate::record::RecordedFact;
use crate::scope::Scope;
use crate::session::Session;

/// Most characters of a title.
pub const MAX_TITLE_CHARS: usize = 200;

/// Names the session, or removes its name. An equal name changes nothing.
pub(crate) fn on_rename(
    plan: &mut Plan,
    scope: Scope,
    title: Option<String>,
) -> Result<(), Reject> {
    require_visible(plan, &scope)?;
    let title = title.as_deref().map(str::trim);
    if !title.is_none_or(is_title) {
        return Err(Reject::InvalidTitle { limit: MAX_TITLE_CHARS });
    }
    if plan.session.title.as_deref() == title {
        return Ok(());
    }
    require_room(plan)?;
    let (title, key) = (title.map(Arc::from), plan.key.take());
    plan.push(Fact::SessionRenamed(SessionRenamed { by: Arc::new(scope), title, key }))
}

pub(crate) fn on_renamed(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &SessionRenamed,
) -> Result<(), InvalidFact> {
    if !fact.title.as_deref().is_none_or(is_title) {
        return Err(invalid_fact(recorded, "it is no name of a session"));
    }
    session.title.clone_from(&fact.title);
    Ok(())
}

/// Returns true for a valid title: one line of 1 to [`MAX_TITLE_CHARS`] characters, with no spaces
/// around it.
#[must_use]
pub fn is_title(text: &str) -> bool {
    let long = text.chars().nth(MAX_TITLE_CHARS).is_some();
    !text.is_empty() && !long && text.trim() == text && !text.chars().any(char::is_control)
}
