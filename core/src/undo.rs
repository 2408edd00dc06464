//! Undo: a user took back what a turn changed in files, and the model learns which ones.
//!
//! The files are changed by the shell, beside the session. Here the change is recorded, as a fact that
//! the next request shows.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::context::{self, UNDO};
use crate::decide::{Plan, require_room, require_visible};
use crate::error::{InvalidFact, Reject};
use crate::evolve::invalid_fact;
use crate::fact::{Fact, FilesRestored};
use crate::id::TurnId;
use crate::record::RecordedFact;
use crate::scope::Scope;
use crate::session::{Phase, Session};

/// Most bytes of paths that are recorded and shown.
const MAX_PATH_BYTES: usize = 16 << 10;

/// Notice to the model.
const NOTICE: &str = "The user took back changes that an earlier turn made in files. These files have \
                      the content again that they had before that turn:";

/// Records the files that were restored. Paths beyond the limit are counted.
pub(crate) fn on_files_restored(
    plan: &mut Plan,
    scope: Scope,
    of: TurnId,
    mut paths: Vec<String>,
    more: u32,
) -> Result<(), Reject> {
    require_visible(plan, &scope)?;
    if let Some(turn) = plan.session.turn() {
        return Err(Reject::TurnRunning(turn.id));
    }
    if paths.is_empty() {
        return Err(Reject::Empty);
    }
    require_room(plan)?;
    let mut bytes = 0_usize;
    let fits = |path: &&String| {
        bytes = bytes.saturating_add(path.len());
        bytes <= MAX_PATH_BYTES
    };
    let shown = paths.iter().take_while(fits).count();
    let cut = u32::try_from(paths.len().saturating_sub(shown)).unwrap_or(u32::MAX);
    paths.truncate(shown);
    let key = plan.key.take();
    plan.push(Fact::FilesRestored(FilesRestored {
        by: Arc::new(scope),
        of,
        paths,
        more: more.saturating_add(cut),
        notice: NOTICE.into(),
        key,
    }))
}

pub(crate) fn on_restored(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &FilesRestored,
) -> Result<(), InvalidFact> {
    if session.phase != Phase::Idle {
        return Err(invalid_fact(recorded, "a turn is open"));
    }
    let part = context::framed(&context::frame(UNDO, &shown(fact)));
    session.visible = session.visible.with(part);
    Ok(())
}

/// Returns the text that the model sees: the notice, and a line for each path. It depends on the fact
/// alone, for ever.
pub(crate) fn shown(fact: &FilesRestored) -> String {
    let mut text = String::from(&*fact.notice);
    for path in &fact.paths {
        text.push('\n');
        text.extend(path.chars().map(|c| if c.is_control() { '?' } else { c }));
    }
    if fact.more > 0 {
        text.push_str(&format!("\n[{} more files]", fact.more));
    }
    text
}
