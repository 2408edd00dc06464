//! Rehearse: reads a session's log once more, and asks today's engine about each decision in it.

use windlass_core::{Recorded, Rehearsal, Rehearsed, Seq, SessionId};
use windlass_ports::LogStore;

use crate::error::StartError;

/// Folds a session's log, `page` facts at a time, renders each request, and says where today's
/// engine would decide otherwise. Asks no model and runs no tool; needs no claim and changes
/// nothing, so a session that runs may be rehearsed too, as far as it is.
///
/// # Errors
/// [`StartError::Unknown`] for a session without a fact, [`StartError::Misfit`] for a log that
/// reads well and does not fit together, and the store's errors.
pub async fn rehearse(
    store: &dyn LogStore,
    id: &SessionId,
    page: usize,
) -> Result<Rehearsed, StartError> {
    let page = page.max(1);
    let misfit = |misfit| StartError::Misfit {
        session: id.clone(),
        misfit,
    };
    let mut rehearsal = Rehearsal::new();
    let mut after = Seq::ZERO;
    loop {
        let facts = store.read(id, after, page).await?;
        for fact in &facts {
            rehearsal.take(Recorded::clone(fact)).map_err(misfit)?;
            after = fact.seq;
        }
        if facts.len() < page {
            break;
        }
    }
    if after == Seq::ZERO {
        return Err(StartError::Unknown(id.clone()));
    }
    rehearsal.finish().map_err(misfit)
}
