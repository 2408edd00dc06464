//! Load: folds a session's log, from a checkpoint if a usable one exists.
//!
//! A checkpoint is a cache. If it has any fault, the whole log is folded instead.

use windlass_core::{Checkpoint, RecordedFact, Seq, SessionId};
use windlass_ports::LogStore;

use crate::checkpoint::{self, CheckpointLookup};
use crate::error::StartError;

/// State of a session, loaded from its log.
pub type Loaded = Checkpoint;

/// Loads and folds a session's log. Reads only the facts after a matching checkpoint if the store
/// has one, else all facts, `page` at a time. Needs no claim and changes nothing.
///
/// # Errors
/// [`StartError::Unknown`] for a session without a fact, [`StartError::InvalidFact`] for a readable
/// log with an invalid fact, and the store's errors.
pub async fn load(store: &dyn LogStore, id: &SessionId, page: usize) -> Result<Loaded, StartError> {
    Ok(load_from_checkpoint(store, id, page).await?.0)
}

/// As [`load`], but always folds the whole log and uses no checkpoint.
///
/// # Errors
/// As [`load`].
pub async fn fold(store: &dyn LogStore, id: &SessionId, page: usize) -> Result<Loaded, StartError> {
    let mut folding = LogFold::new(id);
    while folding.read(store, page).await? {}
    folding.end()
}

/// As [`load`], with the position of the checkpoint that was used; [`Seq::ZERO`] without one.
pub(crate) async fn load_from_checkpoint(
    store: &dyn LogStore,
    id: &SessionId,
    page: usize,
) -> Result<(Loaded, Seq), StartError> {
    let kept = match checkpoint::find(store, id).await {
        CheckpointLookup::Valid(kept) => kept,
        CheckpointLookup::None => return Ok((fold(store, id, page).await?, Seq::ZERO)),
        CheckpointLookup::Unusable { at, why } => {
            tracing::warn!(
                session = %id, %at, why,
                "a checkpoint cannot be used, which is a defect: the whole log is read"
            );
            return Ok((fold(store, id, page).await?, Seq::ZERO));
        }
    };
    let at = kept.last();
    match fold_rest(store, *kept, page).await? {
        Ok(loaded) => Ok((loaded, at)),
        Err(why) => {
            tracing::warn!(
                session = %id, %at, why,
                "a checkpoint does not fit its log, which is a defect: the whole log is read"
            );
            Ok((fold(store, id, page).await?, Seq::ZERO))
        }
    }
}

/// Folds the rest of the log onto a checkpoint, or returns the reason why the checkpoint does not
/// match.
async fn fold_rest(
    store: &dyn LogStore,
    kept: Checkpoint,
    page: usize,
) -> Result<Result<Checkpoint, String>, StartError> {
    let (id, at) = (kept.session.id.clone(), kept.last());
    // The log must reach at least the position of the checkpoint.
    let before = Seq(at.0.saturating_sub(1));
    let there = store.read(&id, before, 1).await?;
    if there.first().map(|fact| fact.seq) != Some(at) {
        return Ok(Err(format!("the log ends before position {at}")));
    }
    let mut folding = LogFold::from(kept);
    loop {
        match folding.read(store, page).await {
            Ok(true) => {}
            Ok(false) => return folding.end().map(Ok),
            Err(StartError::InvalidFact { cause, .. }) => return Ok(Err(cause.to_string())),
            Err(error) => return Err(error),
        }
    }
}

/// Log that is being folded.
pub(crate) struct LogFold {
    id: SessionId,
    checkpoint: Option<Checkpoint>,
}

impl LogFold {
    pub(crate) fn new(id: &SessionId) -> Self {
        Self { id: id.clone(), checkpoint: None }
    }

    /// Returns the fold of the facts so far.
    pub(crate) fn folded(&self) -> Option<&Checkpoint> {
        self.checkpoint.as_ref()
    }

    /// Returns the position of the last fact so far.
    pub(crate) fn position(&self) -> Seq {
        self.checkpoint.as_ref().map_or(Seq::ZERO, Checkpoint::last)
    }

    /// Folds up to `page` further facts, and returns true if more may follow.
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

    fn apply(&mut self, fact: &RecordedFact) -> Result<(), StartError> {
        let invalid = |cause| StartError::InvalidFact { session: self.id.clone(), cause };
        match &mut self.checkpoint {
            None => self.checkpoint = Some(Checkpoint::open(fact).map_err(invalid)?),
            Some(folded) => folded.apply(fact).map_err(invalid)?,
        }
        Ok(())
    }

    pub(crate) fn end(self) -> Result<Checkpoint, StartError> {
        self.checkpoint.ok_or(StartError::Unknown(self.id))
    }
}

impl From<Checkpoint> for LogFold {
    fn from(kept: Checkpoint) -> Self {
        Self { id: kept.session.id.clone(), checkpoint: Some(kept) }
    }
}
