//! Load: folds a session's log.

use windlass_core::{History, Seq, Session, SessionId, opened};
use windlass_ports::LogStore;

use crate::error::StartError;

/// A session as its log says.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The control state.
    pub session: Session,
    /// The payload.
    pub history: History,
}

/// Folds a session's log, `page` facts at a time. Needs no claim and changes nothing.
///
/// # Errors
/// [`StartError::Unknown`] for a session without a fact, [`StartError::Misfit`] for a log that
/// reads well and does not fit together, and the store's errors.
pub async fn load(store: &dyn LogStore, id: &SessionId, page: usize) -> Result<Loaded, StartError> {
    let page = page.max(1);
    let mut loaded: Option<Loaded> = None;
    let mut after = Seq::ZERO;
    loop {
        let facts = store.read(id, after, page).await?;
        let whole = facts.len() < page;
        for fact in &facts {
            let misfit = |misfit| StartError::Misfit {
                session: id.clone(),
                misfit,
            };
            match &mut loaded {
                None => {
                    loaded = Some(Loaded {
                        session: opened(fact).map_err(misfit)?,
                        history: History::default(),
                    });
                }
                Some(loaded) => loaded.session.apply(fact).map_err(misfit)?,
            }
            if let Some(loaded) = &mut loaded {
                loaded.history.apply(fact).map_err(misfit)?;
            }
            after = fact.seq;
        }
        if whole {
            return loaded.ok_or_else(|| StartError::Unknown(id.clone()));
        }
    }
}
