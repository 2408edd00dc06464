//! Load: folds a session's log, from a snapshot where there is one that can be used.
//!
//! A snapshot is a cache. Whatever is wrong with one, the whole log is folded instead.

use windlass_core::{Folded, Recorded, Seq, SessionId};
use windlass_ports::LogStore;

use crate::error::StartError;
use crate::snapshot::{self, Found};

/// A session as its log says.
pub type Loaded = Folded;

/// Loads and folds a session's log. Reads only the facts after a matching snapshot if the store has
/// one, else all, `page` at a time. Needs no claim and changes nothing.
///
/// # Errors
/// [`StartError::Unknown`] for a session without a fact, [`StartError::Misfit`] for a log that
/// reads well and does not fit together, and the store's errors.
pub async fn load(store: &dyn LogStore, id: &SessionId, page: usize) -> Result<Loaded, StartError> {
    Ok(take_up(store, id, page).await?.0)
}

/// As [`load`], from the whole log, whatever else the store keeps.
///
/// # Errors
/// As [`load`].
pub async fn fold(store: &dyn LogStore, id: &SessionId, page: usize) -> Result<Loaded, StartError> {
    let mut folding = Folding::new(id);
    while folding.read(store, page).await? {}
    folding.end()
}

/// As [`load`], with the position of the snapshot that was used; [`Seq::ZERO`] without one.
pub(crate) async fn take_up(
    store: &dyn LogStore,
    id: &SessionId,
    page: usize,
) -> Result<(Loaded, Seq), StartError> {
    let kept = match snapshot::find(store, id).await {
        Found::Whole(kept) => kept,
        Found::None => return Ok((fold(store, id, page).await?, Seq::ZERO)),
        Found::Unusable { at, why } => {
            tracing::warn!(
                session = %id, %at, why,
                "a snapshot cannot be used, which is a defect: the whole log is read"
            );
            return Ok((fold(store, id, page).await?, Seq::ZERO));
        }
    };
    let at = kept.last();
    match go_on(store, *kept, page).await? {
        Ok(loaded) => Ok((loaded, at)),
        Err(why) => {
            tracing::warn!(
                session = %id, %at, why,
                "a snapshot does not fit its log, which is a defect: the whole log is read"
            );
            Ok((fold(store, id, page).await?, Seq::ZERO))
        }
    }
}

/// Folds the rest of the log onto a snapshot, or returns the reason why the snapshot does not
/// match.
async fn go_on(
    store: &dyn LogStore,
    kept: Folded,
    page: usize,
) -> Result<Result<Folded, String>, StartError> {
    let (id, at) = (kept.session.id.clone(), kept.last());
    // The log must reach as far as what was kept of it.
    let before = Seq(at.0.saturating_sub(1));
    let there = store.read(&id, before, 1).await?;
    if there.first().map(|fact| fact.seq) != Some(at) {
        return Ok(Err(format!("the log ends before position {at}")));
    }
    let mut folding = Folding::from(kept);
    loop {
        match folding.read(store, page).await {
            Ok(true) => {}
            Ok(false) => return folding.end().map(Ok),
            Err(StartError::Misfit { misfit, .. }) => return Ok(Err(misfit.to_string())),
            Err(error) => return Err(error),
        }
    }
}

/// A log that is being folded.
pub(crate) struct Folding {
    id: SessionId,
    folded: Option<Folded>,
}

impl Folding {
    pub(crate) fn new(id: &SessionId) -> Self {
        Self {
            id: id.clone(),
            folded: None,
        }
    }

    /// Returns the fold of the facts so far.
    pub(crate) fn folded(&self) -> Option<&Folded> {
        self.folded.as_ref()
    }

    /// The position of the last fact so far.
    pub(crate) fn position(&self) -> Seq {
        self.folded.as_ref().map_or(Seq::ZERO, Folded::last)
    }

    /// Takes in up to `page` facts more, and answers whether there may be more behind them.
    pub(crate) async fn read(
        &mut self,
        store: &dyn LogStore,
        page: usize,
    ) -> Result<bool, StartError> {
        let page = page.max(1);
        let facts = store.read(&self.id, self.position(), page).await?;
        for fact in &facts {
            self.apply(fact)?;
        }
        Ok(facts.len() == page)
    }

    fn apply(&mut self, fact: &Recorded) -> Result<(), StartError> {
        let misfit = |misfit| StartError::Misfit {
            session: self.id.clone(),
            misfit,
        };
        match &mut self.folded {
            None => self.folded = Some(Folded::open(fact).map_err(misfit)?),
            Some(folded) => folded.apply(fact).map_err(misfit)?,
        }
        Ok(())
    }

    pub(crate) fn end(self) -> Result<Folded, StartError> {
        self.folded.ok_or(StartError::Unknown(self.id))
    }
}

impl From<Folded> for Folding {
    fn from(kept: Folded) -> Self {
        Self {
            id: kept.session.id.clone(),
            folded: Some(kept),
        }
    }
}
