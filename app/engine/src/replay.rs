//! Replay: reads a session's log and compares each decision with this engine's.

use windlass_core::{RecordedFact, Replay, ReplayReport, Seq, SessionId};
use windlass_ports::LogStore;

use crate::error::StartError;

/// Folds a session's log, `page` facts at a time, renders each request, and reports the facts at
/// which this engine decides differently. It calls no model and no tool, needs no claim and changes
/// nothing. A running session is replayed up to the end of its log.
///
/// # Errors
/// [`StartError::Unknown`] for a session without facts, [`StartError::InvalidFact`] for facts that
/// do not form a valid log, and the store's errors.
pub async fn replay(
    store: &dyn LogStore,
    id: &SessionId,
    page: usize,
) -> Result<ReplayReport, StartError> {
    let page = page.max(1);
    let invalid = |cause| StartError::InvalidFact { session: id.clone(), cause };
    let mut replay = Replay::new();
    let mut after = Seq::ZERO;
    loop {
        let facts = store.read(id, after, page).await?;
        for fact in &facts {
            replay.push(RecordedFact::clone(fact)).map_err(invalid)?;
            after = fact.seq;
        }
        if facts.len() < page {
            break;
        }
    }
    if after == Seq::ZERO {
        return Err(StartError::Unknown(id.clone()));
    }
    replay.finish().map_err(invalid)
}
