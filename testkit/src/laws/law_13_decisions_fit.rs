//! Law 13: a decision never yields an invalid fact.
//!
//! What `decide` answers with can be applied to the state it was asked about, fact by fact, and
//! to the history beside it.
//!
//! It kills: a decision that says a thing twice, or in the wrong order.

use windlass_core::{Draft, History, RecordedFact, Session};

use super::{Broken, broken};
use crate::world::Transitions;

/// What a decision leads to.
#[derive(Debug, Clone)]
pub struct Applied {
    /// The facts, numbered.
    pub facts: Vec<RecordedFact>,
    /// The state after them.
    pub session: Session,
    /// The history after them.
    pub history: History,
}

/// Applies a decision to the state it was made for.
///
/// # Errors
/// [`Broken`] with the first fact that does not fit.
pub fn apply(
    transitions: &Transitions,
    mut session: Session,
    mut history: History,
    drafts: Vec<Draft>,
) -> Result<Applied, Broken> {
    let misfit = |misfit| broken(13, format!("a decision does not fit its state: {misfit}"));
    let mut facts = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let recorded = draft.number(&session.id, session.next);
        session = (transitions.evolve)(session, &recorded).map_err(misfit)?;
        (transitions.remember)(&mut history, &recorded).map_err(misfit)?;
        facts.push(recorded);
    }
    Ok(Applied { facts, session, history })
}
